// Finds runs by their aggregates and records, and pairs the two.
#include "store/catalogue/published_runs.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/system/parallel.h"
#include "base/text/json.h"
#include "core/record/record_write.h"
#include "core/telemetry/lines.h"
#include "store/catalogue/retained_files.h"
#include "store/catalogue/run_record.h"

namespace aggregate_power {
namespace {

// An aggregate with another name than "agg_*.json" is recognized by its keys, if it is not larger.
constexpr std::uint64_t kMostAggregateBytes = 256 * 1024;

bool is_worth_reading(std::string_view name) {
  return name.ends_with(".json") || is_archive_name(name);
}

bool has_power_keys(const JsonValue& members) {
  return members.find(kPowerValid) != nullptr || members.find("avg_power_w") != nullptr;
}

// Where a run was named or found.
struct NamedPlace {
  std::size_t place = 0;  // among those given
  bool is_named = false;  // itself, not a folder around it
};

struct FoundFile {
  StorePath place;
  NamedPlace origin;
  bool is_wanted = true;  // false: only for the aggregates that it may belong to
};

struct FoundRun {
  PublishedRun run;
  NamedPlace origin;
  std::string aggregate_identity;  // empty: it has none
  bool is_wanted = true;
  std::string remark = {};  // what its record names and was not read
};

class PublishedRunReader {
 public:
  PublishedRunReader(unsigned most_threads, const StoreAccess& access)
      : most_threads_(most_threads), access_(access) {}

  PublishedRuns read(const std::vector<std::string>& places) {
    for (std::size_t i = 0; i < places.size(); ++i) add_place(places[i], i);
    read_records();
    read_aggregates_alone();
    return in_order();
  }

 private:
  void add_place(const std::string& path, std::size_t index) {
    const auto place = place_in_store(path, access_);
    if (!place) throw FileError(path, "open", ENOENT);
    if (!place->facts) {
      add_folder(*place, index);
    } else if (is_archive_name(path)) {
      add_folder(inside(*place), index);
    } else {
      add_named(*place, {index, true});
    }
  }

  void add_folder(const StorePath& folder, std::size_t index) {
    const auto is_wanted = [](const TreeEntry& entry) {
      using enum TreeEntry::Kind;
      return (entry.kind == file || entry.kind == link_out) && is_worth_reading(entry.name);
    };
    for (StorePath& file : entries_below(folder, kMostLevels, is_wanted)) {
      if (const std::string out = file.tree->way_out(file.path); !out.empty()) {
        found_.warnings.push_back(fmt::format("{}: {}", file.display, not_read(out)));
      } else if (is_archive_name(file.path)) {
        add_archive(file, index);
      } else if (is_run_record_name(last_name(file.path))) {
        add_record({std::move(file), {index}});
      } else {
        aggregates_.push_back({std::move(file), {index}});
      }
    }
  }

  void add_archive(const StorePath& archive, std::size_t index) {
    try {
      add_folder(inside(archive), index);
    } catch (const FileError& error) {
      found_.warnings.push_back(fmt::format("{}; the archive was passed over", error.what()));
    }
  }

  void add_record(FoundFile record) {
    const auto [known, is_new] = record_of_.try_emplace(identity_of(record.place), records_.size());
    if (is_new) {
      records_.push_back(std::move(record));
    } else if (record.is_wanted && !records_[known->second].is_wanted) {
      records_[known->second] = std::move(record);
    }
  }

  void add_named(const StorePath& file, NamedPlace origin) {
    if (file.path.ends_with(".jsonl")) {
      add_report(file, origin);
      return;
    }
    const OpenedFile opened = file.tree->open(file.path);
    JsonValue content = parsed(opened);
    if (content.is_array()) {
      for (std::size_t i = 0; i < content.items.size(); ++i) {
        add_ready(published_run_of(std::move(content.items[i]), nullptr), file, origin, i);
      }
    } else if (content.at("schema").text.starts_with("aggregate-power/measure")) {
      const std::vector<JsonValue>& runs = content.at("runs").items;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        add_ready(measured_run_of(runs[i]), file, origin, i);
      }
    } else if (is_run_record(content)) {
      add_record({file, origin});
    } else if (content.is_object()) {
      add_named_aggregate(file, origin);
    } else {
      throw Error(fmt::format(
          "{}: expected an aggregate, an array of them, an audit record, or the output of 'measure --json'",
          opened.name()));
    }
  }

  static JsonValue parsed(const OpenedFile& file) {
    try {
      const std::string text = read_whole(file, kResultList);
      check_json_values(text, file.name());
      return parse_json(text);
    } catch (const JsonError& error) {
      throw Error(fmt::format("{}:{}", file.name(), error.what()));
    }
  }

  void add_ready(PublishedRun run, const StorePath& file, NamedPlace origin, std::size_t number) {
    run.identity = fmt::format("{}:{}", identity_of(file), number);
    if (!identities_.insert(run.identity).second) return;
    run.name = file.display;
    ready_.push_back({std::move(run), origin, {}, true});
  }

  // The record is beside it, or below.
  void add_named_aggregate(const StorePath& file, NamedPlace origin) {
    aggregates_.push_back({file, origin});
    named_.try_emplace(identity_of(file), origin);
    if (!file.folder || !searched_.insert(file.folder->display).second) return;
    for (StorePath& record : files_below(*file.folder, 0, is_json_name)) {
      add_record({std::move(record), origin, false});
    }
    if (file.folder->path == "/") return;
    for (StorePath& record : files_below(*file.folder, kNearLevels, is_run_record_name)) {
      add_record({std::move(record), origin, false});
    }
  }

  // The lines of a backfill's report.
  void add_report(const StorePath& file, NamedPlace origin) {
    const OpenedFile opened = file.tree->open(file.path);
    std::size_t number = 0;
    for_each_line(*opened.source(), [&](std::string_view line, bool) {
      ++number;
      if (line.find_first_not_of(" \r\t") == line.npos) return;
      add_line({opened.name(), number}, file, line, origin);
    });
  }

  struct NumberedLine {
    std::string file;
    std::size_t number = 0;
  };

  // The report is taken for a part of the store: what it names is looked for in its folder.
  void add_line(const NumberedLine& at, const StorePath& report, std::string_view line,
                NamedPlace origin) {
    const auto fail = [&](std::string_view what) {
      throw Error(fmt::format("{}:{}: {}: expected a line of the report of a backfill", at.file,
                              at.number, what));
    };
    JsonValue content;
    try {
      content = parse_json(line);
    } catch (const JsonError& error) {
      fail(error.what());
    }
    if (content.find("run") == nullptr) fail("there is no 'run'");
    const JsonValue& aggregate = content.at("aggregate");
    if (!aggregate.is_string()) return;
    const RunRecord named{report, JsonValue::object()};
    const auto place = named.find_on_disk(aggregate.text);
    if (place && place->facts) {
      add_named_aggregate(*place, origin);
    } else {
      const std::string out = named.way_out(aggregate.text);
      found_.warnings.push_back(fmt::format("{}:{}: {}: {}", at.file, at.number, aggregate.text,
                                            out.empty() ? "no such file" : out));
    }
  }

  void read_records() {
    std::vector<std::optional<FoundRun>> read(records_.size());
    in_parallel(records_.size(), most_threads_,
                [&](std::size_t i) { read[i] = run_of_record(records_[i]); });
    for (std::optional<FoundRun>& run : read) {
      if (!run) continue;
      if (!run->remark.empty()) found_.warnings.push_back(std::move(run->remark));
      const auto named = named_.find(run->aggregate_identity);
      if (!run->is_wanted && named == named_.end()) continue;
      if (!run->is_wanted) run->origin = named->second;
      if (!run->aggregate_identity.empty()) with_record_.insert(run->aggregate_identity);
      ready_.push_back(std::move(*run));
    }
  }

  // Nullopt: it is something else.
  std::optional<FoundRun> run_of_record(const FoundFile& file) const {
    try {
      const auto record = read_run_record(file.place);
      if (!record) return std::nullopt;
      const auto aggregate = record->find_aggregate();
      const bool is_there = aggregate && aggregate->facts;
      PublishedRun run = published_run_of(
          is_there ? read_aggregate(aggregate->tree->open(aggregate->path)) : JsonValue::object(),
          &record->content);
      run.record = file.place;
      run.aggregate = is_there ? aggregate->display : "";
      run.name = is_there ? aggregate->display : name_without_aggregate(*record);
      run.identity = identity_of(is_there ? *aggregate : file.place);
      std::string aggregate_identity = is_there ? run.identity : "";
      return FoundRun{std::move(run), file.origin, std::move(aggregate_identity), file.is_wanted,
                      is_there ? "" : remark_on(*record)};
    } catch (const Error&) {  // it cannot be read, or is no object
      if (file.origin.is_named && file.is_wanted) throw;
      return std::nullopt;
    } catch (const FileError&) {
      if (file.origin.is_named && file.is_wanted) throw;
      return std::nullopt;
    }
  }

  static std::string name_without_aggregate(const RunRecord& record) {
    const auto out = record.aggregate_way_out();
    const bool is_link_out = out && is_path_below(out->name);
    return is_link_out ? join_path(record.place.folder->display, out->name) : record.place.display;
  }

  static std::string remark_on(const RunRecord& record) {
    const auto out = record.aggregate_way_out();
    if (!out) return {};
    return fmt::format("{}: its aggregate, {}, is not read: it {}", record.place.display, out->name,
                       out->text);
  }

  void read_aggregates_alone() {
    std::erase_if(aggregates_, [&](const FoundFile& file) {
      return !with_record_.insert(identity_of(file.place)).second;
    });
    std::vector<std::optional<FoundRun>> read(aggregates_.size());
    in_parallel(aggregates_.size(), most_threads_,
                [&](std::size_t i) { read[i] = run_of_aggregate(aggregates_[i]); });
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (read[i]) {
        ready_.push_back(std::move(*read[i]));
      } else {
        remark_on_size(aggregates_[i].place);
      }
    }
  }

  void remark_on_size(const StorePath& file) {
    if (!is_aggregate_name(last_name(file.path))) return;
    const auto facts = file.tree->find_file(file.path);
    if (!facts || facts->bytes <= kAggregateFile.most_bytes) return;
    found_.warnings.push_back(
        fmt::format("{}: {}, and was passed over", file.display, too_large(kAggregateFile)));
  }

  static JsonValue read_aggregate(const OpenedFile& file) {
    return json_object_of(read_whole(file, kAggregateFile), file.name());
  }

  static std::optional<FoundRun> run_of_aggregate(const FoundFile& file) {
    try {
      const OpenedFile opened = file.place.tree->open(file.place.path);
      const bool is_certain = file.origin.is_named || is_aggregate_name(last_name(file.place.path));
      if (!is_certain && opened.size() > kMostAggregateBytes) return std::nullopt;
      JsonValue members = read_aggregate(opened);
      if (is_run_record(members)) return std::nullopt;
      if (!is_certain && !has_power_keys(members)) return std::nullopt;
      PublishedRun run = published_run_of(std::move(members), nullptr);
      run.aggregate = run.name = file.place.display;
      run.identity = identity_of(file.place);
      return FoundRun{std::move(run), file.origin, {}, true};
    } catch (const Error&) {
      if (file.origin.is_named) throw;
      return std::nullopt;
    } catch (const FileError&) {
      if (file.origin.is_named) throw;
      return std::nullopt;
    }
  }

  PublishedRuns in_order() {
    std::ranges::stable_sort(ready_, [](const FoundRun& a, const FoundRun& b) {
      if (a.origin.place != b.origin.place || a.origin.is_named) {
        return a.origin.place < b.origin.place;
      }
      return a.run.name < b.run.name;
    });
    for (FoundRun& found : ready_) found_.runs.push_back(std::move(found.run));
    return std::move(found_);
  }

  unsigned most_threads_;
  StoreAccess access_;
  PublishedRuns found_;
  std::vector<FoundFile> records_;
  std::vector<FoundFile> aggregates_;
  std::vector<FoundRun> ready_;
  std::map<std::string, std::size_t> record_of_;  // its index, by its identity
  std::map<std::string, NamedPlace> named_;       // aggregates
  std::set<std::string> searched_;                // folders around them
  std::set<std::string> with_record_;             // aggregates
  std::set<std::string> identities_;              // of runs in files of several
};

}  // namespace

bool is_run_record_name(std::string_view name) {
  return name.starts_with("power_validation") && name.ends_with(".json");
}

bool is_json_name(std::string_view name) { return name.ends_with(".json"); }

bool is_aggregate_name(std::string_view name) {
  return name.starts_with("agg_") && name.ends_with(".json");
}

PublishedRuns read_published_runs(const std::vector<std::string>& places, unsigned most_threads,
                                  const StoreAccess& access) {
  return PublishedRunReader(most_threads, access).read(places);
}

}  // namespace aggregate_power
