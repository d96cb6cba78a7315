// llama.cpp's llama-bench -o json and -o jsonl: a file of tests, each with the second in which it
// was set up and the times of its repetitions. ggml-org/llama.cpp:
// tools/llama-bench/llama-bench.cpp.
#include <cmath>
#include <numeric>

#include "base/text/written_time.h"
#include "generators/formats.h"
#include "generators/vllm_like.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kBenchMarks[] = {"[].n_prompt", "[].n_gen", "[].test_time"};
constexpr std::string_view kBenchLineMarks[] = {"n_prompt", "n_gen", "test_time"};
constexpr std::string_view kBenchFields[] = {"n_prompt",  "n_gen",        "n_depth",
                                             "test_time", "samples_ns[]", "model_filename"};

LoadReading conclude_llama_bench(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading;
  const auto samples = values.list("samples_ns[]");
  const double total_ns = std::accumulate(samples.begin(), samples.end(), 0.0);
  const auto repetitions = static_cast<std::int64_t>(samples.size());
  const auto times_repetitions = [&](std::string_view field) -> std::optional<std::int64_t> {
    const auto count = values.count(field);
    return count ? whole_count(static_cast<double>(*count) * static_cast<double>(repetitions))
                 : std::nullopt;
  };
  if (std::isfinite(total_ns)) reading.work.reported_duration_s = total_ns / 1e9;
  set_counts(reading, scope.files.rules, repetitions, times_repetitions("n_prompt"),
             times_repetitions("n_gen"));
  if (const auto time = read_iso(values.text("test_time"))) {
    const double offset_s = static_cast<double>(time->offset_us.value_or(0)) / 1e6;
    reading.clues.start_stamp =
        WallStamp{static_cast<double>(time->clock_s) - offset_s, time->offset_us.has_value()};
  }
  reading.clues.may_pause = values.number("n_depth").value_or(0) > 0 && repetitions > 1;
  reading.no_window = "llama-bench writes only the second in which a test was set up ('test_time')";
  add_settings(reading, values, {"model_filename", "n_prompt", "n_gen", "n_depth"});
  return reading;
}

// Tests run one after the other.
void bound_tests(std::vector<LoadReading>& readings) {
  for (std::size_t i = 0; i + 1 < readings.size(); ++i) {
    const auto& next = readings[i + 1].clues.start_stamp;
    if (next && next->is_utc) {
      readings[i].clues.ends_before_s = next->wall_s + next->resolution_s;
    }
  }
}

}  // namespace

const ResultFormat kLlamaBench = {.generator = "llama-bench",
                                  .marks = kBenchMarks,
                                  .benchmark = "[]",
                                  .fields = kBenchFields,
                                  .conclude = conclude_llama_bench,
                                  .settle = bound_tests};

const ResultFormat kLlamaBenchLines = {.generator = "llama-bench",
                                       .marks = kBenchLineMarks,
                                       .texts = JsonTexts::several,
                                       .fields = kBenchFields,
                                       .conclude = conclude_llama_bench,
                                       .settle = bound_tests};

}  // namespace aggregate_power
