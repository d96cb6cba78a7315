// SGLang: sglang.bench_serving --output-file, a line for each run.
// sgl-project/sglang: python/sglang/bench_serving.py, python/sglang/benchmark/serving.py.
#include "generators/formats.h"
#include "generators/vllm_like.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kSglangMarks[] = {"backend", "dataset_name", "sharegpt_output_len",
                                             "duration", "total_output_tokens_retokenized"};
constexpr std::string_view kSglangFields[] = {"duration",
                                              "completed",
                                              "total_input_tokens",
                                              "total_output_tokens",
                                              "request_rate",
                                              "max_concurrency",
                                              "dataset_name",
                                              "tag",
                                              "server_info.tp_size",
                                              "server_info.pp_size",
                                              "server_info.dp_size",
                                              "server_info.enable_dp_attention",
                                              "benchmark_start_time_unix",
                                              "benchmark_end_time_unix",
                                              "num_prompts",
                                              "benchmark_outcome",
                                              "benchmark_outcome.status",
                                              "benchmark_outcome.requested",
                                              "benchmark_outcome.completed",
                                              "benchmark_outcome.failed",
                                              "benchmark_outcome.max_failure_rate"};

LoadReading conclude_sglang(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading = conclude_serving(scope);
  add_settings(reading, values, {"dataset_name", "tag"});
  if (const auto tp = values.count("server_info.tp_size")) {
    const auto pp = values.count("server_info.pp_size").value_or(1);
    const bool shares = values.text("server_info.enable_dp_attention") == "true";
    const auto dp = shares ? 1 : values.count("server_info.dp_size").value_or(1);
    reading.gpus =
        whole_count(static_cast<double>(*tp) * static_cast<double>(pp) * static_cast<double>(dp));
  }
  reading.no_window = "SGLang writes no times";
  return reading;
}

}  // namespace

const ResultFormat kSglang = {.generator = "SGLang",
                              .marks = kSglangMarks,
                              .texts = JsonTexts::several,
                              .fields = kSglangFields,
                              .states_totals = true,
                              .conclude = conclude_sglang};

}  // namespace aggregate_power
