// guidellm's report, version 2 of its layout; one file holds a sweep.
// vllm-project/guidellm: src/guidellm/benchmark/schemas/report.py.
#include <algorithm>

#include "core/load/benchmark.h"
#include "generators/formats.h"
#include "generators/requests_in_window.h"
#include "generators/vllm_like.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kGuidellmMarks[] = {"metadata.guidellm_version", "benchmarks"};
constexpr std::string_view kGuidellmFields[] = {"start_time",
                                                "end_time",
                                                "duration",
                                                "metrics.request_totals.successful",
                                                "metrics.request_totals.errored",
                                                "metrics.request_totals.incomplete",
                                                "metrics.prompt_token_count.successful.total_sum",
                                                "metrics.output_token_count.successful.total_sum",
                                                "config.strategy.type_",
                                                "config.strategy.rate",
                                                "config.strategy.streams",
                                                "scheduler_metrics.request_start_time",
                                                "scheduler_metrics.request_end_time",
                                                "requests.incomplete[].request_end_time"};
constexpr std::string_view kGuidellmRequestFields[] = {"request_start_time",     "request_end_time",
                                                       "time_to_first_token_ms", "prompt_tokens",
                                                       "output_tokens",          "request_id"};

std::optional<RequestTimes> guidellm_request(const ResultValues& values) {
  RequestTimes request;
  request.start_s = values.number("request_start_time").value_or(RequestTimes::kUnknown);
  request.end_s = values.number("request_end_time").value_or(RequestTimes::kUnknown);
  if (const auto ms = values.number("time_to_first_token_ms")) {
    request.first_token_s = request.start_s + *ms / 1e3;
  }
  request.input_tokens = values.count("prompt_tokens").value_or(-1);
  request.output_tokens = values.count("output_tokens").value_or(-1);
  request.id = values.text("request_id");
  return request;
}

// A load of a fixed time cuts off the requests that are under way at its end.
std::int64_t cut_off_at(double end_s, const ResultValues& values) {
  constexpr double kNear_s = 1;
  return std::ranges::count_if(
      values.list("requests.incomplete[].request_end_time"),
      [&](double request_end_s) { return request_end_s > end_s - kNear_s; });
}

// Requests ran outside the measured part: the sums contain those that overlap it, whole.
bool has_warm_up(const ResultValues& values, Window measured) {
  const auto first = values.number("scheduler_metrics.request_start_time");
  const auto last = values.number("scheduler_metrics.request_end_time");
  const double most_s = most_difference_s(measured);
  return (first && *first < measured.start_unix_s - most_s) ||
         (last && *last > measured.end_unix_s + most_s);
}

LoadReading conclude_guidellm(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading;
  set_counts(reading, scope.files.rules, values.count("metrics.request_totals.successful"),
             values.count("metrics.prompt_token_count.successful.total_sum"),
             values.count("metrics.output_token_count.successful.total_sum"));
  const auto errored = values.count("metrics.request_totals.errored").value_or(0);
  const auto incomplete = values.count("metrics.request_totals.incomplete").value_or(0);
  reading.failed_requests = static_cast<std::uint64_t>(errored + incomplete);
  reading.work.reported_duration_s = values.number("duration").value_or(0);
  const auto start = values.number("start_time");
  const auto end = values.number("end_time");
  if (start && end) {
    set_exact_window(reading, {*start, *end});
    reading.cut_off_requests =
        static_cast<std::uint64_t>(std::min(cut_off_at(*end, values), incomplete));
    cut_counts(reading, scope.requests, has_warm_up(values, {*start, *end}));
  }
  reading.no_window = "'start_time' or 'end_time' of the benchmark is missing";
  add_settings(reading, values,
               {"config.strategy.type_", "config.strategy.rate", "config.strategy.streams"});
  return reading;
}

}  // namespace

const ResultFormat kGuidellm = {.generator = "guidellm",
                                .marks = kGuidellmMarks,
                                .benchmark = "benchmarks[]",
                                .fields = kGuidellmFields,
                                .request = "benchmarks[].requests.successful[]",
                                .request_fields = kGuidellmRequestFields,
                                .request_of = guidellm_request,
                                .conclude = conclude_guidellm};

}  // namespace aggregate_power
