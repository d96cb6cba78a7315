// GenAI-Perf, and the file that Perf Analyzer writes beneath it.
// triton-inference-server/perf_analyzer: genai-perf/genai_perf/export_data/json_exporter.py,
// src/profile_data_exporter.cc.
#include "generators/formats.h"
#include "generators/vllm_like.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kGenaiPerfMarks[] = {"input_config", "request_latency.unit"};
constexpr std::string_view kGenaiPerfFields[] = {"request_count.avg", "request_throughput.avg",
                                                 "input_sequence_length.avg",
                                                 "output_sequence_length.avg"};

LoadReading conclude_genai_perf(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading;
  const auto requests = values.count("request_count.avg");
  const auto per_s = values.number("request_throughput.avg");
  if (requests && per_s && *per_s > 0) {
    reading.work.reported_duration_s = static_cast<double>(*requests) / *per_s;
  }
  set_counts(reading, scope.files.rules, requests,
             mean_times(reading, values.number("input_sequence_length.avg"), requests),
             mean_times(reading, values.number("output_sequence_length.avg"), requests));
  reading.no_window =
      "GenAI-Perf writes no times here; profile_export.json, which Perf Analyzer writes beside it, has them";
  return reading;
}

constexpr std::string_view kAnalyzerMarks[] = {"experiments[].requests[].timestamp"};
constexpr std::string_view kAnalyzerFields[] = {"experiment.mode", "experiment.value"};
constexpr std::string_view kAnalyzerRequestFields[] = {"timestamp", "response_timestamps[]"};

std::optional<RequestTimes> analyzer_request(const ResultValues& values) {
  const auto responses = values.list("response_timestamps[]");
  const auto start_ns = values.number("timestamp");
  RequestTimes request;
  request.failed = responses.empty();
  if (!start_ns) return request;
  request.start_s = *start_ns / kNanosInSecond;
  if (responses.empty()) return request;
  request.first_token_s = responses.front() / kNanosInSecond;
  request.end_s = responses.back() / kNanosInSecond;
  return request;
}

LoadReading conclude_analyzer(const ResultScope& scope) {
  LoadReading reading;
  set_counts(reading, scope.files.rules, scope.requests.listed - scope.requests.failed,
             std::nullopt, std::nullopt);
  reading.failed_requests = static_cast<std::uint64_t>(scope.requests.failed);
  if (scope.requests.window) set_exact_window(reading, *scope.requests.window);
  add_settings(reading, scope.values, {"experiment.mode", "experiment.value"});
  reading.no_window = "no request in it has both times";
  reading.notes.emplace_back("Perf Analyzer writes texts, not numbers of tokens");
  return reading;
}

}  // namespace

const ResultFormat kGenaiPerfSummary = {.generator = "GenAI-Perf",
                                        .marks = kGenaiPerfMarks,
                                        .fields = kGenaiPerfFields,
                                        .conclude = conclude_genai_perf};

const ResultFormat kPerfAnalyzer = {.generator = "Perf Analyzer",
                                    .marks = kAnalyzerMarks,
                                    .benchmark = "experiments[]",
                                    .fields = kAnalyzerFields,
                                    .request = "experiments[].requests[]",
                                    .request_fields = kAnalyzerRequestFields,
                                    .request_of = analyzer_request,
                                    .conclude = conclude_analyzer};

}  // namespace aggregate_power
