// Walks folders for audit records and aggregates, and verifies each run once.
#include "publication/verify_runs.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <set>
#include <utility>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/parallel.h"
#include "publication/evidence.h"
#include "publication/run_check.h"
#include "publication/run_record.h"

namespace aggregate_power {
namespace {

constexpr int kNearLevels = 5;

bool is_run_record_name(std::string_view name) {
  return name.starts_with("power_validation") && name.ends_with(".json");
}

bool is_aggregate_name(std::string_view name) {
  return name.starts_with("agg_") && name.ends_with(".json");
}

// The files below a folder that may be records or aggregates; links to folders are not followed.
void walk_folder(const StorePath& folder, int levels, std::vector<StorePath>& files) {
  std::vector<TreeEntry> entries;
  folder.tree->list(folder.path, [&](const TreeEntry& entry) { entries.push_back(entry); });
  std::ranges::sort(entries, {}, &TreeEntry::name);
  const auto shared = std::make_shared<const StorePath>(folder);
  for (const TreeEntry& entry : entries) {
    if (entry.kind == TreeEntry::Kind::folder && levels > 0) {
      walk_folder(child(shared, entry.name), levels - 1, files);
    } else if (entry.kind == TreeEntry::Kind::file &&
               (is_run_record_name(entry.name) || is_aggregate_name(entry.name))) {
      files.push_back(child(shared, entry.name));
    }
  }
}

// What identifies a file, whatever leads to it.
std::string identity_of(const StorePath& place) {
  return place.tree->is_archive() ? place.display : file_identity(place.path);
}

// Under schema 1 an aggregate has no record, unless one was asked for.
bool claims_record(const StorePath& aggregate) {
  try {
    const JsonValue content = read_json_object(aggregate.tree->open(aggregate.path));
    return content.find("power_metric_schema_version") != nullptr;
  } catch (const Error&) {  // not an aggregate
    return false;
  }
}

PublicationFault lacking(const StorePath& aggregate) {
  return {.where = aggregate.display,
          .what = "its audit record; if that is in another folder, name it instead",
          .verdict = kMissing};
}

class Runs {
 public:
  explicit Runs(const RunsRequest& request) : request_(request) { found_.kind = "runs"; }

  Verification verified() {
    for (const std::string& path : request_.places) add(path);
    verify_records();
    for (const StorePath& aggregate : aggregates_) {
      const bool has_record = verified_.contains(identity_of(aggregate));
      if (has_record || !claims_record(aggregate)) continue;
      ++found_.points;
      found_.faults.push_back(lacking(aggregate));
    }
    return std::move(found_);
  }

 private:
  void add(const std::string& path) {
    const auto place = place_on_disk(path);
    if (!place) throw FileError(path, "no such file or folder");
    if (place->facts) {
      add_file(*place);
      return;
    }
    std::vector<StorePath> files;
    walk_folder(*place, kMostLevels, files);
    for (StorePath& file : files) {
      if (is_run_record_name(last_name(file.path))) {
        // A run whose results are elsewhere has its files at the same place in its store.
        std::string_view below = std::string_view(file.folder->path).substr(place->path.size());
        add_record(std::move(file),
                   request_.artifacts.empty() ? "" : request_.artifacts + std::string(below));
      } else {
        aggregates_.push_back(std::move(file));
      }
    }
  }

  void add_file(const StorePath& file) {
    if (is_run_record(read_json_object(file.tree->open(file.path)))) {
      add_record(file, request_.artifacts);
    } else if (!add_records_of(file, 0) && !add_records_of(file, kNearLevels)) {
      ++found_.points;
      found_.faults.push_back(lacking(file));
    }
  }

  // The record is beside the aggregate; that of agents, in their results, which may be below.
  bool add_records_of(const StorePath& aggregate, int levels) {
    std::vector<StorePath> files;
    walk_folder(*aggregate.folder, levels, files);
    std::erase_if(files, [&](const StorePath& file) {
      return !is_run_record_name(last_name(file.path)) || !is_record_of(file, aggregate);
    });
    for (const StorePath& record : files) add_record(record, request_.artifacts);
    return !files.empty();
  }

  static bool is_record_of(const StorePath& record, const StorePath& aggregate) {
    try {
      const auto its =
          RunRecord{record, read_json_object(record.tree->open(record.path)), {}}.find_aggregate();
      return its && identity_of(*its) == identity_of(aggregate);
    } catch (const std::exception&) {  // not a record that can be read
      return false;
    }
  }

  void add_record(StorePath record, std::string artifacts) {
    const bool is_new = known_.insert(identity_of(record)).second;
    if (is_new) records_.emplace_back(std::move(record), std::move(artifacts));
  }

  void verify_records() {
    std::vector<RunVerification> all(records_.size());
    in_parallel(all.size(), request_.most_threads,
                [&](std::size_t i) { all[i] = verify_run(records_[i].first, records_[i].second); });
    for (RunVerification& one : all) {
      ++found_.points;
      found_.files += one.found.files;
      found_.add(std::move(one.found));
      if (one.aggregate) verified_.insert(identity_of(*one.aggregate));
    }
  }

  const RunsRequest& request_;
  Verification found_;
  std::vector<std::pair<StorePath, std::string>> records_;  // with where else their files may be
  std::vector<StorePath> aggregates_;                       // in folders
  std::set<std::string> known_;                             // records
  std::set<std::string> verified_;                          // aggregates
};

}  // namespace

Verification verify_runs(const RunsRequest& request) { return Runs(request).verified(); }

}  // namespace aggregate_power
