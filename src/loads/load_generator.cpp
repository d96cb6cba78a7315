// The table of load generators.
#include "loads/load_generator.h"

#include <utility>

#include <fmt/format.h>

#include "base/files/archive.h"
#include "base/files/file.h"
#include "loads/aiperf.h"
#include "loads/aiperf_folder.h"
#include "loads/benchmark.h"
#include "loads/formats.h"
#include "loads/mlperf.h"
#include "loads/selection.h"

namespace aggregate_power {
namespace {

constexpr LoadGenerator kLoadGenerators[] = {
    // It also takes files that fit nothing else, and says what is wrong with them.
    {.name = "benchmark result", .fits = fits_benchmark, .read = read_benchmark_files},
    {.name = "AIPerf profile", .is_named = is_records_name, .read = read_profile_files},
    {.name = "vLLM", .format = &kVllm},
    {.name = "SGLang", .format = &kSglang},
    {.name = "TensorRT-LLM", .format = &kTensorRtLlmServing},
    {.name = "trtllm-bench", .format = &kTensorRtLlmReport},
    {.name = "trtllm-bench requests", .format = &kTensorRtLlmRequests},
    {.name = "AIPerf", .format = &kAiperfSummary},
    {.name = "AIPerf requests", .format = &kAiperfRequests},
    {.name = "GenAI-Perf", .format = &kGenaiPerfSummary},
    {.name = "Perf Analyzer", .format = &kPerfAnalyzer},
    {.name = "MLPerf LoadGen", .fits = fits_mlperf, .read = read_mlperf},
    {.name = "LLMPerf", .format = &kLlmperfSummary},
    {.name = "LLMPerf responses", .format = &kLlmperfRequests},
    {.name = "llama-bench", .format = &kLlamaBench},
    {.name = "llama-bench lines", .format = &kLlamaBenchLines},
    {.name = "guidellm", .format = &kGuidellm},
    {.name = "inference-perf", .format = &kInferencePerf},
    {.name = "inference-perf requests", .format = &kInferencePerfRequests},
    {.name = "inference-benchmarker", .format = &kInferenceBenchmarker},
    {.name = "genai-bench", .format = &kGenaiBench},
    {.name = "llm-d benchmark report", .format = &kLlmdReport},
    {.name = "lm-evaluation-harness", .format = &kLmEval},
    {.name = "torchbench", .format = &kTorchbench},
    {.name = "PyTorch's benchmark database", .format = &kPytorchBenchmark},
    {.name = "AIPerf GPU telemetry", .format = &kAiperfTelemetry},
};

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

LoadReading refused(std::string detail) {
  LoadReading none;
  none.reasons.add(Reason::invalid_benchmark_result, std::move(detail));
  return none;
}

std::vector<LoadReading> read_one_file(const LoadFiles& files,
                                       std::span<const LoadGenerator> generators) {
  std::unique_ptr<ByteSource> source = files.open();
  std::string head_text = read_up_to(*source, kHeadBytes);
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

std::span<const LoadGenerator> load_generators() { return kLoadGenerators; }

const LoadGenerator* recognized(const LoadFiles& files) {
  constexpr double kUncertain = 0.4;  // any JSON might be a benchmark result
  const std::string head = read_up_to(*files.open(), kHeadBytes);
  return best_fit(load_generators(), result_head(head), kUncertain);
}

std::vector<LoadReading> read_loads(const LoadFiles& files,
                                    std::span<const LoadGenerator> generators) {
  std::vector<LoadReading> loads = read_files(files, generators);
  for (LoadReading& load : loads) {
    load.is_only = loads.size() == 1;
    load.is_last = &load == &loads.back();
  }
  return loads;
}

LoadReading read_load(const LoadFiles& files, std::span<const LoadGenerator> generators) {
  SelectedLoads selected = select_loads(read_loads(files, generators), "");
  if (!selected.fault.empty()) return refused(fmt::format("{} {}", files.name, selected.fault));
  require_window(selected.loads.front());
  return std::move(selected.loads.front());
}

void require_window(LoadReading& reading) {
  if (reading.load || reading.no_window.empty()) return;
  Reasons counts = std::move(reading.reasons);
  reading.reasons = {};
  reading.reasons.add(Reason::invalid_benchmark_window, reading.no_window);
  reading.reasons.add(counts);
}

LoadFiles load_file(const std::string& path, LoadRules rules) {
  return {.name = path,
          .open = [path] { return decompressed(open_source(path), path); },
          .rules = rules};
}

LoadReading read_selected_load(const std::string& path, LoadRules rules,
                               const std::string& selection) {
  try {
    SelectedLoads selected = select_loads(read_loads(load_file(path, rules)), selection);
    if (selected.loads.size() == 1) return std::move(selected.loads.front());
    if (!selected.fault.empty()) return refused(fmt::format("{} {}", path, selected.fault));
    return refused(fmt::format("{}: --select {} matches {} benchmarks: choose one of them", path,
                               selection, selected.loads.size()));
  } catch (const FileError& error) {
    return refused(error.what());
  }
}

LoadReading read_load_file(const std::string& path, LoadRules rules) {
  try {
    return read_load(load_file(path, rules));
  } catch (const FileError& error) {
    return refused(error.what());
  }
}

}  // namespace aggregate_power
