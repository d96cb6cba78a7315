// AIPerf's exports read by themselves: profile_export_aiperf.json, or profile_export.jsonl.
// ai-dynamo/aiperf: src/aiperf/exporters/metrics_json_exporter.py.
#include <numeric>

#include <fmt/format.h>

#include "base/text/written_time.h"
#include "core/load/benchmark_outcome.h"
#include "generators/formats.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kAiperfMarks[] = {"input_config", "benchmark_duration.unit",
                                             "request_latency.unit"};
constexpr std::string_view kAiperfFields[] = {"request_count.avg",
                                              "error_request_count.avg",
                                              "error_summary[].count",
                                              "total_isl.avg",
                                              "total_osl.avg",
                                              "input_sequence_length.avg",
                                              "output_sequence_length.avg",
                                              "benchmark_duration.avg",
                                              "benchmark_duration.unit",
                                              "min_request_timestamp.avg",
                                              "max_response_timestamp.avg",
                                              "start_time",
                                              "was_cancelled",
                                              "end_time"};

// Local time without an offset, or an instant.
void set_local_window(LoadReading& reading, const ResultValues& values) {
  const auto start = read_iso(values.text("start_time"));
  const auto end = read_iso(values.text("end_time"));
  if (!start || !end) return;
  const auto wall_s = [](const WrittenTime& time) {
    return static_cast<double>(time.clock_s) + time.micros / 1e6;
  };
  if (start->offset_us && end->offset_us) {
    set_exact_window(reading, {wall_s(*start) - static_cast<double>(*start->offset_us) / 1e6,
                               wall_s(*end) - static_cast<double>(*end->offset_us) / 1e6});
  } else {
    reading.clues.local_window = Window{wall_s(*start), wall_s(*end)};
  }
}

// AIPerf writes seconds ("sec").
double duration_s(const ResultValues& values) {
  const std::string unit = values.text("benchmark_duration.unit");
  const double unit_s = unit == "ms" ? 1e-3 : unit == "ns" ? 1e-9 : unit.starts_with('s') ? 1 : 0;
  return values.number("benchmark_duration.avg").value_or(0) * unit_s;
}

LoadReading conclude_aiperf_summary(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading;
  const auto requests = values.count("request_count.avg");
  const auto tokens = [&](std::string_view total, std::string_view mean) {
    const auto count = values.count(total);
    return count ? count : mean_times(reading, values.number(mean), requests);
  };
  const auto input = tokens("total_isl.avg", "input_sequence_length.avg");
  const auto output = tokens("total_osl.avg", "output_sequence_length.avg");
  set_counts(reading, scope.files.rules, requests, input, output);
  const auto errors = values.list("error_summary[].count");
  const auto listed = whole_count(std::accumulate(errors.begin(), errors.end(), 0.0)).value_or(0);
  reading.failed_requests =
      static_cast<std::uint64_t>(values.count("error_request_count.avg").value_or(listed));
  if (values.text("was_cancelled") == "true") reading.defect = "AIPerf was cancelled";
  const auto first_ns = values.number("min_request_timestamp.avg");
  const auto last_ns = values.number("max_response_timestamp.avg");
  if (first_ns && last_ns) {
    set_exact_window(reading, {*first_ns / kNanosInSecond, *last_ns / kNanosInSecond});
  } else {
    set_local_window(reading, values);
    reading.notes.emplace_back(
        "AIPerf's phase, from 'start_time' to 'end_time', may be longer than its load: profile_export.jsonl has the requests");
    if (!reading.load && duration_s(values) > 0) {
      reading.work.reported_duration_s = duration_s(values);
    }
  }
  reading.no_window =
      "AIPerf writes 'start_time' and 'end_time' in local time without an offset; profile_export.jsonl has instants";
  return reading;
}

constexpr std::string_view kAiperfLineMarks[] = {"metadata.request_start_ns",
                                                 "metadata.request_end_ns", "metrics"};
constexpr std::string_view kAiperfLineFields[] = {"metadata.request_start_ns",
                                                  "metadata.request_end_ns",
                                                  "metadata.benchmark_phase",
                                                  "metadata.x_request_id",
                                                  "metadata.was_cancelled",
                                                  "metrics.input_sequence_length.value",
                                                  "metrics.output_sequence_length.value",
                                                  "metrics.time_to_first_token.value",
                                                  "error",
                                                  "error.code"};

std::optional<RequestTimes> aiperf_request(const ResultValues& values) {
  const std::string phase = values.text("metadata.benchmark_phase");
  const auto seconds = [&](std::string_view field) {
    const auto ns = values.number(field);
    return ns ? *ns / kNanosInSecond : RequestTimes::kUnknown;
  };
  RequestTimes request;
  request.start_s = seconds("metadata.request_start_ns");
  request.end_s = seconds("metadata.request_end_ns");
  if (const auto ms = values.number("metrics.time_to_first_token.value")) {
    request.first_token_s = request.start_s + *ms / 1e3;
  }
  request.input_tokens = values.count("metrics.input_sequence_length.value").value_or(-1);
  request.output_tokens = values.count("metrics.output_sequence_length.value").value_or(-1);
  request.cancelled = values.text("metadata.was_cancelled") == "true";
  request.failed = request.cancelled || values.has("error");
  request.is_warm_up = !phase.empty() && phase != "profiling";
  request.id = values.text("metadata.x_request_id");
  return request;
}

LoadReading conclude_aiperf_requests(const ResultScope& scope) {
  LoadReading reading;
  set_counts(reading, scope.files.rules, scope.requests);
  const std::int64_t completed = scope.requests.listed - scope.requests.failed;
  const auto cancelled = static_cast<std::uint64_t>(scope.requests.cancelled);
  if (!failure_by_counts(cancelled, completed).empty()) {
    reading.notes.push_back(fmt::format(
        "AIPerf cancelled {} of {} requests itself: what they drew counts in the joules of the others",
        cancelled, scope.requests.listed));
  }
  if (scope.requests.window) set_exact_window(reading, *scope.requests.window);
  reading.no_window = "no request in it has both times";
  return reading;
}

}  // namespace

const ResultFormat kAiperfSummary = {.generator = "AIPerf",
                                     .marks = kAiperfMarks,
                                     .fields = kAiperfFields,
                                     .conclude = conclude_aiperf_summary};

const ResultFormat kAiperfRequests = {.generator = "AIPerf requests",
                                      .marks = kAiperfLineMarks,
                                      .texts = JsonTexts::several,
                                      .is_whole_file = true,
                                      .request = "",
                                      .request_fields = kAiperfLineFields,
                                      .request_of = aiperf_request,
                                      .conclude = conclude_aiperf_requests};

}  // namespace aggregate_power
