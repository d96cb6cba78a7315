// inference-perf: the summary of a run or a stage, and the requests one by one.
// kubernetes-sigs/inference-perf: inference_perf/reportgen/base.py.
#include "generators/formats.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kSummaryMarks[] = {"load_summary", "successes.throughput"};
constexpr std::string_view kSummaryFields[] = {"successes.count",
                                               "failures.count",
                                               "successes.throughput.requests_per_sec",
                                               "successes.prompt_tokens.total",
                                               "successes.output_tokens.total",
                                               "successes.prompt_len.mean",
                                               "successes.output_len.mean"};

LoadReading conclude_inference_perf(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading;
  const auto requests = values.count("successes.count");
  const auto per_s = values.number("successes.throughput.requests_per_sec");
  if (requests && per_s && *per_s > 0) {
    reading.work.reported_duration_s = static_cast<double>(*requests) / *per_s;
  }
  const auto tokens = [&](std::string_view total, std::string_view mean) {
    const auto count = values.count(total);
    return count ? count : mean_times(reading, values.number(mean), requests);
  };
  const auto input = tokens("successes.prompt_tokens.total", "successes.prompt_len.mean");
  const auto output = tokens("successes.output_tokens.total", "successes.output_len.mean");
  set_counts(reading, scope.files.rules, requests, input, output);
  reading.failed_requests = static_cast<std::uint64_t>(values.count("failures.count").value_or(0));
  reading.no_window =
      "inference-perf writes no times into its summaries; per_request_lifecycle_metrics.json has those of the machine's monotonic clock";
  return reading;
}

constexpr std::string_view kLifecycleMarks[] = {"[].start_time", "[].end_time", "[].info"};
constexpr std::string_view kLifecycleFields[] = {"start_time", "end_time", "info.input_tokens",
                                                 "info.output_tokens", "error"};

std::optional<RequestTimes> lifecycle_request(const ResultValues& values) {
  RequestTimes request;
  request.start_s = values.number("start_time").value_or(RequestTimes::kUnknown);
  request.end_s = values.number("end_time").value_or(RequestTimes::kUnknown);
  request.input_tokens = values.count("info.input_tokens").value_or(-1);
  request.output_tokens = values.count("info.output_tokens").value_or(-1);
  request.failed = values.has("error");
  return request;
}

LoadReading conclude_lifecycle(const ResultScope& scope) {
  LoadReading reading;
  reading.clues.monotonic = scope.requests.window;
  if (scope.requests.window) reading.work.reported_duration_s = scope.requests.window->duration_s();
  set_counts(reading, scope.files.rules, scope.requests);
  reading.no_window =
      "inference-perf writes the requests' times by the machine's monotonic clock only";
  return reading;
}

}  // namespace

const ResultFormat kInferencePerf = {.generator = "inference-perf",
                                     .marks = kSummaryMarks,
                                     .fields = kSummaryFields,
                                     .conclude = conclude_inference_perf};

const ResultFormat kInferencePerfRequests = {.generator = "inference-perf requests",
                                             .marks = kLifecycleMarks,
                                             .is_whole_file = true,
                                             .request = "[]",
                                             .request_fields = kLifecycleFields,
                                             .request_of = lifecycle_request,
                                             .conclude = conclude_lifecycle};

}  // namespace aggregate_power
