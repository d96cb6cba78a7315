// Reads the requests out of a generator's result.
#include "generators/request_file.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "generators/aiperf.h"
#include "generators/generator_table.h"

namespace aggregate_power {
namespace {

// Unix times of 1973. No machine has been up for three years.
constexpr double kLongestUptime_s = 1e8;

struct Advice {
  std::string_view generator;
  std::string_view text;
};

constexpr Advice kAdvice[] = {
    {"vLLM", "run vllm bench serve with --save-result and --save-detailed"},
    {"InferenceX", "run the benchmark with --save-detailed"},
    {"AIPerf", "give profile_export.jsonl, which AIPerf writes with --export-level records"},
    {"trtllm-bench", "give the file of --request_json"},
    {"inference-perf", "give per_request_lifecycle_metrics.json (report: per_request: true)"},
    {"GenAI-Perf", "give profile_export.json, which Perf Analyzer writes beside it"},
    {"SGLang", "run sglang.bench_serving with --output-details"},
    {"TensorRT-LLM", "run benchmark_serving with --save-result and --save-detailed"},
    {"LLMPerf", "give *_individual_responses.json"},
    {"MLPerf LoadGen", "its log has no requests; give those of a client with --requests"},
    {"guidellm", "write the report as JSON with its requests (--output-path benchmarks.json)"},
};

std::string advice_for(std::string_view generator) {
  for (const Advice& advice : kAdvice) {
    if (advice.generator == generator) return fmt::format(": {}", advice.text);
  }
  return ": give the requests of AIPerf, vLLM (--save-detailed), guidellm, Perf Analyzer, trtllm-bench (--request_json) or inference-perf";
}

}  // namespace

std::string requests_name(const std::string& path) {
  constexpr std::string_view kMeansEnd = "_genai_perf.json";
  if (last_name(path) == kProfileSummary) return beside(path, std::string(kProfileRecords));
  if (!path.ends_with(kMeansEnd)) return path;
  return path.substr(0, path.size() - kMeansEnd.size()) + ".json";
}

std::string requests_path(const std::string& path) {
  std::string requests = requests_name(path);
  return is_regular_file(requests) ? requests : path;
}

RequestFile read_requests(const std::string& path, NeededTimes needed) {
  LoadFiles files;
  files.name = requests_path(path);
  files.open = [name = files.name] { return decompressed(open_source(name), name); };
  return read_requests(std::move(files), needed);
}

RequestFile read_requests(LoadFiles files, NeededTimes needed) {
  RequestFile file;
  file.source = files.name;
  files.request = [&](const RequestTimes& request) { file.requests.push_back(request); };
  files.with_warm_up = true;
  const std::vector<LoadReading> readings = read_loads(files);
  const LoadReading& first = readings.front();
  file.generator = first.generator;
  // Also for a file that breaks off behind some requests.
  if (first.reasons.contains(Reason::invalid_benchmark_result)) throw Error(first.reasons.text());
  if (!first.defect.empty()) {
    throw Error(fmt::format("{}: {}", printable_path(files.name), first.defect));
  }
  for (RequestTimes& request : file.requests) {
    const double unit_s = first.latency_unit_s > 0 ? first.latency_unit_s : RequestTimes::kUnknown;
    request.stated_ttft_s *= unit_s;
    request.stated_e2e_s *= unit_s;
  }
  const auto timed = std::ranges::find_if(file.requests, &RequestTimes::has_times);
  file.has_instants = timed != file.requests.end();
  const bool has_latencies = needed == NeededTimes::latencies &&
                             std::ranges::any_of(file.requests, [](const RequestTimes& request) {
                               return request.stated_e2e_s >= 0 || request.stated_ttft_s >= 0;
                             });
  if (!file.has_instants && !has_latencies) {
    throw Error(fmt::format("{} lists no requests with their times{}", printable_path(files.name),
                            advice_for(file.generator)));
  }
  file.is_monotonic = file.has_instants && timed->start_s < kLongestUptime_s;
  file.monotonic_window = first.clues.monotonic;
  if ((file.is_monotonic || !file.has_instants) && readings.size() > 1) {
    throw Error(fmt::format(
        "{} has {} benchmarks {}: give a file with one of them", printable_path(files.name),
        readings.size(),
        file.is_monotonic ? "with times of a monotonic clock" : "without the times of requests"));
  }
  if (readings.size() > 1) return file;
  const auto listed =
      static_cast<std::uint64_t>(std::ranges::count_if(file.requests, &RequestTimes::failed));
  if (first.failed_requests > listed) file.unlisted_failures = first.failed_requests - listed;
  const Load& load = first.load ? *first.load : first.work;
  file.completed = load.completed;
  file.duration_s = load.reported_duration_s;
  return file;
}

bool RequestFile::place(Window window, bool is_tied) {
  if (!is_monotonic) return false;
  double first_s = std::numeric_limits<double>::infinity();
  for (const RequestTimes& request : requests) {
    if (request.has_times()) first_s = std::min(first_s, request.start_s);
  }
  is_tied = is_tied && monotonic_window.has_value();
  if (is_tied) first_s = monotonic_window->start_unix_s;
  for (RequestTimes& request : requests) {
    for (double* const time : {&request.start_s, &request.first_token_s, &request.end_s}) {
      *time = window.start_unix_s + (*time - first_s);
    }
  }
  is_monotonic = false;
  return !is_tied;
}

}  // namespace aggregate_power
