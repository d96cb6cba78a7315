// Reads the window that LoadGen logs for power measurements, and the counts.
#include "generators/generators.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/written_time.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kLogPrefix = ":::MLLOG";
constexpr std::size_t kMostLineBytes = 1 << 20;  // LoadGen's are some 200 bytes long
constexpr std::string_view kSummaryTitle = "MLPerf Results Summary";

// The JSON of the lines with the prefix, one after the other.
class LoggedJson : public ByteSource {
 public:
  explicit LoggedJson(ByteSource& log) : log_(log) {}

  std::size_t read(std::span<char> into) override {
    std::size_t size = 0;
    while (size < into.size() && (!json_.empty() || next_line(size == 0))) {
      const std::size_t count = json_.copy(into.data() + size, into.size() - size);
      json_.remove_prefix(count);
      size += count;
    }
    return size;
  }

 private:
  // Goes on to the next line with the prefix. Only with `may_read` more of the log is read for it.
  bool next_line(bool may_read) {
    while (!lines_.empty() || (may_read && read_lines())) {
      json_ = lines_.substr(0, lines_.find('\n') + 1);
      lines_.remove_prefix(json_.size());
      if (json_.starts_with(kLogPrefix)) {
        json_.remove_prefix(kLogPrefix.size());
        return true;
      }
    }
    json_ = {};
    return false;
  }

  // Reads until there is a whole line; false at the end of the log.
  bool read_lines() {
    text_.erase(0, lines_end_);
    do {
      char chunk[65536];
      const std::size_t count = log_.read(chunk);
      lines_end_ = 0;
      if (count == 0 && text_.empty()) return false;
      text_.append(chunk, count);
      if (count == 0) text_ += '\n';
      lines_end_ = text_.rfind('\n') + 1;
      if (text_.size() - lines_end_ > kMostLineBytes)
        throw Error("it has a line of more than 1 MiB");
    } while (lines_end_ == 0);
    lines_ = std::string_view(text_).substr(0, lines_end_);
    return true;
  }

  ByteSource& log_;
  std::string text_;           // whole lines, and the beginning of the next one
  std::size_t lines_end_ = 0;  // of the whole lines in `text_`
  std::string_view lines_;     // those left
  std::string_view json_;      // what is left of the current one
};

// The last value of each key that matters.
class LogVisitor : public JsonVisitor {
 public:
  static constexpr std::string_view kPaths[] = {"", "key", "value"};

  void begin(std::size_t path) override {
    if (path == 0) value_ = nullptr;
  }
  void end(std::size_t) override {}
  void scalar(std::size_t path, JsonKind kind, std::string_view text) override {
    if (path == 1) {
      const auto known = std::ranges::find(kLogKeys, text);
      value_ = known == std::end(kLogKeys) ? nullptr : &values_[known - std::begin(kLogKeys)];
    } else if (path == 2 && value_ != nullptr) {
      *value_ = {kind, std::string(text)};
    }
  }

  const std::string& text(std::string_view key) const { return value_of_key(key).second; }
  std::optional<double> number(std::string_view key) const {
    const auto& [kind, text] = value_of_key(key);
    const double value = number_of(kind, text);
    return std::isnan(value) ? std::nullopt : std::optional(value);
  }

 private:
  using Value = std::pair<JsonKind, std::string>;
  static constexpr std::string_view kLogKeys[] = {"loadgen_version",
                                                  "power_begin",
                                                  "power_end",
                                                  "effective_scenario",
                                                  "effective_test_mode",
                                                  "result_validity",
                                                  "result_perf_constraints_met",
                                                  "result_query_count",
                                                  "generated_samples_per_query",
                                                  "result_completed_tokens_per_second",
                                                  "result_tokens_per_second",
                                                  "result_inferred_completed_tokens_per_second",
                                                  "result_inferred_tokens_per_second"};

  const Value& value_of_key(std::string_view key) const {
    const auto known = std::ranges::find(kLogKeys, key);
    assert(known != std::end(kLogKeys));
    return values_[static_cast<std::size_t>(known - std::begin(kLogKeys))];
  }

  Value* value_ = nullptr;  // of the line's key
  std::array<Value, std::size(kLogKeys)> values_;
};

// Versions before 1.1 wrote power_begin and power_end in local time (mlcommons/inference, pull
// request 898).
bool writes_local_times(const std::string& version) {
  const std::size_t point = version.find('.');
  const auto major = python_int(version.substr(0, point));
  if (!major) return false;
  const std::string rest = point == version.npos ? "" : version.substr(point + 1);
  const auto minor = python_int(rest.substr(0, rest.find_first_not_of("0123456789")));
  return *major < 1 || (*major == 1 && minor.value_or(0) < 1);
}

// "MM-DD-YYYY HH:MM:SS.mmm", UTC, or local time.
std::optional<double> power_stamp(const std::string& text) {
  if (text.size() < 19 || text[2] != '-' || text[5] != '-') return std::nullopt;
  const auto time = read_iso(fmt::format("{}-{}-{}{}", text.substr(6, 4), text.substr(0, 2),
                                         text.substr(3, 2), text.substr(10)));
  if (!time) return std::nullopt;
  return static_cast<double>(time->clock_s) + time->micros / 1e6;
}

std::optional<std::int64_t> whole(std::optional<double> value) {
  return value ? whole_count(*value) : std::nullopt;
}

LoadReading conclude_mlperf(const LogVisitor& log, LoadRules rules) {
  LoadReading reading;
  const bool is_offline = log.text("effective_scenario") == "Offline";
  const auto start = power_stamp(log.text("power_begin"));
  const auto end = power_stamp(log.text("power_end"));
  std::optional<double> tokens_per_s;
  for (const char* key :
       {"result_completed_tokens_per_second", "result_tokens_per_second",
        "result_inferred_completed_tokens_per_second", "result_inferred_tokens_per_second"}) {
    if (!tokens_per_s) tokens_per_s = log.number(key);
  }
  std::optional<std::int64_t> output;
  if (tokens_per_s && start && end) {
    output = whole(*tokens_per_s * (*end - *start));
    reading.has_approximate_counts = true;
  }
  set_counts(reading, rules,
             whole(log.number(is_offline ? "generated_samples_per_query" : "result_query_count")),
             std::nullopt, output);
  reading.notes.emplace_back("LoadGen does not log the input tokens");
  if (log.text("effective_test_mode") == "AccuracyOnly") {
    reading.defect = "it was a run in AccuracyOnly mode, not a measurement";
  }
  const std::string validity = log.text("result_validity");
  if (!validity.empty() && validity != "VALID") {
    reading.defect = fmt::format("LoadGen calls the run {}", printable(validity));
  }
  if (const std::string& met = log.text("result_perf_constraints_met"); !met.empty()) {
    reading.stated_constraints_met = met == "true";
  }
  reading.settings.emplace_back("scenario", log.text("effective_scenario"));
  reading.no_window =
      "the log has no power_begin and power_end, which LoadGen writes when the measured part begins and ends";
  if (!start || !end) return reading;
  if (!writes_local_times(log.text("loadgen_version"))) {
    set_exact_window(reading, {*start, *end});
    return reading;
  }
  reading.clues.local_window = Window{*start, *end};
  reading.work.reported_duration_s = *end - *start;
  reading.no_window =
      fmt::format("LoadGen {} writes power_begin and power_end in local time without an offset",
                  printable(log.text("loadgen_version"), 20));
  return reading;
}

}  // namespace

double fits_mlperf(const ResultHead& head) {
  const auto has = [&](std::string_view text) { return head.text.find(text) != head.text.npos; };
  // Training logs have the same prefix.
  if (!has("mlperf::logging") && !has("loadgen") && !has("power_begin") && !has(kSummaryTitle)) {
    return 0;
  }
  if (head.text.starts_with(kLogPrefix)) return 1;
  if (head.text.substr(0, 4096).find(kSummaryTitle) != std::string_view::npos) return 1;
  return head.text.find(fmt::format("\n{} {{", kLogPrefix)) != std::string_view::npos ? 0.9 : 0;
}

std::vector<LoadReading> read_mlperf(const LoadFiles& files) {
  const std::unique_ptr<ByteSource> source = files.open();
  LoggedJson json(*source);
  LogVisitor log;
  LoadReading reading;
  try {
    walk_json(json, JsonPaths(LogVisitor::kPaths), log, JsonTexts::several);
    reading = conclude_mlperf(log, files.rules);
  } catch (const JsonError& error) {
    reading.reasons.add(
        Reason::invalid_benchmark_result,
        fmt::format(
            "{}: the summary of a LoadGen run, or a damaged log, has no times: give mlperf_log_detail.txt ({})",
            files.name, error.what()));
  }
  reading.generator = "MLPerf LoadGen";
  return {reading};
}

}  // namespace aggregate_power
