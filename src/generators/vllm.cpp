// vLLM: `vllm bench serve --save-result`, benchmark_serving.py and the Rust vllm-bench;
// InferenceX's older results have the same layout. vllm-project/vllm: vllm/benchmarks/serve.py.
#include <algorithm>
#include <cmath>

#include "core/load/benchmark.h"
#include "generators/formats.h"
#include "generators/vllm_like.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kVllmMarks[] = {"date", "backend", "tokenizer_id", "num_prompts",
                                           "duration"};
constexpr std::string_view kVllmFields[] = {"date",
                                            "duration",
                                            "completed",
                                            "failed",
                                            "total_input_tokens",
                                            "total_output_tokens",
                                            "model_id",
                                            "request_rate",
                                            "max_concurrency",
                                            "num_prompts",
                                            "benchmark_start_time_unix",
                                            "benchmark_end_time_unix",
                                            "best_of",
                                            "start_times[]",
                                            "latencies[]",
                                            "benchmark_outcome",
                                            "benchmark_outcome.status",
                                            "benchmark_outcome.requested",
                                            "benchmark_outcome.completed",
                                            "benchmark_outcome.failed",
                                            "benchmark_outcome.max_failure_rate"};
constexpr std::string_view kVllmRequestLists[] = {"ttfts[]", "input_lens[]", "output_lens[]",
                                                  "errors[]", "itls[][]"};

double at(std::span<const double> list, std::size_t i) {
  return i < list.size() ? list[i] : RequestTimes::kUnknown;
}

// The i-th request; the arrays also contain failed ones, with zeros.
RequestTimes vllm_request(const ResultValues& values, std::size_t i) {
  const double ttft_s = at(values.list("ttfts[]"), i);
  double latency_s = at(values.list("latencies[]"), i);
  if (std::isnan(latency_s)) latency_s = ttft_s + at(values.list("itls[][]"), i);
  RequestTimes request;
  request.failed = at(values.list("errors[]"), i) == 1;
  request.start_s = at(values.list("start_times[]"), i);
  if (request.failed || !(latency_s > 0)) return request;
  request.first_token_s = request.start_s + ttft_s;
  request.end_s = request.start_s + latency_s;
  const auto tokens = [&](std::string_view list) {
    const double count = at(values.list(list), i);
    return whole_count(count).value_or(-1);
  };
  request.input_tokens = tokens("input_lens[]");
  request.output_tokens = tokens("output_lens[]");
  return request;
}

// By the monotonic clock; `start_times` is there only with --save-detailed. The load ends with its
// last request; it begins, as `duration` does, when vLLM starts to wait for the first one's turn.
std::optional<Window> monotonic_window(const ResultValues& values, double duration_s) {
  const auto starts = values.list("start_times[]");
  const auto latencies = values.list("latencies[]");
  std::optional<Window> window;
  bool all_ended = starts.size() == latencies.size();
  for (std::size_t i = 0; i < std::min(starts.size(), latencies.size()); ++i) {
    if (!(starts[i] > 0 && latencies[i] > 0)) {  // a failed one, which may have been the last
      all_ended = false;
      continue;
    }
    const double end_s = starts[i] + latencies[i];
    if (!window) window = {starts[i], end_s};
    window->start_unix_s = std::min(window->start_unix_s, starts[i]);
    window->end_unix_s = std::max(window->end_unix_s, end_s);
  }
  if (!window || !all_ended) return window;
  const double begin_s = window->end_unix_s - duration_s;
  constexpr double kMostWait = 0.25;  // of the duration; a longer one is no wait for a turn
  if (window->start_unix_s - begin_s <= kMostWait * duration_s) {
    window->start_unix_s = std::min(window->start_unix_s, begin_s);
  }
  return window;
}

LoadReading conclude_vllm(const ResultScope& scope) {
  LoadReading reading = conclude_serving(scope);
  if (states_window(scope.values)) {
    reading.generator = "InferenceX";
    return reading;
  }
  const bool is_inferencex = scope.values.kind("best_of") != JsonKind::null;
  if (is_inferencex) reading.generator = "InferenceX";
  reading.is_of_contract = is_inferencex;
  reading.clues.monotonic = monotonic_window(scope.values, reading.work.reported_duration_s);
  reading.no_window = reading.clues.monotonic
                          ? "vLLM writes the requests' times by the machine's monotonic clock only"
                          : "vLLM writes only the second in which it ended ('date', local time)";
  const std::size_t count = scope.values.list("start_times[]").size();
  for (std::size_t i = 0; scope.files.request && i < count; ++i) {
    const RequestTimes request = vllm_request(scope.values, i);
    reading.requests.take(request);
    scope.files.request(request);
  }
  return reading;
}

}  // namespace

const ResultFormat kVllm = {.generator = "vLLM",
                            .marks = kVllmMarks,
                            .texts = JsonTexts::several,
                            .fields = kVllmFields,
                            .states_totals = true,
                            .request_lists = kVllmRequestLists,
                            .conclude = conclude_vllm};

}  // namespace aggregate_power
