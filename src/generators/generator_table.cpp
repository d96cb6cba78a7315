// The table of load generators.
#include "generators/generator_table.h"

#include <utility>

#include <fmt/format.h>

#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "core/load/benchmark.h"
#include "generators/aiperf.h"
#include "generators/benchmark_choice.h"
#include "generators/generators.h"
#include "generators/request_file.h"

namespace aggregate_power {
namespace {

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
     .is_named = is_records_name,
     .read = read_profile_files},
    {.name = "vLLM",
     .files =
         "vllm bench serve --save-result (also --append-result), benchmark_serving.py, vllm-bench; InferenceX's results",
     .window =
         "exact with InferenceX's times; tied with --save-detailed where start_times are written; else estimated from date",
     .format = &kVllm},
    {.name = "SGLang",
     .files = "sglang.bench_serving --output-file, one line for each run",
     .window = "wrapped: it writes no times",
     .format = &kSglang},
    {.name = "TensorRT-LLM",
     .files = "tensorrt_llm.serve.scripts.benchmark_serving --save-result",
     .window = "estimated from date",
     .format = &kTensorRtLlmServing},
    {.name = "trtllm-bench",
     .files = "--report_json",
     .window = "wrapped: it writes no times",
     .format = &kTensorRtLlmReport},
    {.name = "trtllm-bench requests",
     .files = "--request_json",
     .window = "tied",
     .format = &kTensorRtLlmRequests},
    {.name = "AIPerf",
     .files = "profile_export_aiperf.json alone",
     .window = "exact; where it has only start_time and end_time, in the zone of the recording",
     .format = &kAiperfSummary},
    {.name = "AIPerf requests",
     .files = "profile_export.jsonl",
     .window = "exact, from the first request to the last response",
     .format = &kAiperfRequests},
    {.name = "GenAI-Perf",
     .files = "profile_export_genai_perf.json",
     .window = "wrapped: it writes no times",
     .format = &kGenaiPerfSummary},
    {.name = "Perf Analyzer",
     .files = "profile_export.json, one benchmark for each experiment",
     .window = "exact, from the first request to the last response",
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
     .window = "wrapped: it writes no times",
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
     .files = "benchmarks.json, one benchmark for each step of a sweep",
     .window = "exact, the measured part",
     .format = &kGuidellm},
    {.name = "inference-perf",
     .files = "summary_lifecycle_metrics.json, stage_N_lifecycle_metrics.json",
     .window = "wrapped: it writes no times",
     .format = &kInferencePerf},
    {.name = "inference-perf requests",
     .files = "per_request_lifecycle_metrics.json",
     .window = "tied",
     .format = &kInferencePerfRequests},
    {.name = "inference-benchmarker",
     .files = "results/MODEL_DATE.json of Hugging Face's inference-benchmarker",
     .window = "session",
     .format = &kInferenceBenchmarker},
    {.name = "genai-bench",
     .files = "the JSON of one scenario and concurrency",
     .window = "wrapped: it writes no times",
     .format = &kGenaiBench},
    {.name = "llm-d benchmark report",
     .files = "benchmark report 0.2 as JSON",
     .window = "session",
     .format = &kLlmdReport},
    {.name = "lm-evaluation-harness",
     .files = "results_DATE.json",
     .window = "session",
     .format = &kLmEval},
    {.name = "torchbench",
     .files = "metrics-DATE.json of a userbenchmark",
     .window = "wrapped: it writes no times",
     .format = &kTorchbench},
    {.name = "PyTorch's benchmark database",
     .files = "NAME.pytorch.json",
     .window = "none: it is a copy of the metrics, and the message names the result",
     .format = &kPytorchBenchmark},
    {.name = "AIPerf GPU telemetry",
     .files = "profile_export_gpu_telemetry.jsonl",
     .window = "none: it is a recording, and the message names the result",
     .format = &kAiperfTelemetry,
     .is_recording = true},
    {.name = "llm-d benchmark report in YAML",
     .files = "recognized, not read: convert it to JSON",
     .window = "none",
     .fits = fits_llmd_yaml,
     .read = read_llmd_yaml},
    {.name = "ML.ENERGY",
     .files = "results.json of the ML.ENERGY benchmark",
     .window = "exact",
     .format = &kMlEnergy},
    {.name = "YAML",
     .files = "recognized, not read: convert it to JSON",
     .window = "none",
     .fits = fits_yaml,
     .read = read_yaml},
};

constexpr double kUncertain = 0.4;  // any JSON might be a benchmark result

constexpr std::string_view kMeanCountsRole = "mean_counts";

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

// The beginning, by which a result is recognized; more of it where long arrays are before its
// marks, as in a result of vLLM whose keys were sorted.
std::string head_of(ByteSource& source, std::span<const LoadGenerator> generators) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  std::string head = read_up_to(source, kHeadBytes);
  const bool is_whole = head.size() < kHeadBytes;
  const bool is_object = head.find_first_not_of(" \t\r\n") == head.find('{');
  if (is_whole || !is_object || best_fit(generators, result_head(head), kUncertain) != nullptr) {
    return head;
  }
  return head += read_up_to(source, kMostBytes);
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

// NAME_genai_perf.json, which GenAI-Perf writes beside Perf Analyzer's NAME.json; empty: there is
// none.
std::string mean_counts_beside(const std::string& path) {
  constexpr std::string_view kEnd = ".json";
  if (!path.ends_with(kEnd)) return {};
  std::string counts = path.substr(0, path.size() - kEnd.size()) + "_genai_perf.json";
  return is_regular_file(counts) ? counts : std::string();
}

// Perf Analyzer writes the times of the requests, and GenAI-Perf next to it the means of their
// tokens.
void add_mean_counts(const LoadFiles& files, std::vector<LoadReading>& loads) {
  LoadReading& times = loads.front();
  if (!files.other || loads.size() > 1 || times.generator != kPerfAnalyzer.generator) return;
  LoadFile counts = files.other(kMeanCountsRole);
  if (!counts.source) return;
  const auto open = [&] { return std::move(counts.source); };
  const LoadReading means =
      read_format(kGenaiPerfSummary, {.name = counts.name, .open = open, .rules = files.rules})
          .front();
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

std::vector<LoadReading> read_one_file(const LoadFiles& files,
                                       std::span<const LoadGenerator> generators) {
  std::unique_ptr<ByteSource> source = files.open();
  std::string head_text = head_of(*source, generators);
  const LoadGenerator* const best = best_fit(generators, result_head(head_text), 0);
  if (best == nullptr) {
    return {refused(files.name + ": not the result of a known load generator")};
  }
  LoadFiles resumed = files;
  resumed.open = [&] {
    return std::make_unique<ResumedSource>(std::move(head_text), std::move(source));
  };
  return best->read != nullptr ? best->read(resumed) : read_format(*best->format, resumed);
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
  const std::string head = head_of(*files.open(), load_generators());
  return best_fit(load_generators(), result_head(head), kUncertain);
}

std::vector<LoadReading> read_loads(const LoadFiles& files,
                                    std::span<const LoadGenerator> generators) {
  std::vector<LoadReading> loads = read_files(files, generators);
  add_mean_counts(files, loads);
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
  const std::string counts = mean_counts_beside(path);
  if (counts.empty()) return files;
  files.other = [counts](std::string_view role) -> LoadFile {
    if (role == kMeanCountsRole) return {decompressed(open_source(counts), counts), counts};
    return {nullptr, std::string(role)};
  };
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
