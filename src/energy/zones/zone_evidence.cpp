// Tries each UTC offset against the edges of a recording's load.
#include "energy/zones/zone_evidence.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace aggregate_power {
namespace {

using Stretch = CurveSums::Stretch;

constexpr double kFarthestWest_s = -12 * 3600;
constexpr double kFarthestEast_s = 14 * 3600;
constexpr double kHour_s = 3600;
constexpr double kAround_s = 60;  // beyond what any offset needs of the curve

// A clock change appears as a jump of the step plus the interval to the next reading.
constexpr double kLongestPause_s = 15;
// Rows of several devices are out of order by less than this.
constexpr double kDisorder_s = 60;

constexpr std::size_t kLongestInterval_s = 5;
// The mean power inside a window is at least this far up from idle to the load.
constexpr double kFilled = 0.4;
// Power is up if it exceeds the recording's idle power by this share of its strongest load, and by
// this many times the noise: less may be a model that is loaded and waits.
constexpr double kUpShare = 0.15;
constexpr double kUpNoises = 5;
constexpr double kMostUpShare = 0.3;
// A level this many times the noise above both its neighbourhoods may be a load.
constexpr double kContrastNoises = 4;
constexpr double kLeastContrast_w = 1;
constexpr std::ptrdiff_t kNeighbourhood_s = 20;
constexpr std::ptrdiff_t kLongestEnd_s = 60;
constexpr double kLeastOverlap_s = 3;
constexpr const char* kNoneCovers =
    "in no time zone does the recording cover the window: it may belong to another run";
// The number of offsets expected to fit by accident: with any rise and any fall, and with loads as
// long as the window.
struct Accidents {
  double any;
  double loads_as_long;
};
constexpr Accidents kMostOfSeveral = {2e-3, 0.05};
// If only one offset covers the window, it is wrong only if the recording is another run's.
constexpr Accidents kMostOfOne = {2e-2, 0.2};
constexpr double kTooNearStep_s = 10;

std::string why_unusable(Window window) {
  const double duration_s = window.duration_s();
  if (!(duration_s >= ZoneEvidence::kShortest_s)) {
    return fmt::format(
        "the window is shorter than {} s, too short to find the time zone by the power",
        ZoneEvidence::kShortest_s);
  }
  if (!(duration_s <= ZoneEvidence::kLongest_s)) {
    return fmt::format(
        "the window is longer than {} days, too long to find the time zone by the power",
        ZoneEvidence::kLongest_s / 86400);
  }
  return {};
}

// The window's start is on a second of the curve in every offset. A clock that was turned back goes
// on for an hour beyond the last offset.
CurveGatherer gatherer_for(Window window) {
  if (!why_unusable(window).empty()) return {0, 0};
  const double first_s = window.start_unix_s + kFarthestWest_s - kAround_s;
  const double last_s = window.end_unix_s + kFarthestEast_s + kHour_s + kAround_s;
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

// How far from a second of the curve the power passes the middle between two levels, where it does
// so next to it.
double crossing_off_s(const PowerCurve& curve, std::ptrdiff_t second, double from_w, double to_w) {
  constexpr auto kFar = static_cast<std::ptrdiff_t>(Edges::kNear_s);
  double nearest_s = kFar;
  double before_s = 0;
  double before = 1;
  const std::ptrdiff_t first = std::max<std::ptrdiff_t>(0, second - kFar);
  const std::ptrdiff_t stop = std::min(std::ssize(curve.seconds), second + kFar + 1);
  for (std::ptrdiff_t i = first; i < stop; ++i) {
    const PowerCurve::Second& each = curve.seconds[static_cast<std::size_t>(i)];
    if (each.readings == 0) continue;
    const double mean_w = each.sum_w / static_cast<double>(each.readings);
    const double share = (mean_w - from_w) / (to_w - from_w);
    const double at_s = static_cast<double>(i - second) + 0.5;
    if (before < 0.5 && share >= 0.5) {
      const double passed_s = before_s + (at_s - before_s) * (0.5 - before) / (share - before);
      nearest_s = std::min(nearest_s, std::abs(passed_s));
    }
    before_s = at_s;
    before = share;
  }
  return nearest_s;
}

// The power levels of a whole recording, and what distinguishes a load.
struct Levels {
  double idle_w = 0;
  double up_w = 0;        // power at or above this is not idle
  double contrast_w = 0;  // between neighbours; a difference of this much is not noise
};

Levels levels_of(const Edges& edges) {
  const auto [lowest_w, highest_w] = edges.extremes();
  Levels levels;
  levels.idle_w = lowest_w;
  // If power goes up and down all the time, its ups are still not idle time.
  const double range_w = highest_w - lowest_w;
  levels.up_w = lowest_w + std::min(std::max(kUpNoises * edges.block_noise_w(), kUpShare * range_w),
                                    kMostUpShare * range_w);
  levels.contrast_w = std::max(
      std::min(kContrastNoises * edges.block_noise_w(), kUpShare * range_w), kLeastContrast_w);
  return levels;
}

// The offset of a clock that does not change during the window.
std::optional<std::int32_t> steady_offset(const ClockHistory& history, Window window) {
  const std::int32_t offset_s = history.offset_at(window.start_unix_s);
  return history.offset_at(window.end_unix_s) == offset_s ? std::optional(offset_s) : std::nullopt;
}

std::set<std::int32_t> steady_offsets(Window window) {
  std::set<std::int32_t> offsets;
  for (const ClockHistory& history : clock_histories()) {
    if (const auto offset_s = steady_offset(history, window)) offsets.insert(*offset_s);
  }
  return offsets;
}

bool has_step(const ClockHistory& history, const ZoneCandidate::Step& step) {
  const auto at_s = static_cast<double>(step.unix_s);
  return history.offset_at(at_s - 1) == step.offset_before_s &&
         history.offset_at(at_s) == step.offset_after_s;
}

}  // namespace

Zone ZoneCandidate::zone() const {
  return step ? Zone::stepping(step->offset_before_s, step->unix_s, step->offset_after_s)
              : Zone::fixed(offset_s);
}

bool ZoneCandidate::is_of(const ClockHistory& history, Window window) const {
  return step ? has_step(history, *step) : steady_offset(history, window) == offset_s;
}

// A candidate, and the position of its window on the curve.
struct ZoneEvidence::Placed {
  ZoneCandidate candidate;
  Window window;
  Edge rise = {};
  Edge fall = {};
  Stretch inside = {};
  Stretch before = {};
  Stretch after = {};
  bool has_hole = false;

  double edge_w() const { return candidate.edge_w; }
  bool fits() const { return candidate.standing == ZoneCandidate::Standing::fits; }
  // The lower of the two levels beside the window, as far as they are known.
  double beside_w() const {
    if (before.filled == 0) return after.mean_w;
    return after.filled == 0 ? before.mean_w : std::min(before.mean_w, after.mean_w);
  }

  void measure(const PowerCurve& curve, const Edges& edges) {
    const std::ptrdiff_t start = std::llround(window.start_unix_s - curve.first_s);
    const std::ptrdiff_t end = std::llround(window.end_unix_s - curve.first_s);
    constexpr std::ptrdiff_t kIn = Edges::kInside_s;
    constexpr std::ptrdiff_t kOut = Edges::kOutside_s;
    rise = edges.rise_at(start);
    fall = edges.fall_at(end);
    const CurveSums& sums = edges.sums();
    inside = sums.between(start + kIn, end - kIn);
    before = sums.between(start - kOut - kNeighbourhood_s, start - kOut);
    after = sums.between(end + kOut, end + kOut + kNeighbourhood_s);
    has_hole = edges.has_hole(start, end);
    if (candidate.step && candidate.step->offset_after_s > candidate.step->offset_before_s) {
      // The skipped hour is not a hole.
      const auto& [before_s, unix_s, after_s] = *candidate.step;
      const std::ptrdiff_t step =
          std::llround(static_cast<double>(unix_s + before_s) - curve.first_s);
      has_hole = edges.has_hole(start, step) || edges.has_hole(step + after_s - before_s, end);
    }
    candidate.edge_w = std::max(0.0F, std::min(rise.height_w, fall.height_w));
    candidate.edges_off_s = std::max(crossing_off_s(curve, start, before.mean_w, inside.mean_w),
                                     crossing_off_s(curve, end, inside.mean_w, after.mean_w));
  }

  void judge(const PowerCurve& curve, const Edges& edges, const Levels& levels) {
    const bool has_edges = is_edge(rise) && is_edge(fall);
    if (candidate.covers && !has_hole && has_edges && contrast_w() >= levels.contrast_w) {
      candidate.standing = ZoneCandidate::Standing::fits;
    } else if (has_edges || contrast_w() >= levels.contrast_w || is_up(curve, edges, levels)) {
      candidate.standing = ZoneCandidate::Standing::possible;
    }
  }

 private:
  // There may be idle time between the rise of one load and the fall of another.
  bool is_edge(const Edge& edge) const {
    return edge.sits() && inside.mean_w >= edge.idle_w + kFilled * edge.height_w;
  }

  // How far the window's level is above both its neighbourhoods.
  double contrast_w() const {
    if (inside.filled == 0 || before.filled == 0 || after.filled == 0) return 0;
    return inside.mean_w - std::max(before.mean_w, after.mean_w);
  }

  // Whether power is up at both ends of the recorded part of the window, as far as is known. A
  // recording that begins or ends inside the window may have started late, or died.
  bool is_up(const PowerCurve& curve, const Edges& edges, const Levels& levels) const {
    const std::ptrdiff_t start = std::llround(window.start_unix_s - curve.first_s);
    const std::ptrdiff_t end = std::llround(window.end_unix_s - curve.first_s);
    const std::ptrdiff_t begin =
        std::max(start + static_cast<std::ptrdiff_t>(Edges::kInside_s), edges.first_filled());
    const std::ptrdiff_t stop =
        std::min(end - static_cast<std::ptrdiff_t>(Edges::kInside_s), edges.last_filled() + 1);
    const std::ptrdiff_t side = std::clamp<std::ptrdiff_t>((stop - begin) / 4, 1, kLongestEnd_s);
    const auto is_high = [&](const Stretch& stretch) {
      return stretch.filled == 0 || stretch.mean_w >= levels.up_w;
    };
    return is_high(edges.sums().between(begin, begin + side)) &&
           is_high(edges.sums().between(stop - side, stop));
  }
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

// Clocks change at a quarter hour of their own time, by an hour or, on Lord Howe, by half an hour.
// Any other jump back is a different series of the same device.
void ZoneEvidence::notice_jump(Clock& clock, double wall_s) {
  const double before_s = clock.wall_s;
  const double sign = wall_s < before_s ? -1 : 1;
  for (const double size_s : {kHour_s, kHour_s / 2}) {
    const double unturned_s = wall_s - sign * size_s;
    const Step step{std::floor(unturned_s / kZoneStep_s) * kZoneStep_s, sign * size_s};
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

std::vector<ZoneEvidence::Placed> ZoneEvidence::placed() const {
  std::vector<Placed> placed;
  const std::set<std::int32_t> steady = steady_offsets(window_);
  const auto place = [&](std::int32_t offset_s, Window window,
                         std::optional<ZoneCandidate::Step> step) {
    const ZoneCandidate candidate{.offset_s = offset_s, .step = step};
    const bool is_real =
        step ? std::ranges::any_of(clock_histories(),
                                   [&](const auto& history) { return has_step(history, *step); })
             : steady.contains(offset_s);
    const double overlap_s =
        std::min(last_s_, window.end_unix_s) - std::max(first_s_, window.start_unix_s);
    if (!is_real || overlap_s < kLeastOverlap_s) return;
    placed.push_back({.candidate = candidate, .window = window});
    ZoneCandidate& added = placed.back().candidate;
    added.covers = first_s_ <= window.start_unix_s && last_s_ >= window.end_unix_s;
    added.last_unix_s = last_unix_s(added);
  };
  for (double east_s = kFarthestWest_s; east_s <= kFarthestEast_s; east_s += kZoneStep_s) {
    const auto offset_s = static_cast<std::int32_t>(east_s);
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
      // The jump may just as well be a pause of the recorder. That matters only to a window across
      // it.
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

double ZoneEvidence::last_unix_s(const ZoneCandidate& candidate) const {
  if (!candidate.step) return last_s_ - candidate.offset_s;
  // The curve continues as if the clock had not been turned back.
  const bool is_forward = candidate.step->offset_after_s > candidate.step->offset_before_s;
  const bool is_after = is_forward && step_ && last_s_ >= step_->at_s;
  return last_s_ - (is_after ? candidate.step->offset_after_s : candidate.step->offset_before_s);
}

// Doubts raised by the recording's clock.
std::string ZoneEvidence::doubt_about(const Placed& placed) const {
  if (more_steps_) return "the recording's clock jumps by an hour more than once";
  if (placed.window.start_unix_s <= shown_twice_.end_unix_s + kTooNearStep_s &&
      placed.window.end_unix_s >= shown_twice_.start_unix_s - kTooNearStep_s) {
    return "the recording's clock goes back, and shows some of the window's time twice";
  }
  return {};
}

// Names all offsets that fit or may fit; empty if the best has no rival.
std::string ZoneEvidence::rivals_of(const Placed& best, const std::vector<Placed>& placed) {
  std::string rivals;
  for (const Placed& each : placed) {
    if (&each == &best || each.candidate.standing == ZoneCandidate::Standing::excluded) continue;
    rivals += fmt::format(", {}", each.candidate.zone().name());
  }
  if (rivals.empty()) return {};
  return fmt::format("the power fits the window in more than one time zone: {}{}",
                     best.candidate.zone().name(), rivals);
}

// Whether an offset could easily fit by accident.
bool ZoneEvidence::is_common(const Placed& best, const std::vector<Placed>& placed,
                             const Edges& edges) const {
  const double height_w = best.edge_w() / 2;
  const double duration_s = window_.duration_s();
  // The average number of offsets that cover such a window in a recording of this length.
  const auto covering =
      std::ranges::count_if(placed, [](const Placed& each) { return each.candidate.covers; });
  const double offsets =
      std::min((last_s_ - first_s_ - duration_s) / kZoneStep_s, static_cast<double>(covering));
  const double by_accident =
      offsets * share_of(edges.rises(), height_w) * share_of(edges.falls(), height_w);
  const auto whole_s = static_cast<std::size_t>(std::llround(duration_s));
  const double by_loads_as_long = fitting_s(edges, whole_s, height_w) / kZoneStep_s;
  const Accidents& most = covering == 1 ? kMostOfOne : kMostOfSeveral;
  return by_accident > most.any || by_loads_as_long > most.loads_as_long;
}

// Why the edges do not determine the offset; empty: they do, and it is that of `best`.
std::string ZoneEvidence::why_not(const Placed* best, const std::vector<Placed>& placed,
                                  const Edges& edges) const {
  if (edges.interval_s() > kLongestInterval_s) {
    return fmt::format(
        "readings are {} s apart, more than the {} s that finding the time zone by the power allows",
        edges.interval_s(), kLongestInterval_s);
  }
  if (best == nullptr)
    return "in no time zone does the power rise at the window's start and fall at its end";
  std::string why = best->candidate.doubt;
  if (why.empty()) why = rivals_of(*best, placed);
  if (why.empty() && is_common(*best, placed, edges)) {
    why = "the power rises and falls so often that it does not show the time zone";
  }
  return why;
}

ZoneFinding ZoneEvidence::finding() const {
  if (!refusal_.empty()) return {.why_no_edges = refusal_};
  std::vector<Placed> placed = this->placed();
  ZoneFinding finding;
  finding.none_covers =
      std::ranges::none_of(placed, [](const Placed& each) { return each.candidate.covers; });
  if (placed.empty() && step_ && step_->forward_s < 0) {
    return {.why_no_edges = "the recording's clock goes back at a time when no zone's clock does"};
  }
  if (placed.empty()) {
    finding.why_no_edges = kNoneCovers;
    return finding;
  }

  // The measured part of a load is inside the window, at a distance from its edges.
  const auto most_side_s = static_cast<std::size_t>(window_.duration_s()) - 2 * Edges::kInside_s;
  const PowerCurve curve = curve_.curve();
  const Edges edges(curve, most_side_s);
  const Levels levels = levels_of(edges);
  for (Placed& each : placed) {
    each.measure(curve, edges);
    each.judge(curve, edges, levels);
    each.candidate.doubt = doubt_about(each);
    each.candidate.idle_w = each.beside_w();
    each.candidate.load_w = each.inside.mean_w;
  }
  std::ranges::stable_sort(placed, std::greater(), [](const Placed& each) {
    return std::pair(each.candidate.covers, each.edge_w());
  });
  for (const Placed& each : placed) finding.candidates.push_back(each.candidate);

  const auto best = std::ranges::find_if(placed, &Placed::fits);
  finding.why_no_edges = finding.none_covers
                             ? kNoneCovers
                             : why_not(best == placed.end() ? nullptr : &*best, placed, edges);
  if (finding.why_no_edges.empty()) finding.by_edges = best->candidate;
  finding.last_shown_s = last_s_;
  finding.is_flat = !edges.has_clear_edge();
  finding.edges_within_s = std::max(1.0, static_cast<double>(edges.interval_s()));
  const auto whole_s = static_cast<std::size_t>(std::llround(window_.duration_s()));
  finding.has_load_elsewhere =
      best == placed.end() && fitting_s(edges, whole_s, levels.up_w - levels.idle_w) > 0;
  return finding;
}

}  // namespace aggregate_power
