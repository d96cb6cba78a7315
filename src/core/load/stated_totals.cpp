// The names of failed requests and of rates in results.
#include "core/load/stated_totals.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "core/load/benchmark.h"

namespace aggregate_power {
namespace {

enum class Total {
  failed,     // all requests that failed
  stopped,    // some of them: other kinds may have failed too
  requested,  // with the failed ones
  planned,    // a load of limited time may send fewer
  warm_up,    // of the requested ones; they are not in `completed`
  messages,   // a list with a text for each failed request, or an empty one for each good one
  success_rate,
  failure_rate,
  output_rate,  // tokens in a second
  input_rate,
  token_rate,  // of both
  request_rate,
  output_lengths,  // a list, by request
  output_length,   // of each request, as it was asked for
  recounted,       // output tokens by another tokenizer
};
struct TotalName {
  std::string_view path;
  Total total;
};

struct TotalPaths {
  Total total;
  std::string_view paths;  // with a blank between
};
constexpr TotalPaths kTotalPaths[] = {
    {Total::failed,
     "failed num_failed n_failed failed_requests num_failed_requests number_failed_requests "
     "requests_failed failed_count failed_request_count failures num_failures failure_count "
     "errors num_errors number_errors results_number_errors error_count error_requests "
     "num_error_requests errored_requests errored unsuccessful_requests requests.failed "
     "requests.errors requests.errored request_counts.failed request_counts.errors "
     "request_counts.errored"},
    {Total::stopped,
     "timeouts num_timeouts timeout_count timed_out timed_out_requests aborted num_aborted "
     "aborted_requests cancelled num_cancelled cancelled_requests canceled num_canceled "
     "dropped_requests num_dropped rejected_requests num_rejected"},
    {Total::requested,
     "num_prompts total_requests num_total_requests requests_total requests_sent "
     "num_requests_started requests.total requests.sent request_counts.total request_counts.sent"},
    {Total::planned, "num_requests n_requests"},
    {Total::warm_up, "num_warmups num_warmup num_warmup_requests warmup_requests"},
    {Total::messages, "errors[] error_messages[] failures[] outcome[] outcomes[] statuses[]"},
    {Total::success_rate, "success_rate request_success_rate"},
    {Total::failure_rate, "error_rate request_error_rate failure_rate"},
    {Total::output_rate, "output_throughput output_token_throughput"},
    {Total::input_rate, "input_throughput"},
    {Total::token_rate, "total_throughput total_token_throughput"},
    {Total::request_rate, "request_throughput"},
    {Total::output_lengths, "output_lens[]"},
    {Total::recounted, "total_output_tokens_retokenized"},
    {Total::output_length,
     "random_output_len sharegpt_output_len sonnet_output_len custom_output_len output_len osl"},
};

std::span<const TotalName> totals() {
  static const std::vector<TotalName> names = [] {
    std::vector<TotalName> all;
    for (const TotalPaths& of_total : kTotalPaths) {
      for (const std::string_view path : separated(of_total.paths)) {
        all.push_back({path, of_total.total});
      }
    }
    return all;
  }();
  return names;
}

// The share of all requests that a rate states: 0.4, 40 and "40%". Above 1 it is in percent, and so
// is 1 if that cannot be `all` of them.
std::optional<double> share_of(const ResultValues& values, std::string_view path, bool may_be_all) {
  std::string text = values.text(path);
  const bool has_sign = text.ends_with('%');
  if (has_sign) text.pop_back();
  const double number = number_of(JsonKind::string, strip(text));
  if (!(number >= 0 && number <= 100)) return std::nullopt;
  const bool is_percent = has_sign || (may_be_all ? number > 1 : number >= 1);
  return is_percent ? number / 100 : number;
}

// The failed requests by one name.
struct Failed {
  std::int64_t count = 0;
  std::string_view path = {};

  void take(std::int64_t other, std::string_view by) {
    if (other > count) *this = {other, by};
  }
};

Failed failed_of(const ResultValues& values, std::int64_t completed) {
  Failed failed;
  Failed stopped;
  std::int64_t warm_up = 0;
  for (const TotalName& name : totals()) {
    const auto count = values.count(name.path);
    if (name.total == Total::failed && count) failed.take(*count, name.path);
    if (name.total == Total::stopped && count) stopped = {stopped.count + *count, name.path};
    if (name.total == Total::warm_up && count) warm_up = std::max(warm_up, *count);
    if (name.total != Total::messages) continue;
    failed.take(std::ranges::count(values.list(name.path), 1.0), name.path);
  }
  failed.take(stopped.count, stopped.path);
  for (const TotalName& name : totals()) {
    const auto count = values.count(name.path);
    if (name.total == Total::requested && count) {
      failed.take(*count - warm_up - completed, name.path);
    }
  }
  return failed;
}

std::string failure_by_rates(const ResultValues& values) {
  for (const TotalName& name : totals()) {
    const bool is_success = name.total == Total::success_rate;
    if (!is_success && name.total != Total::failure_rate) continue;
    const auto stated = share_of(values, name.path, is_success);
    if (!stated) continue;
    const double share = is_success ? 1 - *stated : *stated;
    // What a double adds to 1 - 0.95 is no request.
    if (share > kMaxFailureRate + 1e-9) {
      return fmt::format("'{}' is {}: at most {:g} % of the requests may fail", name.path,
                         values.text(name.path), kMaxFailureRate * 100);
    }
  }
  return {};
}

std::string_view without_brackets(std::string_view path) { return path.substr(0, path.find('[')); }

// Half of the last digit of a number as it is written.
double rounding_of(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == text.npos) return 0.5;
  return 0.5 * std::pow(10, -static_cast<double>(text.size() - point - 1));
}

bool contradict_each_other(double one, double other, double rounding) {
  const double apart = std::abs(one - other);
  return apart > 0.05 * std::max(one, other) && apart > 1 && apart > rounding;
}

std::optional<Rated> rated_by(Total total, const ResultValues& values) {
  const auto input = values.number("total_input_tokens");
  const auto output = values.number("total_output_tokens");
  switch (total) {
    case Total::output_rate:
      return Rated{"output tokens", "total_output_tokens", output};
    case Total::input_rate:
      return Rated{"input tokens", "total_input_tokens", input};
    case Total::token_rate:
      return Rated{"tokens", "total_input_tokens and total_output_tokens",
                   input && output ? std::optional(*input + *output) : std::nullopt};
    case Total::request_rate:
      return Rated{"requests", "completed", values.number("completed")};
    default:
      return std::nullopt;
  }
}

std::string contradiction_of(const TotalName& name, const ResultValues& values) {
  if (name.total == Total::output_lengths) {
    const std::span<const double> lengths = values.list(name.path);
    const auto stated = values.number("total_output_tokens");
    const double sum = summed(lengths);  // NaN: not all are numbers
    if (lengths.empty() || !stated || !contradict_each_other(sum, *stated, 0)) return {};
    return fmt::format("'output_lens' have {:.0f} tokens together, 'total_output_tokens' is {:.0f}",
                       sum, *stated);
  }
  if (name.total == Total::recounted) {
    return recount_text("total_output_tokens", values.number("total_output_tokens").value_or(0),
                        name.path, values.number(name.path).value_or(0));
  }
  const auto rated = rated_by(name.total, values);
  const auto duration_s = values.number("duration");
  if (!rated || !duration_s) return {};
  return rate_contradiction(name.path, *rated, "duration", *duration_s, values);
}

// A request that failed has no tokens there.
std::string contradiction_of_zeros(const ResultValues& values, std::int64_t completed) {
  const std::span<const double> lengths = values.list("output_lens[]");
  const auto zeros = std::ranges::count(lengths, 0.0);
  const auto good = static_cast<double>(std::ssize(lengths) - zeros);
  if (zeros == 0 || !contradict_each_other(good, static_cast<double>(completed), 0)) return {};
  return fmt::format("{} of {} requests in 'output_lens' have a token, 'completed' is {}", good,
                     lengths.size(), completed);
}

std::string contradiction_of_counts(const ResultValues& values, std::int64_t completed) {
  const auto requested = values.count("num_prompts");
  if (!requested || completed <= *requested) return {};
  return fmt::format("{} requests completed, 'num_prompts' is {}", completed, *requested);
}

// A client that counts responses, or a server that does not stream, has one for each request.
std::string one_token_text(const ResultValues& values, std::int64_t completed) {
  const auto output = values.count("total_output_tokens");
  if (!output || *output == 0 || *output > completed) return {};
  for (const TotalName& name : totals()) {
    if (name.total != Total::output_length) continue;
    const auto length = values.count(name.path);
    if (!length || *length < 2) continue;
    return fmt::format(
        "{} output tokens for {} requests, and '{}' is {}: the client seems to have counted responses, and the energy per output token is too high",
        *output, completed, name.path, *length);
  }
  return {};
}

}  // namespace

std::span<const std::string_view> total_paths() {
  static const auto paths = mapped<std::string_view>(totals(), &TotalName::path);
  return paths;
}

std::string recount_text(std::string_view name, double tokens, std::string_view other_name,
                         double other_tokens) {
  constexpr double kMostApart = 1.4;
  if (!(tokens > 0 && other_tokens > 0) ||
      std::max(tokens, other_tokens) <= kMostApart * std::min(tokens, other_tokens)) {
    return {};
  }
  return fmt::format("'{}' is {:.0f}, and '{}' is {:.0f}: the energy per output token is of '{}'",
                     name, tokens, other_name, other_tokens, name);
}

std::string rate_contradiction(std::string_view rate, const Rated& rated, std::string_view duration,
                               double duration_s, const ResultValues& values) {
  const auto stated = values.number(rate);
  if (!stated || !rated.count) return {};
  const double by_rate = *stated * duration_s;
  const double rounding = rounding_of(values.text(rate)) * duration_s;
  if (!contradict_each_other(by_rate, *rated.count, rounding)) return {};
  return fmt::format("'{}' times '{}' is {:.0f} {}, '{}' {:.0f}", rate, duration, by_rate,
                     rated.what, rated.path, *rated.count);
}

void judge_totals(const ResultValues& values, LoadReading& reading) {
  const auto note = [&](const std::string& contradiction) {
    if (contradiction.empty()) return;
    reading.notes.push_back(fmt::format("{}{}", kContradiction, contradiction));
  };
  for (const TotalName& name : totals()) note(contradiction_of(name, values));
  const auto completed = values.count("completed");
  if (!completed || *completed == 0) return;
  note(contradiction_of_counts(values, *completed));
  note(contradiction_of_zeros(values, *completed));
  if (std::string text = one_token_text(values, *completed); !text.empty()) {
    reading.notes.push_back(std::move(text));
  }
  for (const TotalName& name : totals()) {
    const auto planned = name.total == Total::planned ? values.count(name.path) : std::nullopt;
    if (!planned || failure_by_counts(static_cast<std::uint64_t>(
                                          std::max<std::int64_t>(0, *planned - *completed)),
                                      *completed)
                        .empty()) {
      continue;
    }
    reading.notes.push_back(fmt::format(
        "'{}' is {}, and {} requests completed: if the others were sent, they drew power too",
        name.path, *planned, *completed));
  }
  const Failed failed = failed_of(values, *completed);
  const auto count = static_cast<std::uint64_t>(failed.count);
  // Unless the rules take `completed` for no count, as 100.0.
  if (reading.work.completed == *completed) {
    reading.failed_requests = std::max(reading.failed_requests, count);
  }
  if (!reading.failure.empty()) return;
  reading.failure = failure_by_counts(count, *completed);
  if (!reading.failure.empty()) {
    reading.failure = fmt::format("'{}': {}", without_brackets(failed.path), reading.failure);
  }
  if (reading.failure.empty()) reading.failure = failure_by_rates(values);
}

}  // namespace aggregate_power

// ---- Settings: the spellings of load generators, and of scripts around them

namespace aggregate_power::loads {

namespace {

struct Spellings {
  std::string_view name;
  std::string_view keys;  // with a blank between
};
constexpr Spellings kSpellings[] = {
    {"hw", "hw hardware gpu_model"},
    {"framework", "framework engine"},
    {"backend", "backend"},
    {"model", "model_id model model_name model_filename"},
    {"precision", "precision dtype"},
    {"quantization", "quantization"},
    {"tp", "tp tp_size tensor_parallel_size"},
    {"pp", "pp pp_size pipeline_parallel_size"},
    {"ep", "ep ep_size expert_parallel_size"},
    {"dp", "dp dp_size data_parallel_size"},
    {"dp_attention", "dp_attention enable_dp_attention"},
    {"dataset", "dataset_name"},
    {"scenario_type", "scenario"},
    {"input_len", "input_len random_input_len isl n_prompt"},
    {"output_len", "output_len random_output_len osl n_gen"},
    {"conc", "max_concurrency conc num_concurrency num_concurrent_requests streams"},
    {"request_rate", "request_rate rate"},
    {"num_prompts", "num_prompts"},
    {"batch_size", "batch_size"},
    {"max_num_seqs", "max_num_seqs"},
};

}  // namespace

std::span<const SettingName> setting_names() {
  static const std::vector<SettingName> names = [] {
    std::vector<SettingName> all;
    for (const Spellings& setting : kSpellings) {
      for (const std::string_view key : separated(setting.keys)) all.push_back({key, setting.name});
    }
    return all;
  }();
  return names;
}

std::string_view setting_name(std::string_view path) {
  const std::string_view key = path.substr(path.rfind('.') + 1);
  const auto found = std::ranges::find(setting_names(), key, &SettingName::key);
  return found == setting_names().end() ? std::string_view() : found->name;
}

}  // namespace aggregate_power::loads
