// Adds up the shares of requests in a window.
#include "generators/requests_in_window.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/load/benchmark.h"
#include "core/load/result_values.h"

namespace aggregate_power {
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
      100 * share);
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
