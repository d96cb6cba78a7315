// The ML.ENERGY benchmark: results.json. ml-energy/benchmark: mlenergy/benchmark/llm/benchmark.py.
#include <fmt/format.h>

#include "generators/formats.h"
#include "generators/vllm_like.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kMlEnergyMarks[] = {"timeline.benchmark_start_time",
                                               "timeline.benchmark_end_time"};
constexpr std::string_view kMlEnergyFields[] = {"timeline.benchmark_start_time",
                                                "timeline.benchmark_end_time",
                                                "timeline.steady_state_start_time",
                                                "timeline.steady_state_end_time",
                                                "steady_state_energy",
                                                "duration",
                                                "completed",
                                                "num_prompts",
                                                "total_input_tokens",
                                                "total_output_tokens",
                                                "num_gpus",
                                                "gpu_model",
                                                "model_id",
                                                "request_rate",
                                                "max_num_seqs"};

LoadReading conclude_ml_energy(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading;
  reading.work.reported_duration_s = values.number("duration").value_or(0);
  set_counts(reading, scope.files.rules, values.count("completed"),
             values.count("total_input_tokens"), values.count("total_output_tokens"));
  const auto start = values.number("timeline.benchmark_start_time");
  const auto end = values.number("timeline.benchmark_end_time");
  if (start && end) set_exact_window(reading, {*start, *end});
  reading.no_window = "ML.ENERGY's 'benchmark_start_time' or 'benchmark_end_time' is missing";
  reading.gpus = values.count("num_gpus");
  const auto steady_start = values.number("timeline.steady_state_start_time");
  const auto steady_end = values.number("timeline.steady_state_end_time");
  const auto energy_j = values.number("steady_state_energy");
  if (steady_start && steady_end && energy_j) {
    reading.notes.push_back(fmt::format(
        "ML.ENERGY states {:.1f} J for its steady state of {:.3f} s, a part of this window: --start {} --end {} measures it",
        *energy_j, *steady_end - *steady_start, *steady_start, *steady_end));
  }
  add_settings(reading, values, {"model_id", "request_rate", "num_prompts", "max_num_seqs"});
  return reading;
}

}  // namespace

const ResultFormat kMlEnergy = {.generator = "ML.ENERGY",
                                .marks = kMlEnergyMarks,
                                .fields = kMlEnergyFields,
                                .conclude = conclude_ml_energy};

}  // namespace aggregate_power
