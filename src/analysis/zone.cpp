// UTC offsets by evidence.
#include "aggregate_power/analysis/zone.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

#include <fmt/format.h>

namespace aggregate_power {
namespace {

constexpr std::int32_t kQuarter_s = 900;
constexpr std::int32_t kFirstOffset_s = -12 * 3600;
constexpr std::int32_t kLastOffset_s = 14 * 3600;
constexpr double kHour_s = 3600;
constexpr double kOffsets = (kLastOffset_s - kFirstOffset_s) / kQuarter_s + 1;
constexpr double kAround_s = 60;  // of the curve, beyond what any offset asks for

// A clock that is turned shows in a jump of the step, and the interval to the next reading.
constexpr double kLongestPause_s = 15;
// Rows of several devices are out of order by less.
constexpr double kDisorder_s = 60;

constexpr std::size_t kLongestInterval_s = 5;
// A load whose edges are only near the window's, or one of much less power, may be the right one if
// it has such a share of the winner's edge.
constexpr double kRivalShare = 0.1;
// The mean power inside a window is so much of the way up from idle to the load.
constexpr double kFilled = 0.4;
// How many offsets may be expected to fit by accident: with any rise and any fall; with loads as
// long as the window.
struct Accidents {
  double any;
  double loads_as_long;
};
constexpr Accidents kMostOfSeveral = {2e-3, 0.05};
// Where one offset alone covers the window, it is wrong only if the recording is another run's.
constexpr Accidents kMostOfOne = {2e-2, 0.2};
constexpr double kTooNearStep_s = 10;

std::string why_unusable(Window window) {
  const double duration_s = window.duration_s();
  if (!(duration_s >= ZoneEvidence::kShortest_s)) {
    return fmt::format("the window is shorter than {} s", ZoneEvidence::kShortest_s);
  }
  if (!(duration_s <= ZoneEvidence::kLongest_s)) {
    return fmt::format("the window is longer than {} days", ZoneEvidence::kLongest_s / 86400);
  }
  return {};
}

// The window's start lies on a second of the curve in every offset. A clock that was turned back
// goes on for an hour beyond the last offset.
CurveGatherer gatherer_for(Window window) {
  if (!why_unusable(window).empty()) return {0, 0};
  const double first_s = window.start_unix_s + kFirstOffset_s - kAround_s;
  const double last_s = window.end_unix_s + kLastOffset_s + kHour_s + kAround_s;
  return {first_s, static_cast<std::size_t>(last_s - first_s)};
}

double share_of(std::span<const Edge> edges, double height_w) {
  const auto known = std::ranges::count_if(edges, &Edge::known);
  const auto such = std::ranges::count_if(
      edges, [&](const Edge& edge) { return edge.sits() && edge.height_w >= height_w; });
  return known > 0 ? static_cast<double>(such) / static_cast<double>(known) : 0;
}

// Seconds at which a window of `duration_s` would fit.
double fitting_s(const Edges& edges, std::size_t duration_s, double height_w) {
  double seconds = 0;
  for (std::size_t i = 0; i + duration_s < edges.falls().size(); ++i) {
    const Edge& rise = edges.rises()[i];
    const Edge& fall = edges.falls()[i + duration_s];
    if (rise.sits() && fall.sits() && std::min(rise.height_w, fall.height_w) >= height_w) ++seconds;
  }
  return seconds;
}

}  // namespace

Zone ZoneCandidate::zone() const {
  return step ? Zone::stepping(step->offset_before_s, step->unix_s, step->offset_after_s)
              : Zone::fixed(offset_s);
}

// A candidate, and where it has the window on the curve.
struct ZoneEvidence::Placed {
  ZoneCandidate candidate;
  Window window;
  Edge rise = {};
  Edge fall = {};
  double inside_w = 0;

  double edge_w() const { return candidate.edge_w; }

  void measure(const PowerCurve& curve, const Edges& edges) {
    const std::ptrdiff_t start = std::llround(window.start_unix_s - curve.first_s);
    const std::ptrdiff_t end = std::llround(window.end_unix_s - curve.first_s);
    constexpr std::ptrdiff_t kIn = Edges::kInside_s;
    rise = edges.rises()[static_cast<std::size_t>(start)];
    fall = edges.falls()[static_cast<std::size_t>(end)];
    inside_w = edges.sums().between(start + kIn, end - kIn).mean_w;
    candidate.edge_w = std::max(0.0F, std::min(rise.height_w, fall.height_w));
  }

  bool fits() const { return fits(rise) && fits(fall); }

  // Whether it may be the right one although the winner fits.
  bool rivals(const Placed& winner) const {
    // However weak its load is beside the winner's: the strong one may be another run's.
    if (fits()) return true;
    const double least_w = kRivalShare * winner.edge_w();
    const bool rises = rise.highest_visible_near_w >= least_w;
    const bool falls = fall.highest_visible_near_w >= least_w;
    // One edge is enough if power is up all along: other loads may hide the second. But a step of
    // the clock may let two candidates share an edge, and then the one with both is right.
    const auto is_up = [&](const Edge& edge) { return is_filled(edge, least_w); };
    return (rises && falls) ||
           (rises && is_up(rise) && window.start_unix_s != winner.window.start_unix_s) ||
           (falls && is_up(fall) && window.end_unix_s != winner.window.end_unix_s);
  }

 private:
  // Between the rise of one load and the fall of another there may be nothing.
  bool is_filled(const Edge& edge, double height_w) const {
    return inside_w >= edge.idle_w + kFilled * height_w;
  }
  bool fits(const Edge& edge) const { return edge.sits() && is_filled(edge, edge.height_w); }
};

ZoneEvidence::ZoneEvidence(Window window)
    : window_(window), refusal_(why_unusable(window)), curve_(gatherer_for(window)) {}

void ZoneEvidence::take(std::span<const Reading> readings, std::int32_t assumed_offset_s) {
  if (!refusal_.empty()) return;
  for (const Reading& reading : readings) {
    if (reading.kind != Reading::Kind::power) continue;
    if (reading.device >= clocks_.size()) clocks_.resize(reading.device + 1);
    Clock& clock = clocks_[reading.device];
    const double wall_s = reading.unix_s + assumed_offset_s;
    const double jump_s = wall_s - clock.wall_s;
    if (jump_s < -kDisorder_s || jump_s > kHour_s / 2) notice_jump(clock, wall_s);
    clock.wall_s = wall_s;
    const double at_s = wall_s + clock.turned_back_s;
    curve_.add(at_s, reading.watts);
    first_s_ = std::min(first_s_, at_s);
    last_s_ = std::max(last_s_, at_s);
  }
}

// Clocks are turned at a quarter hour of their own, by an hour or, on Lord Howe, by half of one.
// Whatever else goes back is another series of the same device.
void ZoneEvidence::notice_jump(Clock& clock, double wall_s) {
  const double before_s = clock.wall_s;
  const double sign = wall_s < before_s ? -1 : 1;
  for (const double size_s : {kHour_s, kHour_s / 2}) {
    const double unturned_s = wall_s - sign * size_s;
    const Step step{std::floor(unturned_s / kQuarter_s) * kQuarter_s, sign * size_s};
    if (unturned_s - before_s > kLongestPause_s || step.at_s <= before_s) continue;
    more_steps_ = more_steps_ || (step_ && *step_ != step);
    step_ = step_.value_or(step);
    if (sign > 0 || *step_ != step) return;
    clock.turned_back_s = size_s;
    shown_twice_ = {std::min(shown_twice_.start_unix_s, step.at_s - size_s),
                    std::max(shown_twice_.end_unix_s, step.at_s + size_s)};
    return;
  }
  if (sign > 0) return;
  shown_twice_ = {std::min(shown_twice_.start_unix_s, wall_s + clock.turned_back_s),
                  std::max(shown_twice_.end_unix_s, before_s + clock.turned_back_s)};
}

std::vector<ZoneEvidence::Placed> ZoneEvidence::covering() const {
  std::vector<Placed> placed;
  const auto place = [&](std::int32_t offset_s, Window window,
                         std::optional<ZoneCandidate::Step> step) {
    if (first_s_ > window.start_unix_s || last_s_ < window.end_unix_s) return;
    placed.push_back({.candidate = {.offset_s = offset_s, .step = step}, .window = window});
  };
  for (std::int32_t offset_s = kFirstOffset_s; offset_s <= kLastOffset_s; offset_s += kQuarter_s) {
    const Window wall{window_.start_unix_s + offset_s, window_.end_unix_s + offset_s};
    if (!step_) {
      place(offset_s, wall, {});
      continue;
    }
    const auto forward_s = static_cast<std::int32_t>(step_->forward_s);
    const auto at_s = static_cast<std::int64_t>(step_->at_s);
    const ZoneCandidate::Step next{offset_s, at_s - offset_s, offset_s + forward_s};
    const ZoneCandidate::Step past{offset_s - forward_s, at_s - offset_s + forward_s, offset_s};
    if (forward_s > 0) {
      // The jump may as well be a pause of the recorder. That matters to a window across it only.
      place(offset_s, wall, {});
      if (wall.start_unix_s < step_->at_s && wall.end_unix_s >= step_->at_s) {
        place(offset_s, {wall.start_unix_s, wall.end_unix_s + forward_s}, next);
      }
    } else {
      const Window later{wall.start_unix_s - forward_s, wall.end_unix_s - forward_s};
      if (wall.start_unix_s < step_->at_s) place(offset_s, wall, next);
      if (later.start_unix_s >= step_->at_s) place(offset_s, later, past);
    }
  }
  return placed;
}

// Doubt that comes from the recording's clock.
std::string ZoneEvidence::doubt_about(const Placed& placed) const {
  if (more_steps_) return "the recording's clock jumps by an hour more than once";
  if (placed.window.start_unix_s <= shown_twice_.end_unix_s + kTooNearStep_s &&
      placed.window.end_unix_s >= shown_twice_.start_unix_s - kTooNearStep_s) {
    return "the recording's clock goes back, and shows some of the window's time twice";
  }
  return {};
}

// Names all offsets that fit or may do so; empty when the best is alone.
std::string ZoneEvidence::rivals_of(const Placed& best, const std::vector<Placed>& placed) {
  std::string rivals;
  for (const Placed& each : placed) {
    if (&each == &best || !each.rivals(best)) continue;
    rivals += fmt::format(", {}", offset_text(each.candidate.offset_s));
  }
  if (rivals.empty()) return {};
  return fmt::format("more than one offset fits or nearly fits: {}{}",
                     offset_text(best.candidate.offset_s), rivals);
}

// Whether an offset may well fit by accident.
bool ZoneEvidence::is_common(const Placed& best, bool is_only_one, const Edges& edges) const {
  const double height_w = best.edge_w() / 2;
  const double duration_s = window_.duration_s();
  // So many offsets cover such a window in a recording so long, on average.
  const double offsets = std::min((last_s_ - first_s_ - duration_s) / kQuarter_s, kOffsets);
  const double by_accident =
      offsets * share_of(edges.rises(), height_w) * share_of(edges.falls(), height_w);
  const auto whole_s = static_cast<std::size_t>(std::llround(duration_s));
  const double by_loads_as_long = fitting_s(edges, whole_s, height_w) / kQuarter_s;
  const Accidents& most = is_only_one ? kMostOfOne : kMostOfSeveral;
  return by_accident > most.any || by_loads_as_long > most.loads_as_long;
}

// `placed` in order of their edges.
ZoneFinding ZoneEvidence::judge(const std::vector<Placed>& placed, const Edges& edges) const {
  ZoneFinding finding;
  for (const Placed& each : placed) finding.left.push_back(each.candidate);
  if (edges.interval_s() > kLongestInterval_s) {
    finding.why_none = fmt::format("readings are {} s apart, more than {} s", edges.interval_s(),
                                   kLongestInterval_s);
    return finding;
  }
  const auto best = std::ranges::find_if(placed, [](const Placed& each) { return each.fits(); });
  if (best == placed.end()) {
    finding.why_none = "no edges of the load lie on the window's edges";
    return finding;
  }
  finding.why_none = doubt_about(*best);
  if (finding.why_none.empty()) finding.why_none = rivals_of(*best, placed);
  if (finding.why_none.empty() && is_common(*best, placed.size() == 1, edges)) {
    finding.why_none = "edges such as those on the window's edges are common in the recording";
  }
  if (!finding.why_none.empty()) return finding;

  finding.winner = best->candidate;
  // No rival is higher, so the next in order is behind.
  finding.margin = placed.size() < 2 ? 1 : 1 - placed[1].edge_w() / best->edge_w();
  return finding;
}

ZoneFinding ZoneEvidence::finding() const {
  if (!refusal_.empty()) return {.why_none = refusal_};
  std::vector<Placed> placed = covering();
  if (placed.empty()) {
    return {.why_none = "the recording covers the window in no UTC offset", .none_covers = true};
  }

  // What is measured of a load stays inside the window, and so far away from its edges.
  const auto most_side_s = static_cast<std::size_t>(window_.duration_s()) - 2 * Edges::kInside_s;
  const PowerCurve curve = curve_.curve();
  const Edges edges(curve, most_side_s);
  for (Placed& each : placed) each.measure(curve, edges);
  std::ranges::stable_sort(placed, std::greater(),
                           [](const Placed& each) { return each.edge_w(); });
  return judge(placed, edges);
}

}  // namespace aggregate_power
