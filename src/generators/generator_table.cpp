// The table of load generators.
#include "generators/generator_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/encoding.h"
#include "core/load/benchmark.h"
#include "core/telemetry/lines.h"
#include "generators/aiperf.h"
#include "generators/benchmark_choice.h"
#include "generators/request_file.h"

namespace aggregate_power {
namespace {

double fits_evalscope_database(const ResultHead& head) {
  return head.text.starts_with("SQLite format 3") && has_all(head.text, {"first_chunk_latency"});
}

// huggingface/text-generation-inference: benchmark/src/table.rs
double fits_tgi_tables(const ResultHead& head) {
  return has_all(head.text, {"| Step", "| Batch Size", "| Decode (token)"});
}

double fits_analyzer_table(const ResultHead& head) {
  return head.text.starts_with("Concurrency,Inferences/Second,Client Send");
}

constexpr LoadGenerator kLoadGenerators[] = {
    // It also takes files that fit nothing else, and says what is wrong with them.
    {.name = "InferenceX's form",
     .files =
         "JSON as InferenceX writes it, with benchmark_start_time_unix and benchmark_end_time_unix",
     .window = "exact",
     .fits = fits_benchmark,
     .read = read_benchmark_files},
    {.name = "AIPerf profile",
     .files =
         "profile_export_aiperf.json with profile_export.jsonl beside it, and what the command agentic reads",
     .window = "exact",
     .latencies = "ttft, tpot, e2e",
     .is_named = is_records_name,
     .read = read_profile_files},
    {.name = "vLLM",
     .files =
         "vllm bench serve --save-result (also --append-result), benchmark_serving.py, vllm-bench; InferenceX's results",
     .window =
         "exact with InferenceX's times; tied with --save-detailed where start_times are written; else estimated from date",
     .latencies =
         "ttft, tpot, e2e, with --save-detailed; the share of the energy where start_times are written",
     .format = &kVllm},
    {.name = "SGLang",
     .files = "sglang.bench_serving --output-file, one line for each run",
     .latencies = "ttft, tpot, e2e, with --output-details; without the share of the energy",
     .format = &kSglang},
    {.name = "TensorRT-LLM",
     .files = "tensorrt_llm.serve.scripts.benchmark_serving --save-result",
     .window = "estimated from date",
     .latencies = "ttft, tpot, e2e, with --save-detailed; without the share of the energy",
     .format = &kTensorRtLlmServing},
    {.name = "trtllm-bench", .files = "--report_json", .format = &kTensorRtLlmReport},
    {.name = "trtllm-bench requests",
     .files = "--request_json",
     .window = "tied",
     .latencies = "ttft, tpot, e2e",
     .format = &kTensorRtLlmRequests},
    {.name = "AIPerf",
     .files = "profile_export_aiperf.json alone",
     .window = "exact; where it has only start_time and end_time, in the zone of the recording",
     .latencies = "ttft, tpot, e2e, of profile_export.jsonl beside it",
     .format = &kAiperfSummary},
    {.name = "AIPerf requests",
     .files = "profile_export.jsonl",
     .window = "exact, from the first request to the last response",
     .latencies = "ttft, tpot, e2e",
     .format = &kAiperfRequests},
    {.name = "GenAI-Perf",
     .files = "profile_export_genai_perf.json",
     .latencies = "ttft, e2e, of profile_export.json beside it",
     .format = &kGenaiPerfSummary},
    {.name = "Perf Analyzer",
     .files = "profile_export.json, one benchmark for each experiment",
     .window = "exact, from the first request to the last response",
     .latencies = "ttft, e2e",
     .format = &kPerfAnalyzer},
    {.name = "MLPerf LoadGen",
     .files = "mlperf_log_detail.txt",
     .window = "exact, power_begin to power_end",
     .fits = fits_mlperf,
     .read = read_mlperf},
    {.name = "LLMPerf",
     .files = "*_summary.json",
     .window = "estimated from timestamp",
     .format = &kLlmperfSummary},
    {.name = "LLMPerf responses",
     .files = "*_individual_responses.json",
     .latencies = "ttft, tpot, e2e; without the share of the energy",
     .format = &kLlmperfRequests},
    {.name = "llama-bench",
     .files = "-o json, one benchmark for each test",
     .window = "estimated from test_time",
     .format = &kLlamaBench},
    {.name = "llama-bench lines",
     .files = "-o jsonl",
     .window = "estimated from test_time",
     .format = &kLlamaBenchLines},
    {.name = "guidellm",
     .files = "benchmarks.json or benchmarks.yaml, one benchmark for each step of a sweep",
     .window = "exact, the measured part",
     .latencies = "ttft, tpot, e2e",
     .format = &kGuidellm},
    {.name = "inference-perf",
     .files = "summary_lifecycle_metrics.json, stage_N_lifecycle_metrics.json",
     .format = &kInferencePerf},
    {.name = "inference-perf requests",
     .files = "per_request_lifecycle_metrics.json",
     .window = "tied",
     .latencies = "ttft, tpot, e2e",
     .format = &kInferencePerfRequests},
    {.name = "inference-benchmarker",
     .files = "results/MODEL_DATE.json of Hugging Face's inference-benchmarker",
     .window = "session",
     .format = &kInferenceBenchmarker},
    {.name = "genai-bench",
     .files = "the JSON of one scenario and concurrency",
     .latencies = "ttft, tpot, e2e; without the share of the energy",
     .format = &kGenaiBench},
    {.name = "llm-d benchmark report",
     .files = "benchmark report 0.2, as YAML or JSON",
     .window = "session; exact if made from guidellm's, estimated if from vLLM's",
     .format = &kLlmdReport},
    {.name = "llm-d benchmark report 0.1",
     .files = "benchmark report 0.1, as YAML or JSON",
     .window = "wrapped: what it calls the start may be the end",
     .format = &kLlmdReport01},
    {.name = "lm-evaluation-harness",
     .files = "results_DATE.json",
     .window = "session",
     .format = &kLmEval},
    {.name = "torchbench", .files = "metrics-DATE.json of a userbenchmark", .format = &kTorchbench},
    {.name = "PyTorch's benchmark database",
     .files = "NAME.pytorch.json",
     .window = "none: it is a copy of the metrics, and the message names the result",
     .format = &kPytorchBenchmark},
    {.name = "AIPerf GPU telemetry",
     .files = "profile_export_gpu_telemetry.jsonl",
     .window = "none: it is a recording, and the message names the result",
     .format = &kAiperfTelemetry,
     .is_recording = true},
    {.name = "ML.ENERGY",
     .files = "results.json of the ML.ENERGY benchmark",
     .window = "exact, the whole benchmark",
     .latencies = "ttft, tpot, e2e; without the share of the energy",
     .format = &kMlEnergy},
    {.name = "Ollama",
     .files = "the answers of /api/generate and /api/chat, one after the other",
     .window = "exact, from the first request to the last response",
     .latencies = "ttft, tpot, e2e",
     .format = &kOllama},
    {.name = "evalscope",
     .files = "benchmark_summary.json of evalscope perf",
     .format = &kEvalscope},
    {.name = "evalscope until 1.6",
     .files = "benchmark_summary.json of evalscope perf",
     .format = &kEvalscope2025},
    {.name = "evalscope requests",
     .files = "benchmark_data.db as sqlite3 -json writes it",
     .window = "tied",
     .latencies = "ttft, tpot, e2e",
     .format = &kEvalscopeRequests},
    {.name = "evalscope database",
     .files = "benchmark_data.db",
     .window = "none: the message names the command that makes it readable",
     .fits = fits_evalscope_database,
     .no_window =
         "evalscope's requests are in a database, which is not read; sqlite3 -json benchmark_data.db 'select start_time, completed_time, first_chunk_latency, prompt_tokens, completion_tokens, success from result' writes what is"},
    {.name = "vllm bench throughput", .files = "--output-json", .format = &kVllmThroughput},
    {.name = "vllm bench latency", .files = "--output-json", .format = &kVllmLatency},
    {.name = "SGLang offline",
     .files = "sglang.bench_offline_throughput, one line for each run",
     .format = &kSglangOffline},
    {.name = "SGLang one batch",
     .files = "sglang.bench_one_batch, one line for each run",
     .format = &kSglangOneBatch},
    {.name = "SGLang one batch server",
     .files = "sglang.bench_one_batch_server, one line for each run",
     .format = &kSglangOneBatchServer},
    {.name = "LMDeploy",
     .files = "the CSV of profile_restful_api.py and profile_throughput.py, one row for each run",
     .format = &kLmdeploy},
    {.name = "LMDeploy until 2024", .files = "profile_throughput.csv", .format = &kLmdeployBatches},
    {.name = "optimum-benchmark",
     .files = "benchmark.json and benchmark_report.json",
     .format = &kOptimumBenchmark},
    {.name = "text-generation-benchmark",
     .files = "the tables that it prints",
     .fits = fits_tgi_tables,
     .no_window = "text-generation-benchmark prints rates, and neither times nor counts"},
    {.name = "Perf Analyzer table",
     .files = "the CSV of perf_analyzer -f",
     .fits = fits_analyzer_table,
     .no_window =
         "Perf Analyzer's table has no times; --profile-export-file writes those of the requests"},
};

constexpr double kUncertain = 0.4;  // any JSON might be a benchmark result

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

double fit_of(const LoadGenerator& generator, const ResultHead& head) {
  if (generator.fits != nullptr) return generator.fits(head);
  return generator.format != nullptr ? fits_format(*generator.format, head) : 0;
}

// Returns null if no row takes it.
const LoadGenerator* best_fit(std::span<const LoadGenerator> generators, const ResultHead& head,
                              double least) {
  const LoadGenerator* best = nullptr;
  for (const LoadGenerator& generator : generators) {
    const double fit = fit_of(generator, head);
    if (fit <= least) continue;
    best = &generator;
    least = fit;
  }
  return best;
}

// Whether long arrays may be before its marks, as in a result of vLLM whose keys were sorted.
bool may_have_late_marks(std::string_view head) {
  return head.size() >= kHeadBytes && head.find_first_not_of(" \t\r\n") == head.find('{');
}

LoadReading refused(std::string detail, Reason reason = Reason::invalid_benchmark_result) {
  LoadReading none;
  none.reasons.add(reason, std::move(detail));
  return none;
}

// By the counts of the generator. A request that the end of the load cut off did half of its work,
// on average; one that the generator cancelled as it was told to is not one.
std::string failure_of(const LoadReading& load) {
  const bool is_counted = load.load || !load.generator.empty();
  if (!is_counted) return {};
  const std::int64_t completed = load.load ? load.load->completed : load.work.completed;
  const std::uint64_t weighed =
      load.failed_requests - load.cut_off_requests / 2 - load.cancelled_requests;
  if (failure_by_counts(weighed, completed).empty()) return {};
  return failure_by_counts(load.failed_requests, completed);
}

constexpr std::string_view kAnalyzerEnd = ".json";
constexpr std::string_view kMeansEnd = "_genai_perf.json";

// The file that is written next to one with the requests and that has what they lack:
// NAME_genai_perf.json next to Perf Analyzer's NAME.json, AIPerf's summary next to its lines.
// Empty: there is none.
std::string companion_of(const std::string& path) {
  std::string other;
  if (last_name(path) == kProfileRecords) {
    other = beside(path, std::string(kProfileSummary));
  } else if (path.ends_with(kAnalyzerEnd)) {
    other = path.substr(0, path.size() - kAnalyzerEnd.size()) + std::string(kMeansEnd);
  }
  return is_regular_file(other) ? other : std::string();
}

LoadReading read_companion(const LoadFiles& files, const ResultFormat& format) {
  LoadFile file = files.companion();
  const auto open = [&] { return as_utf8(std::move(file.source)); };
  return read_format(format, {.name = file.name, .open = open, .rules = files.rules}).front();
}

// Perf Analyzer writes the times of the requests, and GenAI-Perf next to it the means of their
// tokens, and the goodput.
void add_mean_counts(const LoadReading& means, LoadReading& times) {
  times.stated_goodput_per_s = means.stated_goodput_per_s;
  if (means.work.completed != times.work.completed || means.work.total_output_tokens <= 0) return;
  times.has_approximate_counts = true;
  times.notes.clear();
  const auto set = [&](std::int64_t Load::*count, Reason fault) {
    times.work.*count = means.work.*count;
    if (times.load) (*times.load).*count = means.work.*count;
    if (means.work.*count > 0) times.reasons.remove(fault);
  };
  set(&Load::total_input_tokens, Reason::invalid_input_token_count);
  set(&Load::total_output_tokens, Reason::invalid_output_token_count);
}

// AIPerf states in its summary how long its requests took, and how many were good.
void use_summary(const LoadReading& summary, LoadReading& lines) {
  lines.stated_good = summary.stated_good;
  lines.stated_goodput_per_s = summary.stated_goodput_per_s;
  constexpr double kMostApart_s = 0.1;
  const double stated_s = summary.work.reported_duration_s;
  if (!lines.load || !(stated_s > 0)) return;
  const double listed_s = lines.load->window.duration_s();
  if (std::abs(stated_s - listed_s) <= kMostApart_s) return;
  lines.reasons.add(
      Reason::benchmark_duration_mismatch,
      fmt::format("{} states {:.3f} s, and its requests in {} took {:.3f} s: one is of another run",
                  kProfileSummary, stated_s, kProfileRecords, listed_s));
}

void use_companion(const LoadFiles& files, std::vector<LoadReading>& loads) {
  LoadReading& load = loads.front();
  if (!files.companion || loads.size() > 1) return;
  if (load.generator == kPerfAnalyzer.generator) {
    add_mean_counts(read_companion(files, kGenaiPerfSummary), load);
  } else if (load.generator == kAiperfRequests.generator) {
    use_summary(read_companion(files, kAiperfSummary), load);
  }
}

// ---- A result that was opened, and whose it is.

struct OpenedResult {
  std::string head;
  std::unique_ptr<ByteSource> rest;
  bool is_marked = false;  // it began with a byte-order mark
  const LoadGenerator* best = nullptr;
  double fit = 0;
  std::string fault = {};
};

const Conversion* conversion_of(std::string_view head, bool is_named) {
  const auto found = std::ranges::find_if(conversions(), [&](const Conversion& one) {
    return one.is_result(head) || (is_named && one.fits(head));
  });
  return found == conversions().end() ? nullptr : &*found;
}

// Reads all of it; a fault is for people.
void convert(const LoadFiles& files, const Conversion& conversion, OpenedResult& result) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  result.head += read_up_to(*result.rest, kMostBytes);
  if (result.head.size() >= kMostBytes) {
    result.fault = fmt::format("{}: {} of more than 16 MiB is not read: write it as JSON",
                               files.name, conversion.kind);
    return;
  }
  try {
    result.head = conversion.json_of(result.head);
  } catch (const std::runtime_error& error) {
    result.fault = fmt::format("{}: it is {}, and {}", files.name, conversion.kind, error.what());
  }
}

// `is_named`: the caller says that the file is a result.
OpenedResult open_result(const LoadFiles& files, std::span<const LoadGenerator> generators,
                         bool is_named) {
  OpenedResult result;
  std::unique_ptr<ByteSource> bytes = files.open();
  const std::string begin = read_up_to(*bytes, kHeadBytes);
  result.is_marked = begin.starts_with("\xEF\xBB\xBF");
  result.rest = as_utf8(std::make_unique<ResumedSource>(begin, std::move(bytes)));
  result.head = read_up_to(*result.rest, kHeadBytes);
  const Conversion* const conversion = conversion_of(result.head, is_named);
  if (conversion != nullptr) convert(files, *conversion, result);
  if (!result.fault.empty()) return result;
  ResultHead keys = result_head(result.head);
  result.best = best_fit(generators, keys, 0);
  const bool is_uncertain = result.best == nullptr || fit_of(*result.best, keys) <= kUncertain;
  if (is_uncertain && conversion == nullptr && may_have_late_marks(result.head)) {
    constexpr std::size_t kMostBytes = std::size_t{16} << 20;
    result.head += read_up_to(*result.rest, kMostBytes);
    keys = result_head(result.head);
    result.best = best_fit(generators, keys, 0);
  }
  result.fit = result.best != nullptr ? fit_of(*result.best, keys) : 0;
  if (conversion != nullptr && result.fit <= kUncertain) {
    result.fault = fmt::format(
        "{}: {} that is not the result of a known load generator; 'aggregate-power help generators' lists them",
        files.name, conversion->kind);
  }
  return result;
}

LoadReading without_times(const LoadGenerator& generator, LoadRules rules) {
  LoadReading reading;
  reading.generator = generator.name;
  reading.no_window = generator.no_window;
  set_counts(reading, rules, std::nullopt, std::nullopt, std::nullopt);
  return reading;
}

std::vector<LoadReading> read_one_file(const LoadFiles& files,
                                       std::span<const LoadGenerator> generators) {
  OpenedResult result = open_result(files, generators, true);
  if (!result.fault.empty()) return {refused(std::move(result.fault))};
  if (result.best == nullptr) {
    return {refused(files.name + ": not the result of a known load generator")};
  }
  if (result.best->no_window != nullptr) return {without_times(*result.best, files.rules)};
  // contract.md B.2 refuses a byte-order mark, as Python does.
  const bool keeps_mark = result.is_marked && result.best->read == read_benchmark_files;
  if (keeps_mark) result.head.insert(0, "\xEF\xBB\xBF");
  LoadFiles resumed = files;
  resumed.open = [&] {
    return std::make_unique<ResumedSource>(std::move(result.head), std::move(result.rest));
  };
  return result.best->read != nullptr ? result.best->read(resumed)
                                      : read_format(*result.best->format, resumed);
}

std::vector<LoadReading> read_files(const LoadFiles& files,
                                    std::span<const LoadGenerator> generators) {
  if (files.other) {
    for (const LoadGenerator& generator : generators) {
      if (generator.is_named != nullptr && generator.is_named(file_name(files.name))) {
        return generator.read(files);
      }
    }
  }
  return read_one_file(files, generators);
}

}  // namespace

void fence(const WallStamp& other, WindowClues& clues) {
  const std::optional<WallStamp>& own = clues.end_stamp;
  if (!own || own->is_utc != other.is_utc || other.wall_s >= own->wall_s) return;
  clues.begins_after_wall_s =
      std::max(clues.begins_after_wall_s.value_or(other.wall_s), other.wall_s);
}

std::span<const LoadGenerator> load_generators() { return kLoadGenerators; }

const LoadGenerator* recognized(const LoadFiles& files) {
  const OpenedResult result = open_result(files, load_generators(), false);
  return result.fault.empty() && result.fit > kUncertain ? result.best : nullptr;
}

std::vector<LoadReading> read_loads(const LoadFiles& files,
                                    std::span<const LoadGenerator> generators) {
  std::vector<LoadReading> loads = read_files(files, generators);
  use_companion(files, loads);
  for (LoadReading& load : loads) {
    for (const LoadReading& other : loads) {
      if (other.clues.end_stamp) fence(*other.clues.end_stamp, load.clues);
    }
    if (load.failure.empty()) load.failure = failure_of(load);
    load.is_only = loads.size() == 1;
    load.is_last = &load == &loads.back();
  }
  return loads;
}

LoadReading read_load(const LoadFiles& files, std::span<const LoadGenerator> generators) {
  SelectedLoads selected = select_loads(read_loads(files, generators), "");
  if (!selected.fault.empty())
    return refused(fmt::format("{} {}", files.name, selected.fault),
                   Reason::benchmark_not_selected);
  require_window(selected.loads.front());
  return std::move(selected.loads.front());
}

void require_window(LoadReading& reading) {
  if (!reading.defect.empty()) {
    reading.reasons.add(Reason::invalid_benchmark_result, reading.defect);
  }
  if (reading.load || reading.no_window.empty()) return;
  Reasons counts = std::move(reading.reasons);
  reading.reasons = {};
  reading.reasons.add(Reason::invalid_benchmark_window, reading.no_window);
  reading.reasons.add(counts);
}

LoadFiles load_file(const std::string& path, LoadRules rules) {
  // AIPerf's summary has the local times of its phase, which is longer than the load; the requests
  // next to it have instants.
  std::string name = requests_path(path);
  LoadFiles files{.name = name,
                  .open = [name] { return decompressed(open_source(name), name); },
                  .rules = rules};
  const std::string other = companion_of(name);
  if (!other.empty()) {
    files.companion = [other] { return LoadFile{decompressed(open_source(other), other), other}; };
  }
  return files;
}

LoadReading read_selected_load(const LoadFiles& files, const std::string& selection) {
  SelectedLoads selected = select_loads(read_loads(files), selection);
  if (selected.loads.size() == 1) return std::move(selected.loads.front());
  if (!selected.fault.empty())
    return refused(fmt::format("{} {}", files.name, selected.fault),
                   Reason::benchmark_not_selected);
  return refused(fmt::format("{}: --select {} matches {} benchmarks", files.name, selection,
                             selected.loads.size()),
                 Reason::benchmark_not_selected);
}

LoadReading read_load_file(const std::string& path, LoadRules rules) {
  try {
    return read_load(load_file(path, rules));
  } catch (const FileError& error) {
    return refused(error.what());
  }
}

// ---- Takes only windows that the result states.

BenchmarkWindows read_benchmark_windows(const std::string& path) {
  BenchmarkWindows found;
  std::vector<LoadReading> loads = read_loads(load_file(path));
  for (std::size_t i = 0; i < loads.size(); ++i) {
    LoadReading& load = loads[i];
    std::string name = loads.size() == 1 ? plain_stem(path) : benchmark_label(load, i + 1);
    require_window(load);
    if (load.load && load.defect.empty() && load.window_source == WindowSource::exact) {
      found.windows.push_back({std::move(name), load.load->window});
    } else {
      found.missing.push_back(fmt::format("{}: {}", name, load.reasons.text()));
    }
  }
  return found;
}

}  // namespace aggregate_power
