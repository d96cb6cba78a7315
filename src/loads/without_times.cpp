// Generators that write no times at all: genai-bench and torchbench's userbenchmark.
#include "loads/formats.h"
#include "loads/vllm_like.h"

namespace aggregate_power {
namespace {

// sgl-project/genai-bench: genai_bench/metrics/metrics.py
constexpr std::string_view kGenaiBenchMarks[] = {"aggregated_metrics.run_duration",
                                                 "aggregated_metrics.num_completed_requests"};
constexpr std::string_view kGenaiBenchFields[] = {"aggregated_metrics.run_duration",
                                                  "aggregated_metrics.num_completed_requests",
                                                  "aggregated_metrics.num_error_requests",
                                                  "aggregated_metrics.stats.num_input_tokens.sum",
                                                  "aggregated_metrics.stats.num_output_tokens.sum",
                                                  "aggregated_metrics.scenario",
                                                  "aggregated_metrics.num_concurrency"};

LoadReading conclude_genai_bench(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading;
  reading.work.reported_duration_s = values.number("aggregated_metrics.run_duration").value_or(0);
  set_counts(reading, scope.files.rules, values.count("aggregated_metrics.num_completed_requests"),
             values.count("aggregated_metrics.stats.num_input_tokens.sum"),
             values.count("aggregated_metrics.stats.num_output_tokens.sum"));
  reading.failed_requests =
      static_cast<std::uint64_t>(values.count("aggregated_metrics.num_error_requests").value_or(0));
  reading.no_window = "genai-bench writes no times";
  add_settings(reading, values,
               {"aggregated_metrics.scenario", "aggregated_metrics.num_concurrency"});
  return reading;
}

// pytorch/benchmark: userbenchmark/utils.py
constexpr std::string_view kTorchbenchMarks[] = {"name", "environ.pytorch_git_version", "metrics"};

LoadReading conclude_torchbench(const ResultScope& scope) {
  LoadReading reading;
  set_counts(reading, scope.files.rules, std::nullopt, std::nullopt, std::nullopt);
  reading.no_window = "torchbench writes no times into its result";
  return reading;
}

}  // namespace

const ResultFormat kGenaiBench = {.generator = "genai-bench",
                                  .marks = kGenaiBenchMarks,
                                  .fields = kGenaiBenchFields,
                                  .conclude = conclude_genai_bench};

const ResultFormat kTorchbench = {
    .generator = "torchbench", .marks = kTorchbenchMarks, .conclude = conclude_torchbench};

}  // namespace aggregate_power
