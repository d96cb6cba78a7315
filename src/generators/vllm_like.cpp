// Reads the members that serving benchmarks share.
#include "generators/generators.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/written_time.h"
#include "core/load/benchmark.h"
#include "core/load/stated_totals.h"

namespace aggregate_power {

std::optional<WallStamp> compact_stamp(std::string_view text) {
  const bool is_compact = text.size() == 15 && text[8] == '-' &&
                          is_ascii_digits(text.substr(0, 8)) && is_ascii_digits(text.substr(9));
  if (!is_compact) return std::nullopt;
  const auto time = read_iso(fmt::format("{}-{}-{} {}:{}:{}", text.substr(0, 4), text.substr(4, 2),
                                         text.substr(6, 2), text.substr(9, 2), text.substr(11, 2),
                                         text.substr(13, 2)));
  if (!time) return std::nullopt;
  return WallStamp{static_cast<double>(time->clock_s)};
}

LoadReading conclude_serving(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  const LoadRules rules = scope.files.rules;
  LoadReading reading = states_window(values) ? judge_stated(values, rules) : LoadReading();
  add_settings(reading, values, Keys{"model_id", "request_rate", "max_concurrency", "num_prompts"});
  add_settings(reading, values, scope.format.settings);
  reading.model = values.text("model_id");
  reading.no_window = scope.format.no_window;
  if (states_window(values)) return reading;
  const auto value = [&](std::string_view path) {
    return JsonValue{values.kind(path), values.text(path)};
  };
  reading.max_concurrency = value("max_concurrency");
  reading.failure = benchmark_failure(outcome_in(values), value("completed"), value("num_prompts"));
  reading.work.reported_duration_s = values.number("duration").value_or(0);
  set_counts(reading, rules, values.count("completed"), values.count("total_input_tokens"),
             values.count("total_output_tokens"));
  reading.failed_requests = static_cast<std::uint64_t>(values.count("failed").value_or(0));
  judge_totals(values, reading);
  reading.clues.end_stamp = compact_stamp(values.text("date"));
  return reading;
}

// ---- The lists of requests that vLLM, SGLang (--output-details) and TensorRT-LLM write alike.

namespace {

const Keys kVllmRequestLists = {"start_times[]", "latencies[]", "ttfts[]", "input_lens[]",
                                "output_lens[]", "errors[]",    "itls[][]"};

double at(std::span<const double> list, std::size_t i) {
  return i < list.size() ? list[i] : RequestTimes::kUnknown;
}

// The i-th request; the arrays also contain failed ones, with zeros.
RequestTimes vllm_request(const ResultValues& values, std::size_t i) {
  const double ttft_s = at(values.list("ttfts[]"), i);
  double latency_s = at(values.list("latencies[]"), i);
  if (std::isnan(latency_s)) latency_s = ttft_s + at(values.list("itls[][]"), i);
  RequestTimes request;
  const bool has_answer = latency_s > 0 || at(values.list("output_lens[]"), i) != 0;
  request.failed = at(values.list("errors[]"), i) == 1 || !has_answer;
  request.start_s = at(values.list("start_times[]"), i);
  if (request.failed || !(latency_s > 0)) return request;
  request.stated_ttft_s = ttft_s;
  request.stated_e2e_s = latency_s;
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

// Of --goodput; the colon is in the name.
constexpr std::string_view kGoodput = "request_goodput:";

// Those with a start count as listed; the others say only how long they took.
void list_requests(const ResultScope& scope, LoadReading& reading) {
  if (!scope.files.request) return;
  const std::size_t starts = scope.values.list("start_times[]").size();
  const std::size_t count = std::max(starts, scope.values.list("ttfts[]").size());
  for (std::size_t i = 0; i < count; ++i) {
    const RequestTimes request = vllm_request(scope.values, i);
    if (i < starts) reading.requests.take(request);
    scope.files.request(request);
  }
}

}  // namespace

// ---- SGLang: sglang.bench_serving --output-file, a line for each run.
// sgl-project/sglang: python/sglang/bench_serving.py, python/sglang/benchmark/serving.py.

namespace {

LoadReading conclude_sglang(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading = conclude_serving(scope);
  if (const auto tp = values.count("server_info.tp_size")) {
    const auto pp = values.count("server_info.pp_size").value_or(1);
    const bool shares = values.text("server_info.enable_dp_attention") == "true";
    const auto dp = shares ? 1 : values.count("server_info.dp_size").value_or(1);
    reading.gpus =
        whole_count(static_cast<double>(*tp) * static_cast<double>(pp) * static_cast<double>(dp));
  }
  list_requests(scope, reading);
  return reading;
}

}  // namespace

const ResultFormat kSglang = {
    .generator = "SGLang",
    .marks = {"backend", "dataset_name", "sharegpt_output_len", "duration",
              "total_output_tokens_retokenized"},
    .other_marks = {"backend", "completed", "concurrency", "dataset_name", "duration"},
    .texts = JsonTexts::several,
    .settings = {"dataset_name", "tag"},
    .fields = {"server_info.tp_size", "server_info.pp_size", "server_info.dp_size",
               "server_info.enable_dp_attention"},
    .is_serving = true,
    .request_lists = kVllmRequestLists,
    .no_window = "SGLang writes no times",
    .conclude = conclude_sglang};

// ---- TensorRT-LLM: tensorrt_llm.serve.scripts.benchmark_serving, and trtllm-bench with
// --report_json and --request_json. NVIDIA/TensorRT-LLM:
// tensorrt_llm/serve/scripts/benchmark_serving.py, tensorrt_llm/bench/dataclasses/reporting.py.

namespace {

LoadReading conclude_trt_serving(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading = conclude_serving(scope);
  const auto prompts = values.count("num_prompts");
  const auto completed = values.count("completed");
  if (prompts && completed && *prompts > *completed) {
    reading.failed_requests = static_cast<std::uint64_t>(*prompts - *completed);
  }
  reading.stated_energy_j = values.number("energy.total_energy_j");
  reading.stated_goodput_per_s = values.number(kGoodput);
  list_requests(scope, reading);
  return reading;
}

LoadReading conclude_trt_report(const ResultScope& scope) {
  LoadReading reading = stated_reading(scope);
  reading.gpus = scope.values.count("world_info.world_size");
  return reading;
}

std::optional<RequestTimes> trt_request(const ResultValues& values, RequestTimes request) {
  const auto seconds = [&](std::string_view field) {
    const auto ns = values.number(field);
    return ns && *ns > 0 ? *ns / kNanosInSecond : RequestTimes::kUnknown;  // -1: not streaming
  };
  request.start_s = seconds("start_timestamp");
  request.first_token_s = seconds("first_token_timestamp");
  request.end_s = seconds("end_timestamp");
  request.failed = values.number("error_tokens").value_or(0) > 0;
  return request;
}

}  // namespace

const ResultFormat kTensorRtLlmServing = {
    .generator = "TensorRT-LLM",
    .marks = {"date", "backend", "tokenizer_id", "num_prompts", "duration", "user_throughput",
              "avg_decoded_tokens_per_iter"},
    .other_marks = {"avg_decoded_tokens_per_iter", "backend", "burstiness", "completed", "date",
                    "duration"},
    .texts = JsonTexts::several,
    .fields = {"energy.total_energy_j", kGoodput},
    .is_serving = true,
    .request_lists = kVllmRequestLists,
    .no_window = "TensorRT-LLM writes only the second in which it ended ('date', local time)",
    .conclude = conclude_trt_serving};

const ResultFormat kTensorRtLlmReport = {
    .generator = "trtllm-bench",
    .marks = {"engine", "world_info", "request_info", "performance"},
    .counts = {.completed = "request_info.num_requests",
               .mean_input = "request_info.avg_input_length",
               .mean_output = "request_info.avg_output_length",
               .duration = "performance.total_latency_ms",
               .duration_units = 1e3,
               .requests_per_s = "performance.request_throughput_req_s",
               .output_per_s = "performance.system_output_throughput_tok_s",
               .tokens_per_s = "performance.system_total_throughput_tok_s"},
    .settings = {"engine.model"},
    .fields = {"world_info.world_size"},
    .no_window = "trtllm-bench writes no times into its report",
    .conclude = conclude_trt_report};

const ResultFormat kTensorRtLlmRequests = {
    .generator = "trtllm-bench requests",
    .marks = {"[].start_timestamp", "[].end_timestamp", "[].num_input_tokens"},
    .is_whole_file = true,
    .request = "[]",
    .request_paths = {.input_tokens = "num_input_tokens",
                      .output_tokens = "num_output_tokens",
                      .id = "id"},
    .request_fields = {"start_timestamp", "first_token_timestamp", "end_timestamp", "error_tokens"},
    .request_of = trt_request,
    .clock = RequestClock::monotonic,
    .no_window = "trtllm-bench writes the requests' times by the machine's monotonic clock only"};

// ---- vLLM: `vllm bench serve --save-result`, benchmark_serving.py and the Rust vllm-bench;
// InferenceX's older results have the same layout. vllm-project/vllm: vllm/benchmarks/serve.py.

namespace {

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

// Why the counts have requests twice that the arrays list twice; empty: they do not.
std::string double_count(const ResultValues& values, std::int64_t completed) {
  constexpr double kMostMore = 1.01;
  const auto starts = values.list("start_times[]");
  const auto latencies = values.list("latencies[]");
  SeenRequests seen;
  std::int64_t listed = 0;
  std::int64_t repeated = 0;
  for (std::size_t i = 0; i < std::min(starts.size(), latencies.size()); ++i) {
    if (!(starts[i] > 0 && latencies[i] > 0)) continue;
    ++listed;
    const bool is_again =
        seen.is_repeated({}, {.start_s = starts[i], .end_s = starts[i] + latencies[i]});
    repeated += is_again ? 1 : 0;
  }
  std::string doubt = seen.doubt();
  if (!doubt.empty()) repeated = std::max(repeated, listed / 2);
  const bool is_counted =
      static_cast<double>(completed) > kMostMore * static_cast<double>(listed - repeated);
  if (repeated == 0 || !is_counted) return {};
  if (!doubt.empty()) return doubt;
  return fmt::format(
      "{} of its {} requests are listed twice with the same times, and 'completed' counts them twice: give a result that has each request once",
      repeated, listed);
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
  reading.defect = double_count(scope.values, reading.work.completed);
  reading.has_wrong_counts = !reading.defect.empty();
  reading.clues.monotonic = monotonic_window(scope.values, reading.work.reported_duration_s);
  if (reading.clues.monotonic) {
    reading.no_window = "vLLM writes the requests' times by the machine's monotonic clock only";
  }
  reading.stated_goodput_per_s = scope.values.number(kGoodput);
  list_requests(scope, reading);
  return reading;
}

}  // namespace

const ResultFormat kVllm = {
    .generator = "vLLM",
    .marks = {"date", "backend", "tokenizer_id", "num_prompts", "duration"},
    .other_marks = {"backend", "burstiness", "completed", "date", "duration"},
    .texts = JsonTexts::several,
    .fields = {"best_of", "start_times[]", "latencies[]", kGoodput},
    .is_serving = true,
    .request_lists = kVllmRequestLists,
    .no_window = "vLLM writes only the second in which it ended ('date', local time)",
    .conclude = conclude_vllm};

}  // namespace aggregate_power
