// Generators that share no format with others, one after the other.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/text/written_time.h"
#include "core/load/benchmark.h"
#include "generators/generators.h"
#include "generators/requests_in_window.h"

namespace aggregate_power {
namespace {

// ---- Generators that state only when their whole session began and ended: Hugging Face's
// inference-benchmarker, llm-d's benchmark report, and lm-evaluation-harness.

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

// ---- guidellm's report, version 2 of its layout; one file holds a sweep.
// vllm-project/guidellm: src/guidellm/benchmark/schemas/report.py.

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

// ---- inference-perf: the summary of a run or a stage, and the requests one by one.
// kubernetes-sigs/inference-perf: inference_perf/reportgen/base.py.

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

// ---- llama.cpp's llama-bench -o json and -o jsonl: a file of tests, each with the second in which
// it was set up and the times of its repetitions. ggml-org/llama.cpp:
// tools/llama-bench/llama-bench.cpp.

namespace {

constexpr std::string_view kBenchMarks[] = {"[].n_prompt", "[].n_gen", "[].test_time"};
constexpr std::string_view kBenchLineMarks[] = {"n_prompt", "n_gen", "test_time"};
constexpr std::string_view kBenchFields[] = {"n_prompt",  "n_gen",        "n_depth",
                                             "test_time", "samples_ns[]", "model_filename"};

LoadReading conclude_llama_bench(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading;
  const auto samples = values.list("samples_ns[]");
  const double total_ns = std::accumulate(samples.begin(), samples.end(), 0.0);
  const auto repetitions = static_cast<std::int64_t>(samples.size());
  const auto times_repetitions = [&](std::string_view field) -> std::optional<std::int64_t> {
    const auto count = values.count(field);
    return count ? whole_count(static_cast<double>(*count) * static_cast<double>(repetitions))
                 : std::nullopt;
  };
  if (std::isfinite(total_ns)) reading.work.reported_duration_s = total_ns / 1e9;
  set_counts(reading, scope.files.rules, repetitions, times_repetitions("n_prompt"),
             times_repetitions("n_gen"));
  if (const auto time = read_iso(values.text("test_time"))) {
    const double offset_s = static_cast<double>(time->offset_us.value_or(0)) / 1e6;
    reading.clues.start_stamp =
        WallStamp{static_cast<double>(time->clock_s) - offset_s, time->offset_us.has_value()};
  }
  reading.clues.may_pause = values.number("n_depth").value_or(0) > 0 && repetitions > 1;
  reading.no_window = "llama-bench writes only the second in which a test was set up ('test_time')";
  add_settings(reading, values, {"model_filename", "n_prompt", "n_gen", "n_depth"});
  return reading;
}

// Tests run one after the other.
void bound_tests(std::vector<LoadReading>& readings) {
  for (std::size_t i = 0; i + 1 < readings.size(); ++i) {
    const auto& next = readings[i + 1].clues.start_stamp;
    if (next && next->is_utc) {
      readings[i].clues.ends_before_s = next->wall_s + next->resolution_s;
    }
  }
}

}  // namespace

const ResultFormat kLlamaBench = {.generator = "llama-bench",
                                  .marks = kBenchMarks,
                                  .benchmark = "[]",
                                  .fields = kBenchFields,
                                  .conclude = conclude_llama_bench,
                                  .settle = bound_tests};

const ResultFormat kLlamaBenchLines = {.generator = "llama-bench",
                                       .marks = kBenchLineMarks,
                                       .texts = JsonTexts::several,
                                       .fields = kBenchFields,
                                       .conclude = conclude_llama_bench,
                                       .settle = bound_tests};

// ---- LLMPerf: the summary, and the individual responses. ray-project/llmperf:
// token_benchmark_ray.py.

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

// ---- The ML.ENERGY benchmark: results.json. ml-energy/benchmark:
// mlenergy/benchmark/llm/benchmark.py.

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

// ---- Files that lie beside results and are none.

namespace {

LoadReading no_result(const char* text) {
  LoadReading reading;
  reading.reasons.add(Reason::invalid_benchmark_result, text);
  return reading;
}

constexpr std::string_view kPytorchMarks[] = {"[].benchmark", "[].metric"};
constexpr std::string_view kGpuTelemetryMarks[] = {"timestamp_ns", "dcgm_url", "telemetry_data"};

}  // namespace

const ResultFormat kPytorchBenchmark = {
    .generator = "PyTorch's benchmark database",
    .marks = kPytorchMarks,
    .is_whole_file = true,
    .conclude = [](const ResultScope&) {
      return no_result(
          "it is a copy of the metrics for PyTorch's benchmark database (NAME.pytorch.json): give the result beside it");
    }};

const ResultFormat kAiperfTelemetry = {
    .generator = "AIPerf GPU telemetry",
    .marks = kGpuTelemetryMarks,
    .texts = JsonTexts::several,
    .is_whole_file = true,
    .conclude = [](const ResultScope&) {
      return no_result(
          "it is AIPerf's GPU telemetry, a recording: give profile_export_aiperf.json or profile_export.jsonl");
    }};

// ---- GenAI-Perf, and the file that Perf Analyzer writes beneath it.
// triton-inference-server/perf_analyzer: genai-perf/genai_perf/export_data/json_exporter.py,
// src/profile_data_exporter.cc.

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

// ---- Generators that write no times at all: genai-bench and torchbench's userbenchmark.

namespace {

// sgl-project/genai-bench: genai_bench/metrics/metrics.py
constexpr std::string_view kGenaiBenchMarks[] = {"aggregated_metrics.run_duration",
                                                 "aggregated_metrics.num_completed_requests"};
constexpr std::string_view kGenaiBenchFields[] = {"aggregated_metrics.run_duration",
                                                  "aggregated_metrics.num_completed_requests",
                                                  "aggregated_metrics.num_error_requests",
                                                  "aggregated_metrics.stats.num_input_tokens.sum",
                                                  "aggregated_metrics.stats.num_input_tokens.mean",
                                                  "aggregated_metrics.stats.num_output_tokens.sum",
                                                  "aggregated_metrics.stats.num_output_tokens.mean",
                                                  "aggregated_metrics.scenario",
                                                  "aggregated_metrics.num_concurrency"};

constexpr std::string_view kGenaiBenchRequestFields[] = {"num_input_tokens", "num_output_tokens",
                                                         "error_code"};

std::optional<RequestTimes> genai_bench_request(const ResultValues& values) {
  RequestTimes request;
  request.failed = values.has("error_code");
  request.input_tokens = values.count("num_input_tokens").value_or(-1);
  request.output_tokens = values.count("num_output_tokens").value_or(-1);
  return request;
}

// How many requests a sum of tokens contains: its warm-up and cool-down ratios leave requests out
// of the sums, and neither out of the duration nor out of the number of requests.
bool is_sum_of(const ResultValues& values, const std::string& stats, std::int64_t completed) {
  const auto sum = values.number(stats + ".sum");
  const auto mean = values.number(stats + ".mean");
  if (!sum || !mean || !(*mean > 0)) return true;
  constexpr double kNear = 0.5;
  return std::abs(*sum / *mean - static_cast<double>(completed)) < kNear;
}

void set_genai_bench_counts(const ResultScope& scope, LoadReading& reading) {
  const ResultValues& values = scope.values;
  const std::string input = "aggregated_metrics.stats.num_input_tokens";
  const std::string output = "aggregated_metrics.stats.num_output_tokens";
  const auto completed = values.count("aggregated_metrics.num_completed_requests");
  auto input_tokens = values.count(input + ".sum");
  auto output_tokens = values.count(output + ".sum");
  if (completed &&
      !(is_sum_of(values, input, *completed) && is_sum_of(values, output, *completed))) {
    const RequestTally& requests = scope.requests;
    const bool lists_all = requests.has_tokens && requests.listed - requests.failed == *completed;
    input_tokens = lists_all ? std::optional(requests.input_tokens) : std::nullopt;
    output_tokens = lists_all ? std::optional(requests.output_tokens) : std::nullopt;
    reading.notes.emplace_back(
        lists_all
            ? "genai-bench's sums leave out its warm-up or cool-down: the tokens are those of all requests that it lists"
            : "genai-bench's sums leave out its warm-up or cool-down, and it does not list all requests: there are no tokens");
  }
  set_counts(reading, scope.files.rules, completed, input_tokens, output_tokens);
}

LoadReading conclude_genai_bench(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading;
  reading.work.reported_duration_s = values.number("aggregated_metrics.run_duration").value_or(0);
  set_genai_bench_counts(scope, reading);
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
                                  .request = "individual_request_metrics[]",
                                  .request_fields = kGenaiBenchRequestFields,
                                  .request_of = genai_bench_request,
                                  .conclude = conclude_genai_bench};

const ResultFormat kTorchbench = {
    .generator = "torchbench", .marks = kTorchbenchMarks, .conclude = conclude_torchbench};

// ---- Results written as YAML are recognized, not read.

namespace {

// "key:" or "key: value" at the beginning of a line.
bool is_mapping_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == 0 || colon == line.npos) return false;
  const auto is_of_key = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  const bool ends_there = colon + 1 == line.size() || line[colon + 1] == ' ';
  return ends_there && std::ranges::all_of(line.substr(0, colon), is_of_key);
}

// Whether the text has this line.
bool has_line(std::string_view text, std::string_view line) {
  for (std::size_t at = text.find(line); at != text.npos; at = text.find(line, at + 1)) {
    const std::size_t end = at + line.size();
    const bool begins = at == 0 || text[at - 1] == '\n';
    if (begins && (end == text.size() || text[end] == '\n' || text[end] == '\r')) return true;
  }
  return false;
}

LoadReading of_yaml(const LoadFiles& files, std::string_view what) {
  LoadReading reading;
  reading.reasons.add(
      Reason::invalid_benchmark_result,
      fmt::format("{}: {}; write it as JSON, for example with 'yq -o=json'", files.name, what));
  return reading;
}

}  // namespace

double fits_yaml(const ResultHead& head) {
  std::string_view text = head.text;
  if (text.starts_with("---")) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  constexpr double kMoreThanAnyFile = 0.2;
  return is_mapping_line(text.substr(0, text.find('\n'))) ? kMoreThanAnyFile : 0;
}

std::vector<LoadReading> read_yaml(const LoadFiles& files) {
  return {of_yaml(files, "it is YAML")};
}

double fits_llmd_yaml(const ResultHead& head) {
  constexpr double kCertain = 0.9;
  const auto has = [&](std::string_view line) { return has_line(head.text, line); };
  return fits_yaml(head) > 0 && has("run:") && has("scenario:") && has("results:") ? kCertain : 0;
}

std::vector<LoadReading> read_llmd_yaml(const LoadFiles& files) {
  LoadReading reading = of_yaml(files, "it is a benchmark report of llm-d in YAML");
  reading.generator = "llm-d benchmark report";
  return {reading};
}

}  // namespace aggregate_power
