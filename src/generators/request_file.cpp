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
#include "core/load/benchmark.h"
#include "core/load/result_values.h"
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

// ---- The part of a load inside a window

namespace {

// Less than this share of the tokens is of no account: it is far below what a sensor resolves.
constexpr double kLeastShare = 1e-3;

// The share of a stretch that is in the window. One without a length is in it or not.
double share_in(Window window, double from_s, double to_s) {
  if (!(to_s > from_s)) return window.contains(from_s) ? 1 : 0;
  const double inside_s = std::min(to_s, window.end_unix_s) - std::max(from_s, window.start_unix_s);
  return std::clamp(inside_s / (to_s - from_s), 0.0, 1.0);
}

struct Shares {
  std::int64_t completed = 0;
  double input_tokens = 0;
  double output_tokens = 0;
};

Shares shares_in(const RequestTally& requests, Window window) {
  Shares shares;
  for (const RequestSpan& request : requests.spans) {
    shares.completed += window.contains(request.end_s) ? 1 : 0;
    shares.input_tokens += static_cast<double>(request.input_tokens) *
                           share_in(window, request.start_s, request.first_token_s);
    shares.output_tokens += static_cast<double>(request.output_tokens) *
                            share_in(window, request.first_token_s, request.end_s);
  }
  return shares;
}

}  // namespace

std::optional<WorkInWindow> work_in(const RequestTally& requests, std::int64_t completed,
                                    Window window) {
  const auto listed = static_cast<std::int64_t>(requests.spans.size());
  if (!requests.has_tokens || listed == 0 || completed < listed) return std::nullopt;
  const Shares shares = shares_in(requests, window);
  const double scale = static_cast<double>(completed) / static_cast<double>(listed);
  const auto ended = whole_count(static_cast<double>(shares.completed) * scale);
  const auto input = whole_count(shares.input_tokens * scale);
  const auto output = whole_count(shares.output_tokens * scale);
  if (!ended || !input || !output || *output == 0) return std::nullopt;
  return WorkInWindow{*ended, *input, *output, listed < completed};
}

bool reach_beyond(const RequestTally& requests, Window window) {
  const Shares shares = shares_in(requests, window);
  const auto is_less = [](double inside, std::int64_t all) {
    return inside < (1 - kLeastShare) * static_cast<double>(all);
  };
  return is_less(shares.input_tokens, requests.input_tokens) ||
         is_less(shares.output_tokens, requests.output_tokens);
}

void set_work(LoadReading& reading, Load& load, const WorkInWindow& inside, KeptCounts keep) {
  if (!keep.completed) load.completed = inside.completed;
  if (!keep.input_tokens) load.total_input_tokens = inside.input_tokens;
  if (!keep.output_tokens) load.total_output_tokens = inside.output_tokens;
  reading.has_approximate_counts |= inside.is_approximate;
}

double without_requests_s(const RequestTally& requests, Window window) {
  const Window all = requests.window.value_or(kNever);
  const double inside_s =
      std::min(all.end_unix_s, window.end_unix_s) - std::max(all.start_unix_s, window.start_unix_s);
  return window.duration_s() - std::max(inside_s, 0.0);
}

namespace {

void bound_counts(LoadReading& reading, double outside_s) {
  constexpr double kMostShare = 0.05;
  const double share = outside_s / reading.load->window.duration_s();
  const std::string text = fmt::format(
      "requests that began before the window or ended after it count with all their tokens, and the result lists none: joules per token may be too low by up to {:.2g} %",
      std::min(100 * share, 99.0));
  if (share <= kMostShare) return reading.notes.push_back(text);
  reading.has_wrong_counts = true;
  reading.defect = text + "; write the result with its requests";
}

}  // namespace

void cut_counts(LoadReading& reading, const RequestTally& requests, double outside_s) {
  if (!reading.load) return;
  Load& load = *reading.load;
  if (requests.spans.empty() || !requests.has_tokens) {
    if (outside_s > most_difference_s(load.window)) bound_counts(reading, outside_s);
    return;
  }
  if (!reach_beyond(requests, load.window)) return;
  const auto inside = work_in(requests, load.completed, load.window);
  if (!inside) return;
  reading.notes.push_back(fmt::format(
      "requests began before the window or ended after it: {} of {} output tokens are counted, those of the window",
      inside->output_tokens, load.total_output_tokens));
  set_work(reading, load, *inside);
  reading.work = load;
}

}  // namespace aggregate_power
