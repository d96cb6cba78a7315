// Results that state times, of generators that share no format with others.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/text/written_time.h"
#include "core/load/benchmark.h"
#include "generators/generators.h"
#include "generators/request_file.h"

namespace aggregate_power {
namespace {

// ---- Generators that state only when their whole session began and ended: Hugging Face's
// inference-benchmarker, llm-d's benchmark report, and lm-evaluation-harness.

void set_session(LoadReading& reading, std::optional<double> start, std::optional<double> end) {
  if (start && end && *end > *start) reading.clues.session = Window{*start, *end};
}

// ---- huggingface/inference-benchmarker: src/writers.rs

LoadReading conclude_benchmarker(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading;
  reading.no_window = scope.format.no_window;
  const std::int64_t completed = values.sum("results[].successful_requests");
  set_counts(reading, scope.files.rules, completed, values.sum("results[].total_tokens_sent"),
             values.sum("results[].total_tokens"));
  reading.failed_requests = static_cast<std::uint64_t>(std::max(
      values.sum("results[].failed_requests"), values.sum("results[].total_requests") - completed));
  set_session(reading, instant_of(values.text("start_time")), instant_of(values.text("end_time")));
  const std::span<const double> phases_ms = values.list("results[].duration_ms");
  reading.work.reported_duration_s = std::accumulate(phases_ms.begin(), phases_ms.end(), 0.0) / 1e3;
  reading.clues.may_pause = phases_ms.size() > 1;
  reading.notes.emplace_back("the counts are those of all phases, as the session is");
  return reading;
}

// ---- llm-d/llm-d-benchmark: llmdbenchmark/analysis/benchmark_report/schema_v0_2.py

// "PT59.8S", "PT1H2M3.5S": ISO 8601; 0 if it is anything else.
double iso_duration_s(std::string_view text) {
  double seconds = 0;
  if (!text.starts_with('P')) return 0;
  text.remove_prefix(1);
  for (bool is_time = false; !text.empty();) {
    if (text.front() == 'T') {
      is_time = true;
      text.remove_prefix(1);
      continue;
    }
    const std::size_t unit = text.find_first_not_of("0123456789.");
    if (unit == 0 || unit == text.npos) return 0;
    const double number = number_of(JsonKind::string, text.substr(0, unit));
    const char name = text[unit];
    const double unit_s = !is_time && name == 'D'  ? 86400
                          : is_time && name == 'H' ? 3600
                          : is_time && name == 'M' ? 60
                          : is_time && name == 'S' ? 1
                                                   : std::nan("");
    seconds += number * unit_s;
    text.remove_prefix(unit + 1);
  }
  return std::isfinite(seconds) ? seconds : 0;
}

// From a harness, start and end are the harness's; from guidellm, the measured part's; from
// vLLM there is only an end, which is vLLM's `date`: local time, whatever offset it was given.
LoadReading conclude_llmd(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading = stated_reading(scope);
  reading.work.reported_duration_s = iso_duration_s(values.text("run.time.duration"));
  const auto start = instant_of(values.text("run.time.start"));
  const auto end = instant_of(values.text("run.time.end"));
  const bool is_guidellm = values.text("scenario.load.standardized.tool") == "guidellm";
  const double stated_s = reading.work.reported_duration_s;
  if (start && end && is_guidellm &&
      std::abs(*end - *start - stated_s) <= most_difference_s({*start, *end})) {
    set_exact_window(reading, {*start, *end});
  } else if (start) {
    set_session(reading, start, end);
  } else if (const auto stamp = read_iso(values.text("run.time.end"))) {
    reading.clues.end_stamp = WallStamp{static_cast<double>(stamp->clock_s)};
  }
  return reading;
}

// ---- EleutherAI/lm-evaluation-harness: lm_eval/loggers/evaluation_tracker.py

LoadReading conclude_lm_eval(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading = stated_reading(scope);
  const auto start = values.number("date");
  const auto duration = values.number("total_evaluation_time_seconds");
  if (start && duration) set_session(reading, start, *start + *duration);
  return reading;
}

}  // namespace

const ResultFormat kInferenceBenchmarker = {
    .generator = "inference-benchmarker",
    .marks = {"config.max_vus", "results[].executor_type"},
    .fields = {"start_time", "end_time", "results[].successful_requests",
               "results[].failed_requests", "results[].total_requests",
               "results[].total_tokens_sent", "results[].total_tokens", "results[].duration_ms"},
    .no_window =
        "inference-benchmarker writes when its whole session began and ended, with the warm-up, and no times of its phases",
    .conclude = conclude_benchmarker};

const ResultFormat kLlmdReport = {
    .generator = "llm-d benchmark report",
    .marks = {"version", "run.uid", "scenario.stack"},
    .other_marks = {"version", "run.uid", "results.request_performance.aggregate.requests.total"},
    .counts = {.failed = "results.request_performance.aggregate.requests.failures",
               .sent = "results.request_performance.aggregate.requests.total",
               .mean_input = "results.request_performance.aggregate.requests.input_length.mean",
               .mean_output = "results.request_performance.aggregate.requests.output_length.mean"},
    .fields = {"run.time.start", "run.time.end", "run.time.duration",
               "scenario.load.standardized.tool"},
    .no_window = "a llm-d report states when the harness began and ended, with its set-up",
    .conclude = conclude_llmd};

const ResultFormat kLmEval = {
    .generator = "lm-evaluation-harness",
    .marks = {"results", "n-samples"},
    .counts = {.duration = "total_evaluation_time_seconds"},
    .fields = {"date"},
    .no_window =
        "lm-evaluation-harness writes when its whole evaluation began and ended, with the loading of the model",
    .conclude = conclude_lm_eval};

// ---- guidellm's report, version 2 of its layout; one file holds a sweep.
// vllm-project/guidellm: src/guidellm/benchmark/schemas/report.py.

namespace {

// A load of a fixed time cuts off the requests that are under way at its end.
std::int64_t cut_off_at(double end_s, const ResultValues& values) {
  constexpr double kNear_s = 1;
  return std::ranges::count_if(
      values.list("requests.incomplete[].request_end_time"),
      [&](double request_end_s) { return request_end_s > end_s - kNear_s; });
}

// How long requests ran outside the measured part: the sums contain those that overlap it, whole.
double warm_up_s(const ResultValues& values, Window measured) {
  const auto beyond_s = [&](std::string_view stated, double by_times_s) {
    return std::max(values.number(stated).value_or(0), by_times_s);
  };
  const double first_s =
      values.number("scheduler_metrics.request_start_time").value_or(measured.start_unix_s);
  const double last_s =
      values.number("scheduler_metrics.request_end_time").value_or(measured.end_unix_s);
  return beyond_s("warmup_duration", measured.start_unix_s - first_s) +
         beyond_s("cooldown_duration", last_s - measured.end_unix_s);
}

// The totals count requests twice that the list has twice.
bool counts_repeated(const RequestTally& requests, std::optional<std::int64_t> successful) {
  return requests.repeated > 0 && successful == requests.listed + requests.repeated;
}

LoadReading conclude_guidellm(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading;
  const auto successful = values.count("metrics.request_totals.successful");
  if (counts_repeated(scope.requests, successful)) {
    set_counts(reading, scope.files.rules, scope.requests);
  } else {
    set_counts(reading, scope.files.rules, successful,
               values.count("metrics.prompt_token_count.successful.total_sum"),
               values.count("metrics.output_token_count.successful.total_sum"));
  }
  const auto errored = values.count("metrics.request_totals.errored").value_or(0);
  const auto incomplete = values.count("metrics.request_totals.incomplete").value_or(0);
  const auto lost =
      values.count("metrics.request_totals.total").value_or(0) - successful.value_or(0);
  reading.failed_requests = static_cast<std::uint64_t>(std::max(errored + incomplete, lost));
  reading.work.reported_duration_s = values.number("duration").value_or(0);
  const auto start = values.number("start_time");
  const auto end = values.number("end_time");
  if (start && end) {
    set_exact_window(reading, {*start, *end});
    reading.cut_off_requests =
        static_cast<std::uint64_t>(std::min(cut_off_at(*end, values), incomplete));
    cut_counts(reading, scope.requests, warm_up_s(values, {*start, *end}));
  }
  reading.no_window = scope.format.no_window;
  add_settings(reading, values, scope.format.settings);
  return reading;
}

}  // namespace

const ResultFormat kGuidellm = {
    .generator = "guidellm",
    .marks = {"metadata.guidellm_version", "benchmarks"},
    .benchmark = "benchmarks[]",
    .settings = {"config.strategy.type_", "config.strategy.rate", "config.strategy.streams"},
    .fields = {"start_time", "end_time", "duration", "metrics.request_totals.successful",
               "metrics.request_totals.errored", "metrics.request_totals.incomplete",
               "metrics.request_totals.total", "metrics.prompt_token_count.successful.total_sum",
               "metrics.output_token_count.successful.total_sum",
               "scheduler_metrics.request_start_time", "scheduler_metrics.request_end_time",
               "warmup_duration", "cooldown_duration", "requests.incomplete[].request_end_time"},
    .request = "benchmarks[].requests.successful[]",
    .request_paths = {.start = "request_start_time",
                      .end = "request_end_time",
                      .ttft = "time_to_first_token_ms",
                      .ttft_units = 1e3,
                      .input_tokens = "prompt_tokens",
                      .output_tokens = "output_tokens",
                      .id = "request_id"},
    .no_window = "'start_time' or 'end_time' of the benchmark is missing",
    .conclude = conclude_guidellm};

// ---- inference-perf's requests, one by one. kubernetes-sigs/inference-perf:
// inference_perf/reportgen/base.py.

namespace {

constexpr std::string_view kTokenTimes[] = {"info.output_token_times[]",
                                            "info.response_metrics.output_token_times[]"};

std::optional<RequestTimes> lifecycle_request(const ResultValues& values, RequestTimes request) {
  const auto use_newer = [&](std::int64_t& tokens, std::string_view path) {
    if (tokens < 0) tokens = values.count(path).value_or(-1);
  };
  use_newer(request.input_tokens, "info.request_metrics.text.input_tokens");
  use_newer(request.output_tokens, "info.response_metrics.output_tokens");
  for (const std::string_view path : kTokenTimes) {  // empty without streaming
    const auto times = values.list(path);
    if (!times.empty()) request.first_token_s = times.front();
  }
  return request;
}

}  // namespace

const ResultFormat kInferencePerfRequests = {
    .generator = "inference-perf requests",
    .marks = {"[].start_time", "[].end_time", "[].info"},
    .is_whole_file = true,
    .request = "[]",
    .request_paths = {.start = "start_time",
                      .end = "end_time",
                      .input_tokens = "info.input_tokens",
                      .output_tokens = "info.output_tokens",
                      .error = "error"},
    .request_fields = {"info.request_metrics.text.input_tokens",
                       "info.response_metrics.output_tokens", kTokenTimes[0], kTokenTimes[1]},
    .request_of = lifecycle_request,
    .clock = RequestClock::monotonic,
    .no_window = "inference-perf writes the requests' times by the machine's monotonic clock only"};

// ---- evalscope perf's requests, as SQLite writes them out of its benchmark_data.db.
// modelscope/evalscope: evalscope/perf/utils/db_util.py.

namespace {

std::optional<RequestTimes> database_request(const ResultValues& values, RequestTimes request) {
  request.failed = values.count("success") == 0 || values.text("success") == "false";
  return request;
}

}  // namespace

const ResultFormat kEvalscopeRequests = {
    .generator = "evalscope requests",
    .marks = {"[].start_time", "[].completed_time", "[].prompt_tokens", "[].completion_tokens"},
    .is_whole_file = true,
    .request = "[]",
    .request_paths = {.start = "start_time",
                      .end = "completed_time",
                      .ttft = "first_chunk_latency",
                      .input_tokens = "prompt_tokens",
                      .output_tokens = "completion_tokens"},
    .request_fields = {"success"},
    .request_of = database_request,
    .clock = RequestClock::monotonic,
    .no_window = "evalscope writes the requests' times by the machine's monotonic clock only"};

// ---- Ollama's answers to /api/generate and /api/chat, a line for each token or one object.
// ollama/ollama: api/types.go, server/routes.go.

namespace {

constexpr double kMostLoading = 0.02;  // of the window

// Only the last line of an answer has numbers. Counts of 0 are left out, and the count of a prompt
// that was in the cache.
std::optional<RequestTimes> ollama_request(const ResultValues& values, RequestTimes request) {
  const auto total_ns = values.number("total_duration");
  const bool is_answer =
      values.text("done") == "true" && (total_ns || values.text("done_reason") == "stop");
  if (!request.failed && !is_answer) return std::nullopt;
  const auto end_s = instant_of(values.text("created_at"));
  if (!end_s || !total_ns) return request;
  request.end_s = *end_s;
  request.start_s = *end_s - *total_ns / kNanosInSecond;
  request.first_token_s = *end_s - values.number("eval_duration").value_or(0) / kNanosInSecond;
  request.input_tokens = values.count("prompt_eval_count").value_or(-1);
  request.output_tokens = values.count("eval_count").value_or(0);
  return request;
}

LoadReading conclude_ollama(const ResultScope& scope) {
  LoadReading reading = stated_reading(scope);
  const RequestTally& requests = scope.requests;
  const auto completed = requests.listed - requests.failed;
  const auto cached = std::ranges::count(requests.spans, 0, &RequestSpan::input_tokens);
  if (cached > 0 && std::ssize(requests.spans) == completed) {  // the output is known of each
    reading.reasons = {};
    set_counts(reading, scope.files.rules, completed, std::nullopt, requests.output_tokens);
    set_exact_window(reading, *requests.window);
    reading.notes.push_back(fmt::format(
        "{} of {} prompts were in Ollama's cache, which has no count of their tokens: there are no joules per input token",
        cached, requests.listed));
  }
  const double window_s = requests.window ? requests.window->duration_s() : 0;
  const double loading_s = scope.greatest / kNanosInSecond;
  if (loading_s > kMostLoading * window_s) {
    reading.notes.push_back(fmt::format(
        "a request waited {:.1f} s of the {:.1f} s for the model to load ({:.0f} %), which the energy includes: ask once before the load",
        loading_s, window_s, 100 * loading_s / window_s));
  }
  return reading;
}

}  // namespace

const ResultFormat kOllama = {
    .generator = "Ollama",
    .marks = {"model", "created_at", "done"},
    .texts = JsonTexts::several,
    .is_whole_file = true,
    .request = "",
    .request_paths = {.error = "error"},
    .request_fields = {"created_at", "done", "done_reason", "total_duration", "prompt_eval_count",
                       "eval_count", "eval_duration", "model", "load_duration"},
    .request_of = ollama_request,
    .clock = RequestClock::unix,
    .greatest_of = "load_duration",
    .no_window =
        "no line has 'done' true with 'created_at' and 'total_duration': the answer broke off",
    .conclude = conclude_ollama};

// ---- llama.cpp's llama-bench -o json and -o jsonl: a file of tests, each with the second in which
// it was set up and the times of its repetitions. ggml-org/llama.cpp:
// tools/llama-bench/llama-bench.cpp.

namespace {

const Keys kBenchSettings = {"model_filename", "n_prompt", "n_gen", "n_depth"};
const Keys kBenchFields = {"n_prompt",  "n_gen",        "n_depth",
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
  add_settings(reading, values, scope.format.settings);
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
                                  .marks = {"[].n_prompt", "[].n_gen", "[].test_time"},
                                  .benchmark = "[]",
                                  .settings = kBenchSettings,
                                  .fields = kBenchFields,
                                  .conclude = conclude_llama_bench,
                                  .settle = bound_tests};

const ResultFormat kLlamaBenchLines = {.generator = "llama-bench",
                                       .marks = {"n_prompt", "n_gen", "test_time"},
                                       .texts = JsonTexts::several,
                                       .settings = kBenchSettings,
                                       .fields = kBenchFields,
                                       .conclude = conclude_llama_bench,
                                       .settle = bound_tests};

// ---- LLMPerf: the summary, and the individual responses. ray-project/llmperf:
// token_benchmark_ray.py.

namespace {

LoadReading conclude_llmperf(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading = stated_reading(scope);
  if (const auto written_s = values.number("timestamp")) {
    const bool is_whole = *written_s == std::floor(*written_s);
    reading.clues.end_stamp = WallStamp{*written_s, true, is_whole ? 1.0 : 0.001};
  }
  return reading;
}

std::optional<RequestTimes> llmperf_request(const ResultValues& values, RequestTimes request) {
  request.stated_ttft_s = values.number("ttft_s").value_or(RequestTimes::kUnknown);
  request.stated_e2e_s = values.number("end_to_end_latency_s").value_or(RequestTimes::kUnknown);
  return request;
}

}  // namespace

const ResultFormat kLlmperfSummary = {
    .generator = "LLMPerf",
    .marks = {"results_num_completed_requests", "results_num_requests_started"},
    .counts = {.completed = "results_num_completed_requests",
               .failed = "results_number_errors",
               .sent = "results_num_requests_started",
               .mean_input = "results_number_input_tokens_mean",
               .mean_output = "results_number_output_tokens_mean",
               .rate = "results_num_completed_requests_per_min",
               .rate_unit_s = 60},
    .settings = {"model", "num_concurrent_requests"},
    .fields = {"timestamp"},
    .no_window = "LLMPerf writes only the second in which it ended ('timestamp')",
    .conclude = conclude_llmperf};

const ResultFormat kLlmperfRequests = {
    .generator = "LLMPerf responses",
    .marks = {"[].end_to_end_latency_s", "[].number_output_tokens"},
    .is_whole_file = true,
    .request = "[]",
    .request_paths = {.input_tokens = "number_input_tokens",
                      .output_tokens = "number_output_tokens",
                      .error = "error_code"},
    .request_fields = {"ttft_s", "end_to_end_latency_s"},
    .request_of = llmperf_request,
    .no_window = "LLMPerf writes no times into its individual responses"};

// ---- The ML.ENERGY benchmark: results.json. ml-energy/benchmark:
// mlenergy/benchmark/llm/benchmark.py.

namespace {

// The results of diffusion models have images instead of tokens.
std::optional<RequestTimes> ml_energy_request(const ResultValues& values, RequestTimes request) {
  request.failed = values.text("success") == "false";
  return request;
}

// Its energy per token is by tokens that a tracker counted in the steady state, not by the totals.
void note_steady_state(const ResultValues& values, LoadReading& reading) {
  const auto start = values.number("timeline.steady_state_start_time");
  const auto end = values.number("timeline.steady_state_end_time");
  const auto energy_j = values.number("steady_state_energy");
  const auto per_token_j = values.number("steady_state_energy_per_token");
  if (!start || !end || !energy_j) return;
  reading.notes.push_back(fmt::format(
      "ML.ENERGY states {:.1f} J{} for its steady state of {:.3f} s, a part of this window: --start {} --end {} measures it",
      *energy_j, per_token_j ? fmt::format(", {:.4f} J per token,", *per_token_j) : "",
      *end - *start, *start, *end));
}

LoadReading conclude_ml_energy(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading = stated_reading(scope);
  const auto energies = values.list("entire_benchmark_measurement.gpu_energy.*");
  const double stated_j = std::accumulate(energies.begin(), energies.end(), 0.0);
  if (stated_j > 0) reading.stated_energy_j = stated_j;
  note_steady_state(values, reading);
  return reading;
}

}  // namespace

const ResultFormat kMlEnergy = {
    .generator = "ML.ENERGY",
    .marks = {"timeline.benchmark_start_time", "timeline.benchmark_end_time"},
    .is_sure = true,
    .counts = {.completed = "completed",
               .sent = "num_prompts",
               .input_tokens = "total_input_tokens",
               .output_tokens = "total_output_tokens",
               .duration = "duration"},
    .settings = {"model_id", "request_rate", "num_prompts", "max_num_seqs"},
    .start = "timeline.benchmark_start_time",
    .end = "timeline.benchmark_end_time",
    .fields = {"timeline.steady_state_start_time", "timeline.steady_state_end_time",
               "steady_state_energy", "steady_state_energy_per_token",
               "entire_benchmark_measurement.gpu_energy.*"},
    .request = "results[]",
    .request_paths = {.ttft = "ttft",
                      .e2e = "latency",
                      .input_tokens = "input_len",
                      .output_tokens = "output_len"},
    .request_fields = {"success"},
    .request_of = ml_energy_request,
    .no_window = "ML.ENERGY's 'benchmark_start_time' or 'benchmark_end_time' is missing",
    .conclude = conclude_ml_energy};

// ---- The requests of Perf Analyzer. triton-inference-server/perf_analyzer:
// src/profile_data_exporter.cc.

namespace {

std::optional<RequestTimes> analyzer_request(const ResultValues& values, RequestTimes request) {
  const auto responses = values.list("response_timestamps[]");
  request.failed = responses.empty();
  if (std::isnan(request.start_s) || responses.empty()) return request;
  request.first_token_s = responses.front() / kNanosInSecond;
  request.end_s = responses.back() / kNanosInSecond;
  return request;
}

LoadReading conclude_analyzer(const ResultScope& scope) {
  LoadReading reading = stated_reading(scope);
  reading.notes.emplace_back("Perf Analyzer writes texts, not numbers of tokens");
  return reading;
}

}  // namespace

const ResultFormat kPerfAnalyzer = {
    .generator = "Perf Analyzer",
    .marks = {"experiments[].requests[].timestamp"},
    .benchmark = "experiments[]",
    .settings = {"experiment.mode", "experiment.value"},
    .request = "experiments[].requests[]",
    .request_paths = {.start = "timestamp", .units = kNanosInSecond},
    .request_fields = {"response_timestamps[]"},
    .request_of = analyzer_request,
    .clock = RequestClock::unix,
    .no_window = "no request in it has both times",
    .conclude = conclude_analyzer};

}  // namespace aggregate_power
