// TensorRT-LLM: tensorrt_llm.serve.scripts.benchmark_serving, and trtllm-bench with --report_json
// and --request_json. NVIDIA/TensorRT-LLM: tensorrt_llm/serve/scripts/benchmark_serving.py,
// tensorrt_llm/bench/dataclasses/reporting.py.
#include "generators/formats.h"
#include "generators/vllm_like.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kServingMarks[] = {"date",
                                              "backend",
                                              "tokenizer_id",
                                              "num_prompts",
                                              "duration",
                                              "user_throughput",
                                              "avg_decoded_tokens_per_iter"};
constexpr std::string_view kServingFields[] = {"date",
                                               "duration",
                                               "completed",
                                               "total_input_tokens",
                                               "total_output_tokens",
                                               "model_id",
                                               "request_rate",
                                               "max_concurrency",
                                               "num_prompts",
                                               "energy.total_energy_j",
                                               "benchmark_start_time_unix",
                                               "benchmark_end_time_unix",
                                               "benchmark_outcome",
                                               "benchmark_outcome.status",
                                               "benchmark_outcome.requested",
                                               "benchmark_outcome.completed",
                                               "benchmark_outcome.failed",
                                               "benchmark_outcome.max_failure_rate"};

LoadReading conclude_trt_serving(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading = conclude_serving(scope);
  const auto prompts = values.count("num_prompts");
  const auto completed = values.count("completed");
  if (prompts && completed && *prompts > *completed) {
    reading.failed_requests = static_cast<std::uint64_t>(*prompts - *completed);
  }
  reading.stated_energy_j = values.number("energy.total_energy_j");
  reading.no_window = "TensorRT-LLM writes only the second in which it ended ('date', local time)";
  return reading;
}

constexpr std::string_view kReportMarks[] = {"engine", "world_info", "request_info", "performance"};
constexpr std::string_view kReportFields[] = {
    "world_info.world_size",         "request_info.num_requests",
    "request_info.avg_input_length", "request_info.avg_output_length",
    "performance.total_latency_ms",  "engine.model"};

LoadReading conclude_trt_report(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading;
  const auto requests = values.count("request_info.num_requests");
  reading.work.reported_duration_s =
      values.number("performance.total_latency_ms").value_or(0) / 1e3;
  set_counts(reading, scope.files.rules, requests,
             mean_times(reading, values.number("request_info.avg_input_length"), requests),
             mean_times(reading, values.number("request_info.avg_output_length"), requests));
  reading.gpus = values.count("world_info.world_size");
  add_settings(reading, values, {"engine.model"});
  reading.no_window = "trtllm-bench writes no times into its report";
  return reading;
}

constexpr std::string_view kRequestMarks[] = {"[].start_timestamp", "[].end_timestamp",
                                              "[].num_input_tokens"};
constexpr std::string_view kRequestFields[] = {"start_timestamp",   "first_token_timestamp",
                                               "end_timestamp",     "num_input_tokens",
                                               "num_output_tokens", "id"};

std::optional<RequestTimes> trt_request(const ResultValues& values) {
  const auto seconds = [&](std::string_view field) {
    const auto ns = values.number(field);
    return ns && *ns > 0 ? *ns / kNanosInSecond : RequestTimes::kUnknown;  // -1: not streaming
  };
  return RequestTimes{.start_s = seconds("start_timestamp"),
                      .first_token_s = seconds("first_token_timestamp"),
                      .end_s = seconds("end_timestamp"),
                      .input_tokens = values.count("num_input_tokens").value_or(-1),
                      .output_tokens = values.count("num_output_tokens").value_or(-1),
                      .id = values.text("id")};
}

LoadReading conclude_trt_requests(const ResultScope& scope) {
  LoadReading reading;
  reading.clues.monotonic = scope.requests.window;
  if (scope.requests.window) reading.work.reported_duration_s = scope.requests.window->duration_s();
  set_counts(reading, scope.files.rules, scope.requests);
  reading.no_window =
      "trtllm-bench writes the requests' times by the machine's monotonic clock only";
  return reading;
}

}  // namespace

const ResultFormat kTensorRtLlmServing = {.generator = "TensorRT-LLM",
                                          .marks = kServingMarks,
                                          .texts = JsonTexts::several,
                                          .fields = kServingFields,
                                          .conclude = conclude_trt_serving};

const ResultFormat kTensorRtLlmReport = {.generator = "trtllm-bench",
                                         .marks = kReportMarks,
                                         .fields = kReportFields,
                                         .conclude = conclude_trt_report};

const ResultFormat kTensorRtLlmRequests = {.generator = "trtllm-bench requests",
                                           .marks = kRequestMarks,
                                           .is_whole_file = true,
                                           .request = "[]",
                                           .request_fields = kRequestFields,
                                           .request_of = trt_request,
                                           .conclude = conclude_trt_requests};

}  // namespace aggregate_power
