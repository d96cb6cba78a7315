// Generators that write no times at all: genai-bench and torchbench's userbenchmark.
#include <cmath>

#include "generators/formats.h"
#include "generators/vllm_like.h"

namespace aggregate_power {
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

}  // namespace aggregate_power
