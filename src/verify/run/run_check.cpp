// Compares a run's files with its record, and the record with the run computed again.
#include "verify/run/run_check.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <exception>
#include <iterator>
#include <map>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "aggregate_power/metric.h"
#include "base/files/file.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "core/energy/metrics.h"
#include "core/record/aggregate.h"
#include "core/record/edits.h"
#include "core/record/record_write.h"
#include "generators/aiperf.h"
#include "recorders/recorder_context.h"
#include "runs/measure/uncertainty.h"
#include "store/catalogue/pieces.h"
#include "store/catalogue/retained_files.h"
#include "verify/run/metrics.h"

namespace aggregate_power {
namespace {

struct DifferentLine {
  std::size_t number = 0;  // from 1
  std::string key;         // the first member that differs; empty: one of the lines has none
  std::string expected;
  std::string found;
};

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return line;
}

std::optional<JsonValue> object_in(std::string_view line) {
  try {
    JsonValue value = parse_json(line);
    if (value.is_object()) return value;
  } catch (const JsonError&) {  // somebody else's line
  }
  return std::nullopt;
}

std::string shown_line(std::string_view line) {
  constexpr std::size_t kMost = 100;
  return line.empty() ? "nothing" : printable(line, kMost);
}

// Of texts that are not the same.
DifferentLine first_difference(std::string_view expected, std::string_view found) {
  DifferentLine different;
  std::string_view wanted;
  std::string_view was;
  do {
    ++different.number;
    wanted = take_line(expected);
    was = take_line(found);
  } while (wanted == was && !(expected.empty() && found.empty()));
  const auto wanted_object = object_in(wanted);
  const auto found_object = object_in(was);
  if (wanted_object && found_object) {
    const auto differences = compare_records(*wanted_object, *found_object);
    if (!differences.empty()) {
      const RecordDifference& first = differences.front();
      return {different.number, first.key, first.expected, first.found};
    }
  }
  different.expected = shown_line(wanted);
  different.found = shown_line(was);
  return different;
}

std::string recorded_calibration(const RunRecord& record) {
  return record.from().at("options").at("calibration").text;
}

// A run's inputs, by the names that its record has for them.
using InputPlaces = std::map<std::string, std::optional<StorePath>>;

InputPlaces inputs_in_store(const RunRecord& record) {
  InputPlaces places;
  if (const auto package = recorded_package(record)) {
    for (const auto& [role, place] : package_files(package->logs, package->benchmark)) {
      places[role] = place;
    }
    return places;
  }
  const auto telemetry = record.find(record.telemetry());
  const auto benchmark = record.find(record.benchmark());
  places["telemetry"] = telemetry;
  places["benchmark_result"] = benchmark;
  if (telemetry) {
    for (const SideFile& side : kSideFiles) {
      places[side.role] = find_beside(*telemetry, side_name(side, telemetry->path));
    }
    for (const ModelFile& file : kModelFiles) {
      places[file.role] = find_beside(*telemetry, plain_stem(telemetry->path) + file.end);
    }
  }
  const std::string calibration = recorded_calibration(record);
  if (!calibration.empty()) {
    places["calibration"] = record.find(calibration);
    if (!places["calibration"]) places["calibration"] = record.find_on_disk(calibration);
  }
  if (const auto profile = benchmark ? profile_files(*benchmark) : std::nullopt) {
    places[std::string(kProfileSummaryRole)] = profile->summary;
    places["profile_timezone_offset"] = profile->captured_zone;
  }
  return places;
}

// Whether only a run that computed it says this in an aggregate. Temperatures, utilization and
// memory may come from elsewhere.
bool is_power_claim(const std::string& key) {
  const auto others = dashboard_metric_keys();
  const bool is_other = !key.ends_with("_w") && std::ranges::find(others, key) != others.end();
  return is_our_key(key) && !is_other;
}

struct CheckedRun {
  RunRecord record;
  Verification found;
  std::optional<StorePath> aggregate;
  std::string aggregate_text;
  bool has_hashes = false;
  bool is_intact = true;  // no input is changed or missing
  bool is_aggregate_compared = false;
};

std::string name(const CheckedRun& run) { return run.record.place.display; }

void fault(CheckedRun& run, const char* verdict, std::string where, std::string what,
           std::string expected = {}, std::string was = {}) {
  run.found.faults.push_back({.where = std::move(where),
                              .what = std::move(what),
                              .expected = std::move(expected),
                              .found = std::move(was),
                              .verdict = verdict});
}

void check_keys(CheckedRun& run, std::string_view text, const std::string& where) {
  if (const auto key = repeated_json_key(text)) fault(run, kTampered, where, repetition_of(*key));
}

bool read_record(CheckedRun& run) {
  try {
    const std::string text =
        read_whole(run.record.place.tree->open(run.record.place.path), kAuditRecordFile);
    run.record.content = json_object_of(text, name(run));
    check_keys(run, text, name(run));
    if (is_run_record(run.record.content)) return true;
    fault(run, kTampered, name(run), "it is not an audit record");
  } catch (const Error& error) {
    fault(run, kTampered, name(run), error.what());
  }
  return false;
}

bool says(const CheckedRun& run, std::string_view reason) {
  return std::ranges::find(run.record.content.at("reasons").items, reason, &JsonValue::text) !=
         run.record.content.at("reasons").items.end();
}

bool is_aggregate_good(CheckedRun& run) {
  try {
    std::ignore = json_object_of(run.aggregate_text, run.aggregate->display);
    check_keys(run, run.aggregate_text, run.aggregate->display);
    return true;
  } catch (const Error& error) {
    if (!says(run, "aggregate_result_unwritable"))
      fault(run, kTampered, run.aggregate->display, error.what());
    return false;
  }
}

std::string aggregate_name(const CheckedRun& run) {
  const JsonValue& named = run.record.from().at("aggregate");
  const std::string name = named.is_string() ? "its aggregate, " + named.text : "its aggregate";
  const auto out = run.record.aggregate_way_out();
  return out ? fmt::format("{}; it {}", name, out->text) : name;
}

// What is not a file; the aggregate is compared for itself.
bool is_listing(const std::string& role) {
  return role == "windows" || role == "links" || role == "aggregate_result";
}

void lose(CheckedRun& run, const std::string& input) {
  run.is_intact = false;
  const std::string path = input == "telemetry"          ? run.record.telemetry()
                           : input == "benchmark_result" ? run.record.benchmark()
                           : input == "calibration"      ? recorded_calibration(run.record)
                                                         : input;
  const std::string_view file = last_name(path);
  if (file.find('.') != file.npos) run.found.missing_names.emplace_back(file);
  const std::string out = run.record.way_out(input == "calibration" ? path : input);
  fault(run, kMissing, input,
        fmt::format("named by {}{}{}", name(run), out.empty() ? "" : "; it ", out));
}

// What is read because it is next to the recording, and would lead out of the store.
void check_files_beside(CheckedRun& run) {
  const auto telemetry = run.record.find(run.record.telemetry());
  if (!telemetry || !telemetry->facts) return;
  const auto check = [&](const std::string& file) {
    const std::string path = beside(telemetry->path, file);
    const std::string out = telemetry->tree->way_out(path);
    if (out.empty()) return;
    run.is_intact = false;
    fault(run, kMissing, path, fmt::format("next to its recording; it {}", out));
  };
  for (const SideFile& side : kSideFiles) check(side_name(side, telemetry->path));
  for (const ModelFile& file : kModelFiles) check(plain_stem(telemetry->path) + file.end);
}

void check_input(CheckedRun& run, const InputFile& input, const std::optional<StorePath>& place) {
  if (!place || !place->facts) {
    lose(run, input.role);
    return;
  }
  ++run.found.files;
  const OpenedFile file = place->tree->open(place->path);
  const bool has_size = file.size() == input.bytes;  // else there is no need to read it
  const std::string hash = has_size ? hash_of(file) : "";
  if (has_size && hash == input.hash) return;
  run.is_intact = false;
  fault(run, kChanged, place->display, "its content, against " + name(run),
        fmt::format("{} bytes, XXH3 {}", input.bytes, input.hash),
        has_size ? fmt::format("{} bytes, XXH3 {}", file.size(), hash)
                 : fmt::format("{} bytes", file.size()));
}

// ---- The files

void check_inputs(CheckedRun& run) {
  const std::vector<InputFile> inputs = recorded_inputs(run.record.content);
  run.has_hashes = !inputs.empty();
  InputPlaces places;
  if (run.record.is_of_store()) places = inputs_in_store(run.record);
  for (const InputFile& input : inputs) {
    if (run.record.is_of_store() && is_listing(input.role)) continue;
    check_input(
        run, input,
        run.record.is_of_store() ? places[input.role] : run.record.find(input.role, input.hash));
  }
  check_files_beside(run);
  if (run.record.telemetry() == "-") lose(run, "standard input");
  if (run.has_hashes) return;
  for (const std::string& named : {run.record.telemetry(), run.record.benchmark()}) {
    if (!run.record.find(named)) lose(run, named);
  }
}

// Members of a stored aggregate that are not ours, but that the record knows.
void check_others(CheckedRun& run) {
  if (!run.record.is_of_store()) return;
  for (const InputFile& input : recorded_inputs(run.record.content)) {
    if (input.role != "aggregate_result") continue;
    const std::string hash = hashed_others(run.aggregate_text).hash;
    if (hash == input.hash) return;
    fault(run, kChanged, run.aggregate->display,
          "members that do not tell of power, against " + name(run), "XXH3 " + input.hash,
          "XXH3 " + hash);
  }
}

// ---- The numbers

bool is_of_this_version(const CheckedRun& run) {
  return run.record.from().at("tool_version").text == AGGREGATE_POWER_VERSION;
}

// Of a record by another version, whose texts may be others. An earlier version may have recorded
// less, a later one cannot: what a later record lacks was deleted from it.
bool gives_the_same_numbers(CheckedRun& run, std::span<const RecordDifference> differences,
                            const std::string& version) {
  const bool is_earlier =
      !version.empty() && strverscmp(version.c_str(), AGGREGATE_POWER_VERSION) < 0;
  const auto of_number = std::ranges::find_if(differences, [&](const auto& one) {
    return one.is_of_number || (one.is_missing && !is_earlier);
  });
  if (of_number != differences.end()) {
    fault(run, kNotReproducible, name(run),
          fmt::format("written by version {}, read by {}: {} of its values, the first is '{}'",
                      version, AGGREGATE_POWER_VERSION, differences.size(), of_number->key),
          of_number->expected, of_number->found);
    return false;
  }
  run.found.warnings.push_back(
      fmt::format("{}: written by version {}; this one gives the same {}", name(run), version,
                  differences.empty()
                      ? "values"
                      : fmt::format("numbers, and words {} texts otherwise", differences.size())));
  return true;
}

// The file that --per-request wrote, line by line.
void compare_request_lines(CheckedRun& run, const RecomputedRun& now) {
  if (!now.request_lines) return;
  const std::string named = run.record.from().at("options").at("per_request").text;
  const auto place = run.record.find(named);
  if (!place || !place->facts) {
    fault(run, kMissing, named, "named by " + name(run));
    return;
  }
  ++run.found.files;
  const std::string text = read_whole(place->tree->open(place->path), kCommandOutput);
  if (text == *now.request_lines) return;
  const DifferentLine line = first_difference(*now.request_lines, text);
  fault(run, is_of_this_version(run) ? kTampered : kNotReproducible, place->display,
        fmt::format("line {}{}", line.number, line.key.empty() ? "" : ": '" + line.key + "'"),
        line.expected, line.found);
}

void compare_member(CheckedRun& run, const JsonValue& aggregate, const std::string& key,
                    const std::optional<JsonValue>& expected) {
  const JsonValue* const found = aggregate.find(key);
  if (!expected && found == nullptr) return;
  const std::vector<RecordDifference> differences =
      compare_values(expected ? &*expected : nullptr, found, key);
  for (const RecordDifference& difference : differences) {
    fault(run, kTampered, run.aggregate->display, fmt::format("'{}'", difference.key),
          difference.expected, difference.found);
  }
}

void compare_with_recomputed(CheckedRun& run) {
  const RecomputedRun now = recompute_run(run.record, *run.aggregate);
  if (!now.fault.empty()) {
    fault(run, is_of_this_version(run) ? kChanged : kNotReproducible, name(run), now.fault);
    return;
  }
  std::vector<RecordDifference> differences = compare_records(now.record, run.record.content);
  if (lacks_idle_bounds(run.record.content)) {
    run.found.warnings.push_back(fmt::format("{}: {}", name(run), kNoIdleBounds));
  }
  const std::string version = run.record.from().at("tool_version").text;
  if (!is_of_this_version(run)) {
    if (!gives_the_same_numbers(run, differences, version)) return;
    differences.clear();
  }
  constexpr std::size_t kMost = 8;
  for (std::size_t i = 0; i < std::min(differences.size(), kMost); ++i) {
    const RecordDifference& difference = differences[i];
    fault(run, run.has_hashes ? kTampered : kChanged, name(run),
          run.has_hashes
              ? fmt::format("'{}'", difference.key)
              : fmt::format("'{}', or a file that it was computed from: it has no hashes",
                            difference.key),
          difference.expected, difference.found);
  }
  if (differences.size() > kMost) {
    fault(run, run.has_hashes ? kTampered : kChanged, name(run),
          fmt::format("{} values more", differences.size() - kMost));
  }
  if (!run.has_hashes && !differences.empty()) return;
  compare_request_lines(run, now);
  run.is_aggregate_compared = true;
  const JsonValue aggregate = json_object_of(run.aggregate_text, run.aggregate->display);
  for (const JsonEdit& edit : now.edits) {
    const auto value = edit.value.empty() ? std::nullopt : std::optional(parse_json(edit.value));
    const bool is_verdict = edit.key == kPowerValid || edit.key == "power_metric_schema_version";
    if (value && value->is_finite_number() && !is_verdict) ++run.found.numbers;
    compare_member(run, aggregate, edit.key, value);
  }
  for (const auto& [key, value] : aggregate.members) {
    const bool is_written = std::ranges::find(now.edits, key, &JsonEdit::key) != now.edits.end();
    if (!is_written && is_power_claim(key)) compare_member(run, aggregate, key, std::nullopt);
  }
}

// What was withdrawn is not computed again; the aggregate must claim nothing.
void check_retracted(CheckedRun& run) {
  run.found.warnings.push_back(
      fmt::format("{}: the run was retracted, so that its numbers were not computed", name(run)));
  const JsonValue aggregate = json_object_of(run.aggregate_text, run.aggregate->display);
  const bool is_mean = run.record.content.at("integration_method").text == "mean_of_sample_buckets";
  if (!is_mean) compare_member(run, aggregate, kPowerValid, JsonValue::integer(0));
  for (const auto& [key, value] : aggregate.members) {
    const bool is_verdict = key.starts_with("power_") || key == "cpu_power_valid";
    if (is_power_claim(key) && !is_verdict) compare_member(run, aggregate, key, std::nullopt);
  }
  check_others(run);
}

// Under schema 1, an aggregate has what its record has, and no verdict.
void refuse_keys_without_record(CheckedRun& run, const JsonValue& aggregate) {
  for (const auto& [key, value] : aggregate.members) {
    const bool is_recorded = run.record.content.at("metrics").find(key) != nullptr;
    if (!is_recorded && is_power_claim(key)) compare_member(run, aggregate, key, std::nullopt);
  }
}

// The aggregate against a record that could not be computed again. Both are rounded, so that they
// may differ by half of the last digit.
void compare_with_record(CheckedRun& run) {
  const JsonValue aggregate = json_object_of(run.aggregate_text, run.aggregate->display);
  const JsonValue& content = run.record.content;
  for (const JsonValue& from : {content, content.at("cpu"), content.at("cpu_power")}) {
    for (const auto& [key, value] : from.at("metrics").members) {
      if (!value.is_finite_number()) continue;
      const JsonValue& found = aggregate.at(key);
      if (found.is_finite_number() &&
          std::fabs(found.as_double() - value.as_double()) <= metric_tolerance(key)) {
        continue;
      }
      const int decimals = key.find("joules_per_") == std::string::npos ? 3 : 6;
      compare_member(run, aggregate, key, JsonValue::real(rounded(value.as_double(), decimals)));
    }
  }
  const bool is_mean = run.record.content.at("integration_method").text == "mean_of_sample_buckets";
  if (is_mean) return refuse_keys_without_record(run, aggregate);
  compare_member(run, aggregate, kPowerValid, JsonValue::integer(run.record.is_valid() ? 1 : 0));
  for (const std::string_view key : all_metric_keys()) {
    if (content.at("metrics").find(key) != nullptr) continue;
    compare_member(run, aggregate, std::string(key), std::nullopt);
  }
}

void check_all(CheckedRun& run) {
  const bool names_files = run.record.from().is_object();
  if (!names_files) {
    fault(run, kNotReproducible, name(run),
          "it does not name the files that it was computed from: 'computed_from'", "an object",
          run.record.from().is_null() ? "nothing" : run.record.from().shown());
  }
  run.aggregate = run.record.find_aggregate();
  const bool has_aggregate = run.aggregate && run.aggregate->facts;
  if (has_aggregate) {
    ++run.found.files;
    run.aggregate_text = read_whole(run.aggregate->tree->open(run.aggregate->path), kAggregateFile);
  } else if (!says(run, "aggregate_result_missing")) {
    fault(run, kMissing, name(run), aggregate_name(run));
  }
  if (names_files) check_inputs(run);
  if (!has_aggregate || !is_aggregate_good(run)) return;
  if (run.record.content.at("retracted").is_object()) return check_retracted(run);
  if (names_files && run.is_intact) compare_with_recomputed(run);
  if (!run.is_aggregate_compared) compare_with_record(run);
  check_others(run);
}

RunVerification verified(CheckedRun& run) {
  ++run.found.files;  // the record
  try {
    if (read_record(run)) check_all(run);
  } catch (const FileError& error) {
    run.found.could_not_open = true;
    run.found.faults.push_back({.where = name(run), .what = error.what()});
  } catch (const std::exception& error) {
    fault(run, kTampered, name(run), error.what());
  }
  return {std::move(run.found), std::move(run.aggregate)};
}

}  // namespace

RunVerification verify_run(const StorePath& record, const std::string& artifacts) {
  CheckedRun run{{record, {}, artifacts}, {}, {}, {}};
  return verified(run);
}

// ---- Walks both records together.

namespace {

// Paths, texts with paths in them, and what verify checks by itself.
constexpr std::string_view kIgnored[] = {"telemetry_source",
                                         "benchmark_result",
                                         "failures",
                                         "request_energy.source",
                                         "good_work.source",
                                         "good_work.why",
                                         "correct_answers.source",
                                         "node_errors",
                                         "computed_from.tool_version",
                                         "computed_from.aggregate",
                                         "computed_from.inputs",
                                         "computed_from.options",
                                         "computed_from.patched",
                                         "computed_from.timezone_source",
                                         "computed_from.timezone_evidence",
                                         "computed_from.telemetry_source",
                                         "computed_from.producer_pin"};
// Below computed_from, of each host; and of each witness.
constexpr std::string_view kIgnoredEnds[] = {".telemetry", ".identity", ".timezone_source"};

bool is_ignored(std::string_view key) {
  if (std::ranges::find(kIgnored, key) != std::end(kIgnored)) return true;
  if (key == "modelled_node.calibration") return true;
  if (key.starts_with("witnesses[")) return key.ends_with(".file");
  return key.starts_with("computed_from.") &&
         std::ranges::any_of(kIgnoredEnds,
                             [&](std::string_view end) { return key.ends_with(end); });
}

// The zone of another machine, or one that only people can read, is given again as an offset.
bool is_unnamed_zone(const std::string& key, const JsonValue* found) {
  return key.ends_with(".timezone") && found != nullptr &&
         (found->text == "local" || found->text.find(',') != std::string::npos);
}

bool is_text_value(const JsonValue* value) {
  return value == nullptr || value->is_string() || value->is_null();
}

std::string shown_value(const JsonValue* value) {
  return value == nullptr ? "nothing" : value->shown();
}

void walk(const JsonValue* expected, const JsonValue* found, const std::string& key,
          std::vector<RecordDifference>& differences) {
  if (is_ignored(key) || is_unnamed_zone(key, found)) return;
  const auto differ = [&] {
    const bool is_of_number =
        found != nullptr && !(is_text_value(expected) && is_text_value(found));
    differences.push_back(
        {key, shown_value(expected), shown_value(found), is_of_number, found == nullptr});
  };
  if (expected == nullptr || found == nullptr) {
    differ();
  } else if (expected->is_object() && found->is_object()) {
    const auto below = [&](const std::string& name) {
      return key.empty() ? name : fmt::format("{}.{}", key, name);
    };
    for (const auto& [name, value] : expected->members) {
      walk(&value, found->find(name), below(name), differences);
    }
    for (const auto& [name, value] : found->members) {
      if (expected->find(name) == nullptr) walk(nullptr, &value, below(name), differences);
    }
  } else if (expected->is_array() && found->is_array()) {
    const std::size_t most = std::max(expected->items.size(), found->items.size());
    const auto item = [](const JsonValue& array, std::size_t i) {
      return i < array.items.size() ? &array.items[i] : nullptr;
    };
    for (std::size_t i = 0; i < most; ++i) {
      walk(item(*expected, i), item(*found, i), fmt::format("{}[{}]", key, i), differences);
    }
  } else if (!equal_in_python(*expected, *found)) {
    differ();
  }
}

}  // namespace

std::vector<RecordDifference> compare_values(const JsonValue* expected, const JsonValue* found,
                                             const std::string& key) {
  std::vector<RecordDifference> differences;
  walk(expected, found, key, differences);
  return differences;
}

bool lacks_idle_bounds(const JsonValue& record) {
  const JsonValue& net = record.at("idle").at("net_energy_j");
  return net.is_object() && net.find("low") == nullptr;
}

std::vector<RecordDifference> compare_records(const JsonValue& expected, const JsonValue& found) {
  return compare_values(&expected, &found, "");
}

}  // namespace aggregate_power
