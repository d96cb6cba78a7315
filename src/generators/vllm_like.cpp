// Reads the members that serving benchmarks share.
#include "generators/vllm_like.h"

#include <string>

#include <fmt/format.h>

#include "base/text/ascii.h"
#include "base/text/written_time.h"
#include "core/load/benchmark.h"
#include "core/load/benchmark_outcome.h"
#include "core/load/stated_totals.h"

namespace aggregate_power {

std::optional<WallStamp> compact_stamp(std::string_view text) {
  const bool is_compact = text.size() == 15 && text[8] == '-' &&
                          is_ascii_digits(text.substr(0, 8)) && is_ascii_digits(text.substr(9));
  if (!is_compact) return std::nullopt;
  const auto time = read_iso(fmt::format("{}-{}-{} {}:{}:{}", text.substr(0, 4), text.substr(4, 2),
                                         text.substr(6, 2), text.substr(9, 2), text.substr(11, 2),
                                         text.substr(13, 2)));
  if (!time) return std::nullopt;
  return WallStamp{static_cast<double>(time->clock_s)};
}

void add_settings(LoadReading& reading, const ResultValues& values,
                  std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const std::string text = values.text(key);
    if (!text.empty()) reading.settings.emplace_back(key, text);
  }
}

LoadReading conclude_serving(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  const LoadRules rules = scope.files.rules;
  LoadReading reading = states_window(values) ? judge_stated(values, rules) : LoadReading();
  add_settings(reading, values, {"model_id", "request_rate", "max_concurrency", "num_prompts"});
  reading.model = values.text("model_id");
  if (states_window(values)) return reading;
  const auto value = [&](std::string_view path) {
    return JsonValue{values.kind(path), values.text(path)};
  };
  reading.max_concurrency = value("max_concurrency");
  reading.failure = benchmark_failure(outcome_in(values), value("completed"), value("num_prompts"));
  reading.work.reported_duration_s = values.number("duration").value_or(0);
  set_counts(reading, rules, values.count("completed"), values.count("total_input_tokens"),
             values.count("total_output_tokens"));
  reading.failed_requests = static_cast<std::uint64_t>(values.count("failed").value_or(0));
  judge_totals(values, reading);
  reading.clues.end_stamp = compact_stamp(values.text("date"));
  return reading;
}

}  // namespace aggregate_power
