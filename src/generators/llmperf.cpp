// LLMPerf: the summary, and the individual responses. ray-project/llmperf: token_benchmark_ray.py.
#include <algorithm>
#include <cmath>

#include "generators/formats.h"
#include "generators/vllm_like.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kLlmperfMarks[] = {"results_num_completed_requests",
                                              "results_num_requests_started"};
constexpr std::string_view kLlmperfFields[] = {"timestamp",
                                               "results_num_completed_requests",
                                               "results_num_completed_requests_per_min",
                                               "results_number_errors",
                                               "results_num_requests_started",
                                               "results_number_input_tokens_mean",
                                               "results_number_output_tokens_mean",
                                               "model",
                                               "num_concurrent_requests"};

LoadReading conclude_llmperf(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading;
  const auto requests = values.count("results_num_completed_requests");
  const auto per_minute = values.number("results_num_completed_requests_per_min");
  if (requests && per_minute && *per_minute > 0) {
    reading.work.reported_duration_s = static_cast<double>(*requests) / *per_minute * 60;
  }
  set_counts(reading, scope.files.rules, requests,
             mean_times(reading, values.number("results_number_input_tokens_mean"), requests),
             mean_times(reading, values.number("results_number_output_tokens_mean"), requests));
  const std::int64_t started = values.count("results_num_requests_started").value_or(0);
  const std::int64_t errors = values.count("results_number_errors").value_or(0);
  reading.failed_requests =
      static_cast<std::uint64_t>(std::max(errors, started - requests.value_or(started)));
  if (const auto written_s = values.number("timestamp")) {
    const bool is_whole = *written_s == std::floor(*written_s);
    reading.clues.end_stamp = WallStamp{*written_s, true, is_whole ? 1.0 : 0.001};
  }
  add_settings(reading, values, {"model", "num_concurrent_requests"});
  reading.no_window = "LLMPerf writes only the second in which it ended ('timestamp')";
  return reading;
}

constexpr std::string_view kResponseMarks[] = {"[].end_to_end_latency_s",
                                               "[].number_output_tokens"};
constexpr std::string_view kResponseFields[] = {"error_code", "number_input_tokens",
                                                "number_output_tokens"};

std::optional<RequestTimes> llmperf_request(const ResultValues& values) {
  RequestTimes request;
  request.failed = values.has("error_code");
  request.input_tokens = values.count("number_input_tokens").value_or(-1);
  request.output_tokens = values.count("number_output_tokens").value_or(-1);
  return request;
}

LoadReading conclude_llmperf_responses(const ResultScope& scope) {
  LoadReading reading;
  set_counts(reading, scope.files.rules, scope.requests);
  reading.no_window = "LLMPerf writes no times into its individual responses";
  return reading;
}

}  // namespace

const ResultFormat kLlmperfSummary = {.generator = "LLMPerf",
                                      .marks = kLlmperfMarks,
                                      .fields = kLlmperfFields,
                                      .conclude = conclude_llmperf};

const ResultFormat kLlmperfRequests = {.generator = "LLMPerf responses",
                                       .marks = kResponseMarks,
                                       .is_whole_file = true,
                                       .request = "[]",
                                       .request_fields = kResponseFields,
                                       .request_of = llmperf_request,
                                       .conclude = conclude_llmperf_responses};

}  // namespace aggregate_power
