// Draws what the load did over time: its requests in flight and its tokens per second.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "chart/curve.h"
#include "runs/picture/picture.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kColumns = 600;

// A line that keeps each value until the next one, from 0.
class Steps {
 public:
  void add(double x, double y) {
    line_.add(x, value_);
    line_.add(x, y);
    value_ = y;
  }
  std::vector<Polyline> lines() const { return line_.lines(); }

 private:
  Decimator line_{kColumns};
  double value_ = 0;
};

Panel panel_of(std::string title, std::string label, std::vector<Polyline> lines) {
  Panel panel{.y = {.title = std::move(title)}, .height = kLoadPanelHeight};
  panel.series.push_back({.label = std::move(label), .is_ink = true, .lines = std::move(lines)});
  return panel;
}

Panel in_flight_panel(const std::vector<RequestTimes>& requests, double start_s) {
  std::vector<std::pair<double, int>> changes;
  for (const RequestTimes& request : requests) {
    changes.emplace_back(request.start_s, 1);
    changes.emplace_back(request.end_s, -1);
  }
  std::ranges::sort(changes);  // at one instant the ends come first
  Steps steps;
  int in_flight = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    in_flight += changes[i].second;
    const bool is_last = i + 1 == changes.size() || changes[i + 1].first > changes[i].first;
    if (is_last) steps.add(changes[i].first - start_s, in_flight);
  }
  return panel_of("requests", "requests in flight", steps.lines());
}

// Tokens per second in columns of equal width.
class TokenRate {
 public:
  explicit TokenRate(Window span) : span_(span) {
    const double columns = std::ceil(span.duration_s());  // none shorter than 1 s
    tokens_.resize(static_cast<std::size_t>(std::clamp(columns, 1.0, kMostColumns)));
    width_s_ = span.duration_s() / static_cast<double>(tokens_.size());
  }

  // Spread evenly over their time.
  void add(double from_s, double to_s, std::int64_t tokens) {
    if (tokens <= 0) return;
    const double first = place(from_s);
    const double last = std::max(place(to_s), first);
    for (auto i = static_cast<std::size_t>(first); i < tokens_.size(); ++i) {
      const auto column = static_cast<double>(i);
      const double part = std::min(last, column + 1) - std::max(first, column);
      const double share = last > first ? part / (last - first) : 1;
      tokens_[i] += static_cast<double>(tokens) * share;
      if (last <= column + 1) break;
    }
    is_known_ = true;
  }

  bool is_known() const { return is_known_; }

  std::vector<Polyline> lines(double start_s) const {
    Steps steps;
    const double from = span_.start_unix_s - start_s;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      steps.add(from + static_cast<double>(i) * width_s_, tokens_[i] / width_s_);
    }
    steps.add(from + span_.duration_s(), 0);
    return steps.lines();
  }

 private:
  static constexpr double kMostColumns = 300;

  double place(double unix_s) const {
    const auto columns = static_cast<double>(tokens_.size());
    return std::clamp((unix_s - span_.start_unix_s) / width_s_, 0.0, std::nextafter(columns, 0.0));
  }

  Window span_;
  double width_s_ = 1;
  std::vector<double> tokens_;
  bool is_known_ = false;
};

}  // namespace

std::vector<Panel> load_panels(const PowerPicture& picture) {
  std::vector<RequestTimes> requests = picture.requests;
  std::erase_if(requests, [](const RequestTimes& request) { return !request.has_times(); });
  if (requests.empty()) return {};
  Window span{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const RequestTimes& request : requests) {
    span.start_unix_s = std::min(span.start_unix_s, request.start_s);
    span.end_unix_s = std::max(span.end_unix_s, request.end_s);
  }
  const double start_s = picture.start_unix_s();
  std::vector<Panel> panels = {in_flight_panel(requests, start_s)};
  if (!(span.duration_s() > 0)) return panels;
  TokenRate input(span);
  TokenRate output(span);
  for (const RequestTimes& request : requests) {
    // What a failed request did is not known. Without a first token, prefill is not known either.
    if (request.failed) continue;
    const bool has_first = request.first_token_s >= request.start_s;
    if (has_first) input.add(request.start_s, request.first_token_s, request.input_tokens);
    output.add(has_first ? request.first_token_s : request.start_s, request.end_s,
               request.output_tokens);
  }
  if (input.is_known()) {
    panels.push_back(panel_of("tokens/s", "prefill: input tokens/s", input.lines(start_s)));
  }
  if (output.is_known()) {
    panels.push_back(panel_of("tokens/s", "decode: output tokens/s", output.lines(start_s)));
  }
  return panels;
}

}  // namespace aggregate_power
