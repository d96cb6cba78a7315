// Results that state how long a load took, or not even that, and no times.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "generators/generators.h"

namespace aggregate_power {

// ---- vLLM's offline benchmarks. vllm-project/vllm: vllm/benchmarks/{throughput,latency}.py.

namespace {

LoadReading conclude_throughput(const ResultScope& scope) {
  LoadReading reading = stated_reading(scope);
  if (const auto tokens = scope.values.count("total_num_tokens")) {
    reading.notes.push_back(fmt::format(
        "vllm bench throughput counts tokens in and out together ({}): --input-tokens and --output-tokens state them",
        *tokens));
  }
  return reading;
}

// Its iterations follow one another; the warm-up is not listed.
LoadReading conclude_latency(const ResultScope& scope) {
  LoadReading reading = stated_reading(scope);
  const double total_s = summed(scope.values.list("latencies[]"));
  if (std::isfinite(total_s)) reading.work.reported_duration_s = total_s;
  return reading;
}

}  // namespace

const ResultFormat kVllmThroughput = {
    .generator = "vllm bench throughput",
    .marks = {"elapsed_time", "num_requests", "total_num_tokens", "tokens_per_second"},
    .counts = {.completed = "num_requests",
               .duration = "elapsed_time",
               .requests_per_s = "requests_per_second"},
    .fields = {"total_num_tokens"},
    .no_window = "vllm bench throughput writes no times",
    .conclude = conclude_throughput};

const ResultFormat kVllmLatency = {
    .generator = "vllm bench latency",
    .marks = {"avg_latency", "latencies", "percentiles"},
    .fields = {"latencies[]"},
    .no_window =
        "vllm bench latency writes no times, and its batch and lengths are only in its command",
    .conclude = conclude_latency};

// ---- SGLang's offline benchmarks, a line for each run. sgl-project/sglang:
// python/sglang/benchmark/{offline_throughput,one_batch_server}.py, bench_one_batch.py.

namespace {

const Keys kOneBatchFields = {"input_len", "output_len", "num_early_stopped", "total_output_tokens",
                              "cache_hit_rate"};
const Keys kOneBatchSettings = {"run_name", "batch_size", "input_len", "output_len"};

// All requests of a batch have the same lengths, unless some stopped early.
LoadReading conclude_one_batch(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading = stated_reading(scope);
  const auto batch = values.count("batch_size");
  const auto of_all = [&](std::string_view length) -> std::optional<std::int64_t> {
    const auto each = values.count(length);
    return batch && each ? whole_count(static_cast<double>(*batch) * static_cast<double>(*each))
                         : std::nullopt;
  };
  auto output = values.count("total_output_tokens");
  if (!output && values.count("num_early_stopped").value_or(0) == 0) output = of_all("output_len");
  reading.reasons = {};
  set_counts(reading, scope.files.rules, batch, of_all("input_len"), output);
  if (const double rate = values.number("cache_hit_rate").value_or(0); rate > 0) {
    reading.notes.push_back(fmt::format(
        "{:.0f} % of the prompts' tokens were in SGLang's cache, and all are counted", rate * 100));
  }
  return reading;
}

constexpr std::string_view kNoTimesOfSglang = "SGLang writes no times";

}  // namespace

const ResultFormat kSglangOffline = {
    .generator = "SGLang offline",
    .marks = {"successful_requests", "last_gen_throughput", "total_latency"},
    .texts = JsonTexts::several,
    .counts = {.completed = "successful_requests",
               .input_tokens = "total_input_tokens",
               .output_tokens = "total_output_tokens",
               .duration = "total_latency",
               .requests_per_s = "request_throughput",
               .input_per_s = "input_throughput",
               .output_per_s = "output_throughput",
               .tokens_per_s = "total_throughput"},
    .settings = {"backend"},
    .no_window = kNoTimesOfSglang};

const ResultFormat kSglangOneBatch = {
    .generator = "SGLang one batch",
    .marks = {"run_name", "batch_size", "prefill_latency", "median_decode_latency"},
    .texts = JsonTexts::several,
    .counts = {.completed = "batch_size", .duration = "total_latency"},
    .settings = kOneBatchSettings,
    .fields = kOneBatchFields,
    .no_window = kNoTimesOfSglang,
    .conclude = conclude_one_batch};

const ResultFormat kSglangOneBatchServer = {
    .generator = "SGLang one batch server",
    .marks = {"run_name", "batch_size", "latency", "overall_throughput"},
    .texts = JsonTexts::several,
    .counts = {.completed = "batch_size", .duration = "latency"},
    .settings = kOneBatchSettings,
    .fields = kOneBatchFields,
    .no_window = kNoTimesOfSglang,
    .conclude = conclude_one_batch};

// ---- evalscope perf: benchmark_summary.json, since 1.7 and before. modelscope/evalscope:
// evalscope/perf/utils/{perf_constants,perf_models}.py.

namespace {

constexpr std::string_view kNoTimesOfEvalscope =
    "evalscope writes no times into its summary; benchmark_data.db, as sqlite3 -json writes it, has those of the requests";

}  // namespace

const ResultFormat kEvalscope = {.generator = "evalscope",
                                 .marks = {"Test Duration (s)", "Success Requests"},
                                 .counts = {.completed = "Success Requests",
                                            .failed = "Failed Requests",
                                            .sent = "Total Requests",
                                            .mean_input = "Avg Input Tokens",
                                            .mean_output = "Avg Output Tokens",
                                            .duration = "Test Duration (s)"},
                                 .settings = {"Concurrency", "Request Rate (req/s)"},
                                 .no_window = kNoTimesOfEvalscope};

const ResultFormat kEvalscope2025 = {.generator = "evalscope",
                                     .marks = {"Time taken for tests (s)", "Succeed requests"},
                                     .counts = {.completed = "Succeed requests",
                                                .failed = "Failed requests",
                                                .sent = "Total requests",
                                                .mean_input = "Average input tokens per request",
                                                .mean_output = "Average output tokens per request",
                                                .duration = "Time taken for tests (s)"},
                                     .settings = {"Number of concurrency"},
                                     .no_window = kNoTimesOfEvalscope};

// ---- LMDeploy: the rows of its CSVs. InternLM/lmdeploy:
// benchmark/{profile_restful_api,profile_throughput}.py; before 2025 a row of rates.

namespace {

LoadReading conclude_batches(const ResultScope& scope) {
  LoadReading reading = stated_reading(scope);
  const double duration_s = reading.work.reported_duration_s;
  const double out_per_s = scope.values.number("throughput(out tok/s)").value_or(0);
  const double all_per_s = scope.values.number("throughput(total tok/s)").value_or(0);
  reading.reasons = {};
  reading.has_approximate_counts = true;
  set_counts(reading, scope.files.rules, scope.values.count(scope.format.counts.completed),
             whole_count((all_per_s - out_per_s) * duration_s),
             whole_count(out_per_s * duration_s));
  return reading;
}

constexpr std::string_view kNoTimesOfLmdeploy = "LMDeploy writes no times";

}  // namespace

const ResultFormat kLmdeploy = {.generator = "LMDeploy",
                                .marks = {"row.backend", "row.completed", "row.duration"},
                                .texts = JsonTexts::several,
                                .benchmark = "row",
                                .counts = {.completed = "completed",
                                           .input_tokens = "total_input_tokens",
                                           .output_tokens = "total_output_tokens",
                                           .duration = "duration",
                                           .requests_per_s = "request_throughput",
                                           .input_per_s = "input_throughput",
                                           .output_per_s = "output_throughput"},
                                .settings = {"dataset_name", "request_rate", "bs"},
                                .no_window = kNoTimesOfLmdeploy};

const ResultFormat kLmdeployBatches = {
    .generator = "LMDeploy",
    .marks = {"row.num_promts", "row.RPM"},
    .texts = JsonTexts::several,
    .benchmark = "row",
    .counts = {.completed = "num_promts", .rate = "RPM", .rate_unit_s = 60},
    .settings = {"batch"},
    .fields = {"throughput(out tok/s)", "throughput(total tok/s)"},
    .no_window = kNoTimesOfLmdeploy,
    .conclude = conclude_batches};

// ---- Summaries without times, of generators whose requests may have them: GenAI-Perf and
// inference-perf. triton-inference-server/perf_analyzer:
// genai-perf/genai_perf/export_data/json_exporter.py; kubernetes-sigs/inference-perf:
// inference_perf/reportgen/base.py.

namespace {

// Its fields are the goodput alone. GenAI-Perf writes -1 for limits that it does not know.
LoadReading conclude_with_goodput(const ResultScope& scope) {
  LoadReading reading = stated_reading(scope);
  const auto goodput_per_s = scope.values.number(scope.format.fields.front());
  if (goodput_per_s && *goodput_per_s >= 0) reading.stated_goodput_per_s = goodput_per_s;
  return reading;
}

}  // namespace

const ResultFormat kGenaiPerfSummary = {
    .generator = "GenAI-Perf",
    .marks = {"input_config", "request_latency.unit"},
    .counts = {.completed = "request_count.avg",
               .mean_input = "input_sequence_length.avg",
               .mean_output = "output_sequence_length.avg",
               .rate = "request_throughput.avg"},
    .fields = {"request_goodput.avg"},
    .no_window =
        "GenAI-Perf writes no times here; profile_export.json, which Perf Analyzer writes beside it, has them",
    .conclude = conclude_with_goodput};

const ResultFormat kInferencePerf = {
    .generator = "inference-perf",
    .marks = {"load_summary", "successes.throughput"},
    .counts = {.completed = "successes.count",
               .failed = "failures.count",
               .sent = "load_summary.count",
               .input_tokens = "successes.prompt_tokens.total",
               .output_tokens = "successes.output_tokens.total",
               .mean_input = "successes.prompt_len.mean",
               .mean_output = "successes.output_len.mean",
               .rate = "successes.throughput.requests_per_sec"},
    .fields = {"successes.goodput_metrics.request_goodput"},
    .no_window =
        "inference-perf writes no times into its summaries; per_request_lifecycle_metrics.json has those of the machine's monotonic clock",
    .conclude = conclude_with_goodput};

// ---- llm-d's benchmark report 0.1, which calls vLLM's 'date' the start, and that is the end.
// llm-d/llm-d-benchmark: llmdbenchmark/analysis/benchmark_report/native_to_br0_1.py.

const ResultFormat kLlmdReport01 = {
    .generator = "llm-d benchmark report",
    .marks = {"version", "metrics.time.duration", "metrics.requests.total", "scenario"},
    .counts = {.failed = "metrics.requests.failures",
               .sent = "metrics.requests.total",
               .mean_input = "metrics.requests.input_length.mean",
               .mean_output = "metrics.requests.output_length.mean",
               .duration = "metrics.time.duration"},
    .no_window = "what llm-d's report 0.1 calls the start may be the end"};

// ---- genai-bench (sgl-project/genai-bench: genai_bench/metrics/metrics.py), torchbench's
// userbenchmark, and optimum-benchmark.

namespace {

constexpr std::string_view kErrorCodes = "aggregated_metrics.error_codes_frequency.*";

// Older results state none: seconds.
double genai_bench_unit_s(const std::string& unit) {
  return unit.empty() || unit == "s" ? 1 : unit == "ms" ? 1e-3 : 0;
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

LoadReading conclude_genai_bench(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  const CountPaths& paths = scope.format.counts;
  LoadReading reading = stated_reading(scope);
  reading.latency_unit_s = genai_bench_unit_s(values.text("_time_unit"));
  reading.failed_requests =
      std::max(reading.failed_requests, static_cast<std::uint64_t>(values.sum(kErrorCodes)));
  const auto completed = values.count(paths.completed);
  const bool is_of_all =
      !completed || (is_sum_of(values, "aggregated_metrics.stats.num_input_tokens", *completed) &&
                     is_sum_of(values, "aggregated_metrics.stats.num_output_tokens", *completed));
  if (is_of_all) return reading;
  const RequestTally& requests = scope.requests;
  const bool lists_all = requests.has_tokens && requests.listed - requests.failed == *completed;
  reading.reasons = {};
  set_counts(reading, scope.files.rules, completed,
             lists_all ? std::optional(requests.input_tokens) : std::nullopt,
             lists_all ? std::optional(requests.output_tokens) : std::nullopt);
  reading.notes.emplace_back(
      lists_all
          ? "genai-bench's sums leave out its warm-up or cool-down: the tokens are those of all requests that it lists"
          : "genai-bench's sums leave out its warm-up or cool-down, and it does not list all requests: there are no tokens");
  return reading;
}

}  // namespace

const ResultFormat kGenaiBench = {
    .generator = "genai-bench",
    .marks = {"aggregated_metrics.run_duration", "aggregated_metrics.num_completed_requests"},
    .counts = {.completed = "aggregated_metrics.num_completed_requests",
               .failed = "aggregated_metrics.num_error_requests",
               .sent = "aggregated_metrics.num_requests",
               .input_tokens = "aggregated_metrics.stats.num_input_tokens.sum",
               .output_tokens = "aggregated_metrics.stats.num_output_tokens.sum",
               .duration = "aggregated_metrics.run_duration"},
    .settings = {"aggregated_metrics.scenario", "aggregated_metrics.num_concurrency"},
    .fields = {"aggregated_metrics.stats.num_input_tokens.mean",
               "aggregated_metrics.stats.num_output_tokens.mean", kErrorCodes, "_time_unit"},
    .request = "individual_request_metrics[]",
    .request_paths = {.ttft = "ttft",
                      .e2e = "e2e_latency",
                      .input_tokens = "num_input_tokens",
                      .output_tokens = "num_output_tokens",
                      .error = "error_code"},
    .no_window = "genai-bench writes no times",
    .conclude = conclude_genai_bench};

// pytorch/benchmark: userbenchmark/utils.py
const ResultFormat kTorchbench = {.generator = "torchbench",
                                  .marks = {"name", "environ.pytorch_git_version", "metrics"},
                                  .no_window = "torchbench writes no times into its result"};

// huggingface/optimum-benchmark: optimum_benchmark/benchmark/report.py. Its energy is CodeCarbon's,
// of other passes than its latencies and of the whole machine.
const ResultFormat kOptimumBenchmark = {
    .generator = "optimum-benchmark",
    .marks = {"report.decode.latency", "report.decode.efficiency"},
    .other_marks = {"decode.latency", "decode.efficiency"},
    .no_window =
        "optimum-benchmark writes no times, and measures latency and energy in passes of their own"};

// ---- Files found next to results that are not results.

const ResultFormat kPytorchBenchmark = {
    .generator = "PyTorch's benchmark database",
    .marks = {"[].benchmark", "[].metric"},
    .is_whole_file = true,
    .not_result =
        "it is a copy of the metrics for PyTorch's benchmark database (NAME.pytorch.json): give the result beside it"};

const ResultFormat kAiperfTelemetry = {
    .generator = "AIPerf GPU telemetry",
    .marks = {"timestamp_ns", "dcgm_url", "telemetry_data"},
    .texts = JsonTexts::several,
    .is_whole_file = true,
    .not_result =
        "it is AIPerf's GPU telemetry, a recording: give profile_export_aiperf.json or profile_export.jsonl"};

}  // namespace aggregate_power
