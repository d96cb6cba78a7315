// Walks folders for audit records and aggregates, and verifies each run once.
#include "verify/run/verify_runs.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/report/json_parts.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "base/text/shown_number.h"
#include "core/energy/metrics.h"
#include "core/record/record_read.h"
#include "store/catalogue/published_runs.h"
#include "store/catalogue/retained_files.h"
#include "store/catalogue/run_record.h"
#include "verify/run/run_check.h"

namespace aggregate_power {
namespace {

bool is_either_name(std::string_view name) {
  return is_run_record_name(name) || is_aggregate_name(name);
}

// What else a file publishes, with the option that verifies it; empty: nothing.
std::string other_publication(const JsonValue& content, const std::string& file) {
  const std::string& kind = content.at("kind").text;
  if (content.at("matrix").is_object() && content.at("points").is_array()) {
    return fmt::format("is a sweep manifest, not a run: verify it with --sweep {}", file);
  }
  if (kind == "source-measurement-receipt" || kind == "publication-record") {
    return fmt::format("is a {}, not a run: verify it with --receipt {}", kind, file);
  }
  return {};
}

PublicationFault lacking(const StorePath& aggregate) {
  return {.where = aggregate.display,
          .what = "its audit record; if that is in another folder, name it instead",
          .verdict = kMissing};
}

using RecordsByAggregate = std::multimap<std::string, StorePath>;  // by identity
using Named = std::pair<KeptPlace, std::string>;  // a file, and where else its run's may be

struct CheckedRuns {
  const RunsRequest& request;
  Verification found = {};
  std::vector<Named> records = {};      // to be verified
  std::vector<Named> aggregates = {};   // in folders
  std::set<std::string> known = {};     // records
  std::set<std::string> verified = {};  // aggregates
  // By folder, levels and names.
  std::map<std::tuple<std::string, int, IsWantedName>, RecordsByAggregate> records_in = {};
};

bool is_verified(const CheckedRuns& all, const StorePath& aggregate) {
  return all.verified.contains(identity_of(aggregate));
}

// The identity of the aggregate that it names; empty: it is not a record that can be read.
std::string aggregate_of_record(const StorePath& file) {
  try {
    const auto record = run_record_in(file);
    const auto aggregate = record ? record->find_aggregate() : std::nullopt;
    return aggregate ? identity_of(*aggregate) : std::string();
  } catch (const std::exception&) {
    return {};
  }
}

// Reads a folder once, however many of its aggregates are named.
const RecordsByAggregate& records_in(CheckedRuns& all, const StorePath& folder, int levels,
                                     IsWantedName is_wanted) {
  const auto [known, is_new] = all.records_in.try_emplace({folder.display, levels, is_wanted});
  if (!is_new) return known->second;
  for (StorePath& file : files_below(folder, levels, is_wanted)) {
    const std::string aggregate = aggregate_of_record(file);
    if (!aggregate.empty()) known->second.emplace(aggregate, std::move(file));
  }
  return known->second;
}

void add_record(CheckedRuns& all, const StorePath& record, std::string artifacts) {
  const bool is_new = all.known.insert(identity_of(record)).second;
  if (is_new) all.records.emplace_back(KeptPlace(record), std::move(artifacts));
}

// The record is beside the aggregate; that of agents, in their results, which may be below.
bool add_records_of(CheckedRuns& all, const StorePath& aggregate, int levels,
                    IsWantedName is_wanted) {
  const RecordsByAggregate& records = records_in(all, *aggregate.folder, levels, is_wanted);
  const auto [first, last] = records.equal_range(identity_of(aggregate));
  for (auto at = first; at != last; ++at) add_record(all, at->second, all.request.access.artifacts);
  return first != last;
}

JsonValue named_object(const StorePath& file) {
  try {
    return read_json_object(file);
  } catch (const Error& error) {
    throw Error(
        fmt::format("{}: name an aggregate, an audit record or a folder of runs", error.what()));
  }
}

void add_file(CheckedRuns& all, const StorePath& file) {
  const JsonValue content = named_object(file);
  const std::string other = other_publication(content, shell_word(file.display));
  if (!other.empty()) throw Error(fmt::format("{}: {}", file.display, other));
  if (is_run_record(content)) {
    add_record(all, file, all.request.access.artifacts);
  } else if (!add_records_of(all, file, 0, is_run_record_name) &&
             !add_records_of(all, file, 0, is_json_name) &&
             !add_records_of(all, file, kNearLevels, is_run_record_name)) {
    ++all.found.points;
    all.found.faults.push_back(lacking(file));
  }
}

void add(CheckedRuns& all, const std::string& path) {
  const auto place = place_in_store(path, all.request.access);
  if (!place) throw FileError(path, "no such file or folder");
  if (place->facts) {
    add_file(all, *place);
    return;
  }
  const auto is_wanted = [&](const TreeEntry& entry) {
    return entry.kind == TreeEntry::Kind::file &&
           (all.request.is_complete ? is_json_name : is_either_name)(entry.name);
  };
  for_each_below(*place, kMostLevels, is_wanted, [&](const StorePath& file) {
    // A run whose results are elsewhere has its files at the same place in its store.
    std::string artifacts = all.request.access.artifacts;
    if (!artifacts.empty()) artifacts += file.folder->path.substr(place->path.size());
    if (is_run_record_name(last_name(file.path))) {
      add_record(all, file, std::move(artifacts));
    } else {
      all.aggregates.emplace_back(KeptPlace(file), std::move(artifacts));
    }
  });
}

// Records with other names, in the folders of aggregates that have none so far.
void add_records_beside(CheckedRuns& all) {
  std::set<std::string> seen;
  for (const auto& [aggregate, artifacts] : all.aggregates) {
    const StorePath place = aggregate.place();
    if (!seen.insert(place.folder->display).second) continue;
    for (const StorePath& file : files_below(*place.folder, 0, is_json_name)) {
      if (run_record_in(file)) add_record(all, file, artifacts);
    }
  }
}

// A part of them at a time.
void verify_records(CheckedRuns& all) {
  constexpr std::size_t kPart = 1024;
  for (std::size_t first = 0; first < all.records.size(); first += kPart) {
    std::vector<RunVerification> checked(std::min(kPart, all.records.size() - first));
    in_parallel(checked.size(), all.request.most_threads, [&](std::size_t i) {
      const auto& [record, artifacts] = all.records[first + i];
      checked[i] = verify_run(record.place(), artifacts);
    });
    for (std::size_t i = 0; i < checked.size(); ++i) {
      RunVerification& one = checked[i];
      if (all.request.take_record) all.request.take_record(all.records[first + i].first.place());
      ++all.found.points;
      all.found.files += one.found.files;
      all.found.numbers += one.found.numbers;
      all.found.add(std::move(one.found));
      if (one.aggregate) all.verified.insert(identity_of(*one.aggregate));
    }
  }
  all.records.clear();
}

// "run/agg_x.json" of "run/power_validation_x.json".
std::string aggregate_name_of(std::string record) {
  constexpr std::string_view kRecord = "power_validation";
  return record.replace(record.rfind(kRecord), kRecord.size(), "agg");
}

// Leaves the runs of the sample. An aggregate next to the record of its name is the same run. A
// file that is only named like an aggregate is not drawn; those after the last draw are not read.
void draw_sample(CheckedRuns& all) {
  std::set<std::string> with_record;
  for (const auto& [record, artifacts] : all.records) {
    if (is_run_record_name(last_name(record.names()))) {
      with_record.insert(aggregate_name_of(record.display()));
    }
  }
  std::vector<Named> runs = std::exchange(all.records, {});
  const std::size_t records = runs.size();
  std::ranges::copy_if(
      std::exchange(all.aggregates, {}), std::back_inserter(runs),
      [&](const Named& one) { return !with_record.contains(one.first.display()); });
  const auto name_of = [&](std::size_t i) { return std::string_view(runs[i].first.names()); };
  std::vector<std::size_t> drawn;
  std::size_t unread_aggregates = 0;
  std::size_t most_runs = runs.size();
  for (const std::size_t i : seeded_order(runs.size(), all.request.seed, name_of)) {
    if (drawn.size() == all.request.sample) {
      unread_aggregates += i < records ? 0 : 1;
    } else if (i < records || claims_record(runs[i].first.place(), all.request.is_complete)) {
      drawn.push_back(i);
    } else {
      --most_runs;
    }
  }
  std::ranges::sort(drawn);
  for (const std::size_t i : drawn) {
    if (i < records) {
      all.records.push_back(std::move(runs[i]));
    } else {
      add_file(all, runs[i].first.place());
    }
  }
  if (drawn.size() == most_runs) return;
  all.found.warnings.push_back(fmt::format(
      "{} of {}{} runs were drawn with seed {}, and only these are verified", drawn.size(),
      unread_aggregates > 0 ? "at most " : "", most_runs, all.request.seed));
}

Verification verified_runs(CheckedRuns& all) {
  for (const std::string& path : all.request.places) add(all, path);
  if (all.request.sample > 0) draw_sample(all);
  verify_records(all);
  std::erase_if(all.aggregates, [&](const Named& aggregate) {
    const StorePath place = aggregate.first.place();
    return is_verified(all, place) || !claims_record(place, all.request.is_complete);
  });
  add_records_beside(all);
  verify_records(all);
  for (const auto& [aggregate, artifacts] : all.aggregates) {
    const StorePath place = aggregate.place();
    if (is_verified(all, place)) continue;
    ++all.found.points;
    all.found.faults.push_back(lacking(place));
  }
  // A gate on the wrong folder must not pass.
  if (all.found.points == 0) {
    all.found.faults.push_back(
        {.where = joined_text(all.request.places, ", "),
         .what = "a run with an audit record; name the folder of its record or aggregate",
         .verdict = kMissing});
  }
  return std::move(all.found);
}

}  // namespace

bool claims_record(const StorePath& aggregate, bool is_complete) {
  try {
    const JsonValue content = read_json_object(aggregate);
    if (content.find("power_metric_schema_version") != nullptr) return true;
    return is_complete && !is_run_record(content) &&
           std::ranges::any_of(all_metric_keys(),
                               [&](std::string_view key) { return content.find(key) != nullptr; });
  } catch (const Error&) {  // not an aggregate
    return false;
  }
}

Verification verify_runs(const RunsRequest& request) {
  CheckedRuns all{request};
  all.found.kind = "runs";
  return verified_runs(all);
}

// ---- Writes down what a verification found.

namespace {

Json fault_json(const PublicationFault& fault) {
  const auto text = [](const std::string& value) { return text_or_null(printable_path(value)); };
  Json json = {{"check", fault.check == 0 ? Json() : Json(fault.check)},
               {"where", text(fault.where)},
               {"what", text(fault.what)},
               {"expected", text(fault.expected)},
               {"found", text(fault.found)}};
  if (!fault.verdict.empty()) json["verdict"] = fault.verdict;
  return json;
}

Json program_json(const ProgramIdentity& program) {
  if (program == ProgramIdentity()) return nullptr;
  return {{"version", printable(program.version)}, {"sha256", printable(program.sha256)}};
}

Json proof_json(const BundleProof& proof) {
  return {{"bundle", printable_path(proof.bundle)},
          {"sha256", proof.sha256},
          {"redacted", proof.is_redacted},
          {"runs", proof.runs},
          {"numbers", proof.numbers},
          {"bundled_by", program_json(proof.writer)},
          {"verified_by", program_json(proof.verifier)},
          {"holds", proof.holds}};
}

}  // namespace

std::string BundleProof::text() const {
  return one_line(fmt::format(
      "{}{}: {} of {} are what the recordings give; bundled by aggregate-power {} (SHA-256 {}), "
      "verified by {}; SHA-256 of the bundle {}",
      bundle, is_redacted ? " (redacted)" : "", counted(numbers, "number"), counted(runs, "run"),
      printable(writer.version), printable(writer.sha256),
      writer.sha256 == verifier.sha256
          ? std::string("the same program")
          : fmt::format("{} (SHA-256 {})", verifier.version, verifier.sha256),
      sha256));
}

std::string PublicationFault::text() const {
  std::string line = fmt::format("{}: {}{}{}", where, verdict, verdict.empty() ? "" : ": ", what);
  if (!expected.empty()) line += fmt::format(", expected {}, found {}", expected, found);
  return one_line(line);
}

void Verification::add(Verification other) {
  append(faults, std::move(other.faults));
  append(proofs, std::move(other.proofs));
  append(missing_names, std::move(other.missing_names));
  append(warnings, std::move(other.warnings));
  could_not_open |= other.could_not_open;
}

std::string verification_text(const Verification& found) {
  std::string text;
  for (const PublicationFault& fault : found.faults) text += fault.text() + "\n";
  for (const BundleProof& proof : found.proofs) {
    if (proof.holds) text += proof.text() + "\n";
  }
  if (found.kind == "bundle" && found.holds()) return text;
  return text +
         fmt::format("{}, {}: {}\n",
                     counted(found.points,
                             found.kind == "runs" || found.kind == "bundle" ? "run" : "point"),
                     counted(found.files, "file"),
                     found.holds() ? "all holds" : counted(found.faults.size(), "fault"));
}

std::string verification_json(const Verification& found, const std::string& file) {
  const Json json = {{"schema", "aggregate-power/verify-2"},
                     {"file", printable_path(file)},
                     {"kind", text_or_null(found.kind)},
                     {"points", found.points},
                     {"files", found.files},
                     {"numbers", found.numbers},
                     {"holds", found.holds()},
                     {"proofs", list_of(found.proofs, proof_json)},
                     {"faults", list_of(found.faults, fault_json)},
                     {"warnings", list_of(found.warnings, [&](const std::string& warning) -> Json {
                        return printable_path(warning);
                      })}};
  return indented_lines(json);
}

}  // namespace aggregate_power
