// Compares a run's files with its record, and the record with the run computed again.
#include "verify/run/run_check.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "aggregate_power/metric.h"
#include "base/files/file.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/json_value.h"
#include "core/energy/metrics.h"
#include "core/record/aggregate.h"
#include "core/record/edits.h"
#include "core/record/record_write.h"
#include "generators/aiperf.h"
#include "recorders/side_files.h"
#include "runs/measure/uncertainty.h"
#include "store/catalogue/multinode_logs.h"
#include "store/catalogue/pieces.h"
#include "store/catalogue/retained_files.h"
#include "store/catalogue/run_record.h"
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

class RunCheck {
 public:
  RunCheck(const StorePath& record, const std::string& artifacts)
      : record_{record, {}, artifacts} {}

  RunVerification verified() {
    ++found_.files;  // the record
    try {
      if (read_record()) check_all();
    } catch (const FileError& error) {
      found_.could_not_open = true;
      found_.faults.push_back({.where = name(), .what = error.what()});
    } catch (const std::exception& error) {
      fault(kTampered, name(), error.what());
    }
    return {std::move(found_), std::move(aggregate_)};
  }

 private:
  std::string name() const { return record_.place.display; }

  void fault(const char* verdict, std::string where, std::string what, std::string expected = {},
             std::string was = {}) {
    found_.faults.push_back({.where = std::move(where),
                             .what = std::move(what),
                             .expected = std::move(expected),
                             .found = std::move(was),
                             .verdict = verdict});
  }

  bool read_record() {
    try {
      const std::string text =
          read_whole(record_.place.tree->open(record_.place.path), kAuditRecordFile);
      record_.content = json_object_of(text, name());
      check_keys(text, name());
      if (is_run_record(record_.content)) return true;
      fault(kTampered, name(), "it is not an audit record");
    } catch (const Error& error) {
      fault(kTampered, name(), error.what());
    }
    return false;
  }

  void check_keys(std::string_view text, const std::string& where) {
    if (const auto key = repeated_json_key(text)) fault(kTampered, where, repetition_of(*key));
  }

  void check_all() {
    const bool names_files = record_.from().is_object();
    if (!names_files) {
      fault(kNotReproducible, name(),
            "it does not name the files that it was computed from: 'computed_from'", "an object",
            record_.from().is_null() ? "nothing" : record_.from().shown());
    }
    aggregate_ = record_.find_aggregate();
    if (aggregate_ && aggregate_->facts) {
      ++found_.files;
      aggregate_text_ = read_whole(aggregate_->tree->open(aggregate_->path), kAggregateFile);
    } else if (!says("aggregate_result_missing")) {
      fault(kMissing, name(), aggregate_name());
    }
    if (names_files) check_inputs();
    if (aggregate_text_.empty() || !is_aggregate_good()) return;
    if (record_.content.at("retracted").is_object()) return check_retracted();
    if (names_files && is_intact_) compare_recomputed();
    if (!is_aggregate_compared_) compare_with_record();
    check_others();
  }

  bool says(std::string_view reason) const {
    return std::ranges::find(record_.content.at("reasons").items, reason, &JsonValue::text) !=
           record_.content.at("reasons").items.end();
  }

  bool is_aggregate_good() {
    try {
      std::ignore = json_object_of(aggregate_text_, aggregate_->display);
      check_keys(aggregate_text_, aggregate_->display);
      return true;
    } catch (const Error& error) {
      if (!says("aggregate_result_unwritable")) fault(kTampered, aggregate_->display, error.what());
      return false;
    }
  }

  std::string aggregate_name() const {
    const JsonValue& named = record_.from().at("aggregate");
    const std::string name = named.is_string() ? "its aggregate, " + named.text : "its aggregate";
    const auto out = record_.aggregate_way_out();
    return out ? fmt::format("{}; it {}", name, out->text) : name;
  }

  // ---- The files

  void check_inputs() {
    const std::vector<InputFile> inputs = recorded_inputs(record_.content);
    has_hashes_ = !inputs.empty();
    InputPlaces places;
    if (record_.is_of_store()) places = inputs_in_store(record_);
    for (const InputFile& input : inputs) {
      if (record_.is_of_store() && is_listing(input.role)) continue;
      check_input(
          input, record_.is_of_store() ? places[input.role] : record_.find(input.role, input.hash));
    }
    check_files_beside();
    if (record_.telemetry() == "-") lose("standard input");
    if (has_hashes_) return;
    for (const std::string& named : {record_.telemetry(), record_.benchmark()}) {
      if (!record_.find(named)) lose(named);
    }
  }

  // What is not a file; the aggregate is compared for itself.
  static bool is_listing(const std::string& role) {
    return role == "windows" || role == "links" || role == "aggregate_result";
  }

  void lose(const std::string& input) {
    is_intact_ = false;
    const std::string& path = input == "telemetry"          ? record_.telemetry()
                              : input == "benchmark_result" ? record_.benchmark()
                                                            : input;
    const std::string_view file = last_name(path);
    if (file.find('.') != file.npos) found_.missing_names.emplace_back(file);
    const std::string out = record_.way_out(input);
    fault(kMissing, input, fmt::format("named by {}{}{}", name(), out.empty() ? "" : "; it ", out));
  }

  // What is read because it is next to the recording, and would lead out of the store.
  void check_files_beside() {
    const auto telemetry = record_.find(record_.telemetry());
    if (!telemetry || !telemetry->facts) return;
    const auto check = [&](const std::string& file) {
      const std::string path = beside(telemetry->path, file);
      const std::string out = telemetry->tree->way_out(path);
      if (out.empty()) return;
      is_intact_ = false;
      fault(kMissing, path, fmt::format("next to its recording; it {}", out));
    };
    for (const SideFile& side : kSideFiles) check(side_name(side, telemetry->path));
    for (const ModelFile& file : kModelFiles) check(plain_stem(telemetry->path) + file.end);
  }

  void check_input(const InputFile& input, const std::optional<StorePath>& place) {
    if (!place || !place->facts) {
      lose(input.role);
      return;
    }
    ++found_.files;
    const OpenedFile file = place->tree->open(place->path);
    const bool has_size = file.size() == input.bytes;  // else there is no need to read it
    const std::string hash = has_size ? hash_of(file) : "";
    if (has_size && hash == input.hash) return;
    is_intact_ = false;
    fault(kChanged, place->display, "its content, against " + name(),
          fmt::format("{} bytes, XXH3 {}", input.bytes, input.hash),
          has_size ? fmt::format("{} bytes, XXH3 {}", file.size(), hash)
                   : fmt::format("{} bytes", file.size()));
  }

  // Members of a stored aggregate that are not ours, but that the record knows.
  void check_others() {
    if (!record_.is_of_store()) return;
    for (const InputFile& input : recorded_inputs(record_.content)) {
      if (input.role != "aggregate_result") continue;
      const std::string hash = hashed_others(aggregate_text_).hash;
      if (hash == input.hash) return;
      fault(kChanged, aggregate_->display, "members that do not tell of power, against " + name(),
            "XXH3 " + input.hash, "XXH3 " + hash);
    }
  }

  // ---- The numbers

  bool is_of_this_version() const {
    return record_.from().at("tool_version").text == AGGREGATE_POWER_VERSION;
  }

  void compare_recomputed() {
    const RecomputedRun now = recompute_run(record_, *aggregate_);
    if (!now.fault.empty()) {
      fault(is_of_this_version() ? kChanged : kNotReproducible, name(), now.fault);
      return;
    }
    std::vector<RecordDifference> differences = compare_records(now.record, record_.content);
    const std::string version = record_.from().at("tool_version").text;
    if (!is_of_this_version()) {
      if (!gives_the_same_numbers(differences, version)) return;
      differences.clear();
    }
    constexpr std::size_t kMost = 8;
    for (std::size_t i = 0; i < std::min(differences.size(), kMost); ++i) {
      const RecordDifference& difference = differences[i];
      fault(has_hashes_ ? kTampered : kChanged, name(),
            has_hashes_ ? fmt::format("'{}'", difference.key)
                        : fmt::format("'{}', or a file that it was computed from: it has no hashes",
                                      difference.key),
            difference.expected, difference.found);
    }
    if (differences.size() > kMost) {
      fault(has_hashes_ ? kTampered : kChanged, name(),
            fmt::format("{} values more", differences.size() - kMost));
    }
    if (!has_hashes_ && !differences.empty()) return;
    compare_request_lines(now);
    is_aggregate_compared_ = true;
    const JsonValue aggregate = json_object_of(aggregate_text_, aggregate_->display);
    for (const JsonEdit& edit : now.edits) {
      compare_member(aggregate, edit.key,
                     edit.value.empty() ? std::nullopt : std::optional(parse_json(edit.value)));
    }
    for (const auto& [key, value] : aggregate.members) {
      const bool is_written = std::ranges::find(now.edits, key, &JsonEdit::key) != now.edits.end();
      if (!is_written && is_power_claim(key)) compare_member(aggregate, key, std::nullopt);
    }
  }

  // Of a record by another version, whose texts may be others.
  bool gives_the_same_numbers(std::span<const RecordDifference> differences,
                              const std::string& version) {
    const auto of_number =
        std::ranges::find_if(differences, [](const auto& one) { return one.is_of_number; });
    if (of_number != differences.end()) {
      fault(kNotReproducible, name(),
            fmt::format("written by version {}, read by {}: {} of its values, the first is '{}'",
                        version, AGGREGATE_POWER_VERSION, differences.size(), of_number->key),
            of_number->expected, of_number->found);
      return false;
    }
    found_.warnings.push_back(fmt::format(
        "{}: written by version {}; this one gives the same {}", name(), version,
        differences.empty()
            ? "values"
            : fmt::format("numbers, and words {} texts otherwise", differences.size())));
    return true;
  }

  // The file that --per-request wrote, line by line.
  void compare_request_lines(const RecomputedRun& now) {
    if (!now.request_lines) return;
    const std::string named = record_.from().at("options").at("per_request").text;
    const auto place = record_.find(named);
    if (!place || !place->facts) {
      fault(kMissing, named, "named by " + name());
      return;
    }
    ++found_.files;
    const std::string text = read_whole(place->tree->open(place->path), kCommandOutput);
    if (text == *now.request_lines) return;
    const DifferentLine line = first_difference(*now.request_lines, text);
    fault(is_of_this_version() ? kTampered : kNotReproducible, place->display,
          fmt::format("line {}{}", line.number, line.key.empty() ? "" : ": '" + line.key + "'"),
          line.expected, line.found);
  }

  // What was withdrawn is not computed again; the aggregate must claim nothing.
  void check_retracted() {
    found_.warnings.push_back(
        fmt::format("{}: the run was retracted, so that its numbers were not computed", name()));
    const JsonValue aggregate = json_object_of(aggregate_text_, aggregate_->display);
    const bool is_mean = record_.content.at("integration_method").text == "mean_of_sample_buckets";
    if (!is_mean) compare_member(aggregate, kPowerValid, JsonValue::integer(0));
    for (const auto& [key, value] : aggregate.members) {
      const bool is_verdict = key.starts_with("power_") || key == "cpu_power_valid";
      if (is_power_claim(key) && !is_verdict) compare_member(aggregate, key, std::nullopt);
    }
    check_others();
  }

  void compare_member(const JsonValue& aggregate, const std::string& key,
                      const std::optional<JsonValue>& expected) {
    const JsonValue* const found = aggregate.find(key);
    if (!expected && found == nullptr) return;
    const std::vector<RecordDifference> differences =
        compare_values(expected ? &*expected : nullptr, found, key);
    for (const RecordDifference& difference : differences) {
      fault(kTampered, aggregate_->display, fmt::format("'{}'", difference.key),
            difference.expected, difference.found);
    }
  }

  // The aggregate against a record that could not be computed again. Both are rounded, so that they
  // may differ by half of the last digit.
  void compare_with_record() {
    const JsonValue aggregate = json_object_of(aggregate_text_, aggregate_->display);
    const JsonValue& content = record_.content;
    for (const JsonValue& from : {content, content.at("cpu"), content.at("cpu_power")}) {
      for (const auto& [key, value] : from.at("metrics").members) {
        if (!value.is_finite_number()) continue;
        const JsonValue& found = aggregate.at(key);
        if (found.is_finite_number() &&
            std::fabs(found.as_double() - value.as_double()) <= metric_tolerance(key)) {
          continue;
        }
        const int decimals = key.find("joules_per_") == std::string::npos ? 3 : 6;
        compare_member(aggregate, key, JsonValue::real(rounded(value.as_double(), decimals)));
      }
    }
    const bool is_mean = record_.content.at("integration_method").text == "mean_of_sample_buckets";
    if (is_mean) return refuse_keys_without_record(aggregate);
    compare_member(aggregate, kPowerValid, JsonValue::integer(record_.is_valid() ? 1 : 0));
    for (const std::string_view key : all_metric_keys()) {
      if (content.at("metrics").find(key) != nullptr) continue;
      compare_member(aggregate, std::string(key), std::nullopt);
    }
  }

  // Under schema 1, an aggregate has what its record has, and no verdict.
  void refuse_keys_without_record(const JsonValue& aggregate) {
    for (const auto& [key, value] : aggregate.members) {
      const bool is_recorded = record_.content.at("metrics").find(key) != nullptr;
      if (!is_recorded && is_power_claim(key)) compare_member(aggregate, key, std::nullopt);
    }
  }

  RunRecord record_;
  Verification found_;
  std::optional<StorePath> aggregate_;
  std::string aggregate_text_;
  bool has_hashes_ = false;
  bool is_intact_ = true;  // no input is changed or missing
  bool is_aggregate_compared_ = false;
};

}  // namespace

RunVerification verify_run(const StorePath& record, const std::string& artifacts) {
  return RunCheck(record, artifacts).verified();
}

// ---- Walks both records together.

namespace {

// Paths, texts with paths in them, and what verify checks by itself.
constexpr std::string_view kIgnored[] = {"telemetry_source",
                                         "benchmark_result",
                                         "failures",
                                         "request_energy.source",
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
    differences.push_back({key, shown_value(expected), shown_value(found), is_of_number});
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

std::vector<RecordDifference> compare_records(const JsonValue& expected, const JsonValue& found) {
  return compare_values(&expected, &found, "");
}

}  // namespace aggregate_power
