// Generators that state only when their whole session began and ended: Hugging Face's
// inference-benchmarker, llm-d's benchmark report, and lm-evaluation-harness.
#include <numeric>

#include "base/text/written_time.h"
#include "generators/formats.h"
#include "generators/vllm_like.h"

namespace aggregate_power {
namespace {

// An ISO 8601 time with an offset.
std::optional<double> instant_of(const std::string& text) {
  std::string iso = text;
  if (iso.ends_with('Z')) iso.replace(iso.size() - 1, 1, "+00:00");
  const auto time = read_iso(iso);
  if (!time || !time->offset_us) return std::nullopt;
  return static_cast<double>(time->clock_s) +
         static_cast<double>(time->micros - *time->offset_us) / 1e6;
}

void set_session(LoadReading& reading, std::optional<double> start, std::optional<double> end) {
  if (start && end && *end > *start) reading.clues.session = Window{*start, *end};
}

// ---- huggingface/inference-benchmarker: src/writers.rs

constexpr std::string_view kBenchmarkerMarks[] = {"config.max_vus", "results[].executor_type"};
constexpr std::string_view kBenchmarkerFields[] = {"start_time",
                                                   "end_time",
                                                   "results[].successful_requests",
                                                   "results[].failed_requests",
                                                   "results[].total_tokens_sent",
                                                   "results[].total_tokens",
                                                   "results[].duration_ms"};

LoadReading conclude_benchmarker(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading;
  const auto sum = [&](std::string_view list) {
    const auto numbers = values.list(list);
    return whole_count(std::accumulate(numbers.begin(), numbers.end(), 0.0));
  };
  set_counts(reading, scope.files.rules, sum("results[].successful_requests"),
             sum("results[].total_tokens_sent"), sum("results[].total_tokens"));
  reading.failed_requests =
      static_cast<std::uint64_t>(sum("results[].failed_requests").value_or(0));
  set_session(reading, instant_of(values.text("start_time")), instant_of(values.text("end_time")));
  reading.no_window =
      "inference-benchmarker writes when its whole session began and ended, with the warm-up, and no times of its phases";
  reading.notes.emplace_back("the counts are those of all phases, as the session is");
  return reading;
}

// ---- llm-d/llm-d-benchmark: llmdbenchmark/analysis/benchmark_report/schema_v0_2.py

constexpr std::string_view kLlmdMarks[] = {"version", "run.uid", "scenario.stack"};
constexpr std::string_view kLlmdFields[] = {
    "run.time.start",
    "run.time.end",
    "run.time.duration",
    "results.request_performance.aggregate.requests.total",
    "results.request_performance.aggregate.requests.failures",
    "results.request_performance.aggregate.requests.input_length.mean",
    "results.request_performance.aggregate.requests.output_length.mean"};

LoadReading conclude_llmd(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  const std::string base = "results.request_performance.aggregate.requests.";
  LoadReading reading;
  auto requests = values.count(base + "total");
  const auto failed = values.count(base + "failures").value_or(0);
  if (requests) requests = std::max<std::int64_t>(*requests - failed, 0);
  set_counts(reading, scope.files.rules, requests,
             mean_times(reading, values.number(base + "input_length.mean"), requests),
             mean_times(reading, values.number(base + "output_length.mean"), requests));
  reading.failed_requests = static_cast<std::uint64_t>(failed);
  const std::string duration = values.text("run.time.duration");  // "PT59.8S"
  if (duration.starts_with("PT") && duration.ends_with('S')) {
    const double seconds =
        number_of(JsonKind::real, std::string_view(duration).substr(2, duration.size() - 3));
    if (seconds > 0) reading.work.reported_duration_s = seconds;
  }
  set_session(reading, instant_of(values.text("run.time.start")),
              instant_of(values.text("run.time.end")));
  reading.no_window = "a llm-d report states when the harness began and ended, with its set-up";
  return reading;
}

// ---- EleutherAI/lm-evaluation-harness: lm_eval/loggers/evaluation_tracker.py

constexpr std::string_view kLmEvalMarks[] = {"results", "n-samples"};
constexpr std::string_view kLmEvalFields[] = {"date", "lm_eval_version",
                                              "total_evaluation_time_seconds"};

LoadReading conclude_lm_eval(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading;
  const auto start = values.number("date");
  const auto duration = values.number("total_evaluation_time_seconds");
  set_counts(reading, scope.files.rules, std::nullopt, std::nullopt, std::nullopt);
  if (duration) reading.work.reported_duration_s = *duration;
  if (start && duration) set_session(reading, start, *start + *duration);
  reading.no_window =
      "lm-evaluation-harness writes when its whole evaluation began and ended, with the loading of the model";
  return reading;
}

}  // namespace

const ResultFormat kInferenceBenchmarker = {.generator = "inference-benchmarker",
                                            .marks = kBenchmarkerMarks,
                                            .fields = kBenchmarkerFields,
                                            .conclude = conclude_benchmarker};

const ResultFormat kLlmdReport = {.generator = "llm-d benchmark report",
                                  .marks = kLlmdMarks,
                                  .fields = kLlmdFields,
                                  .conclude = conclude_llmd};

const ResultFormat kLmEval = {.generator = "lm-evaluation-harness",
                              .marks = kLmEvalMarks,
                              .fields = kLmEvalFields,
                              .conclude = conclude_lm_eval};

}  // namespace aggregate_power
