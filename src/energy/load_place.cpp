// Matches the rises and falls of power with a window that may be moved.
#include "energy/load_place.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "energy/placed_readings.h"

namespace aggregate_power::energy {
namespace {

constexpr double kZoneStep_s = 900;
constexpr double kShortestPlaced_s = 5;     // a shorter window shows no edges of its own
constexpr double kLeastOffset_s = 5;        // less may be a slow start
constexpr double kLeastOffsetShare = 0.05;  // the same, of the window
constexpr double kBesideLoad_s = 3;         // of power shows what is beside an edge
constexpr double kFinestCell_s = 0.5;
constexpr double kMostPowerCells = 20'000;
constexpr int kMostEdgesTried = 100'000;    // more edges than that show no place
constexpr double kIdleOfStep = 0.1;         // of the step above idle is still idle
constexpr double kUpOfStep = 0.35;          // of the step is surely not idle
constexpr double kEdgeOfStep = 0.4;         // of the step is the least that an edge has
constexpr double kOwnEdgeOfStep = 0.35;     // of the step; less than that is no edge of the window
constexpr double kClearOfLoad = 0.15;       // of the load's power is the least step
constexpr double kOwnOfLoad = 0.05;         // the same for a load that the window itself has
constexpr double kLeastAboutAsLong = 0.85;  // about as long as the window: from this share of it
constexpr double kMostAboutAsLong = 1.3;    // to this one, with a warm-up before it

// The mean power of all GPUs together in short cells of equal length.
class PowerCells {
 public:
  // Of the stretch that all of them cover. A gap of more than `gap_s` leaves its cells unknown.
  PowerCells(std::span<const std::span<const Sample>> gpus, Window covered, double cell_s,
             double gap_s);

  std::size_t size() const { return watts_.size(); }
  double watts(std::size_t cell) const { return watts_[cell]; }
  bool is_known(std::size_t cell) const {
    return unknown_before_[cell + 1] == unknown_before_[cell];
  }
  double middle_unix_s(std::size_t cell) const {
    return covered_.start_unix_s + (static_cast<double>(cell) + 0.5) * cell_s_;
  }
  // Of the cells whose middle is in a stretch; nullopt if there are none, or if one is unknown.
  std::optional<double> mean_w(Window stretch) const;
  Window covered() const { return covered_; }

 private:
  void add(std::span<const Sample> samples, double gap_s, std::vector<double>& unknown);
  std::size_t cell_from(double unix_s) const;

  Window covered_;
  double cell_s_;
  std::vector<double> watts_;
  std::vector<double> joules_before_;
  std::vector<std::size_t> unknown_before_;
};

PowerCells::PowerCells(std::span<const std::span<const Sample>> gpus, Window covered, double cell_s,
                       double gap_s)
    : covered_(covered),
      cell_s_(cell_s),
      watts_(static_cast<std::size_t>(covered.duration_s() / cell_s)),
      joules_before_(watts_.size() + 1),
      unknown_before_(watts_.size() + 1) {
  std::vector<double> unknown(watts_.size());
  for (const auto& samples : gpus) add(samples, gap_s, unknown);
  for (std::size_t i = 0; i < watts_.size(); ++i) {
    joules_before_[i + 1] = joules_before_[i] + watts_[i] * cell_s_;
    unknown_before_[i + 1] = unknown_before_[i] + (unknown[i] > 0 ? 1 : 0);
  }
}

// Power is on straight lines between samples.
void PowerCells::add(std::span<const Sample> samples, double gap_s, std::vector<double>& unknown) {
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const Sample& a = samples[i - 1];
    const Sample& b = samples[i];
    const double between_s = b.unix_s - a.unix_s;
    if (!(between_s > 0)) continue;
    const double first = (a.unix_s - covered_.start_unix_s) / cell_s_;
    const double last = (b.unix_s - covered_.start_unix_s) / cell_s_;
    const auto count = static_cast<double>(watts_.size());
    if (last <= 0 || first >= count) continue;
    const auto end = static_cast<std::size_t>(std::ceil(std::min(last, count)));
    for (auto cell = static_cast<std::size_t>(std::max(first, 0.0)); cell < end; ++cell) {
      const double from = std::max(first, static_cast<double>(cell));
      const double to = std::min(last, static_cast<double>(cell + 1));
      const double at = ((from + to) / 2 - first) / (last - first);
      watts_[cell] += (to - from) * (a.watts + at * (b.watts - a.watts));
      if (between_s > gap_s) unknown[cell] = 1;
    }
  }
}

// The first cell whose middle is not before an instant.
std::size_t PowerCells::cell_from(double unix_s) const {
  const double cell = std::ceil((unix_s - covered_.start_unix_s) / cell_s_ - 0.5);
  return static_cast<std::size_t>(std::clamp(cell, 0.0, static_cast<double>(watts_.size())));
}

std::optional<double> PowerCells::mean_w(Window stretch) const {
  const std::size_t begin = cell_from(stretch.start_unix_s);
  const std::size_t end = cell_from(stretch.end_unix_s);
  if (begin >= end || unknown_before_[end] > unknown_before_[begin]) return std::nullopt;
  return (joules_before_[end] - joules_before_[begin]) /
         (cell_s_ * static_cast<double>(end - begin));
}

// A stretch that may be a load, and the power next to it.
struct SeenLoad {
  Window stretch;
  double inside_w = 0;
  double before_w = 0;
  double after_w = 0;

  double idle_w() const { return std::min(before_w, after_w); }
  double step_w() const { return inside_w - idle_w(); }
};

class LoadSearch {
 public:
  LoadSearch(const PowerCells& cells, Window window, double period_s)
      : cells_(cells),
        window_(window),
        blur_s_(std::max(1.0, period_s)),
        least_offset_s_(
            std::max({kLeastOffset_s, kLeastOffsetShare * window.duration_s(), 2 * period_s})) {}

  std::optional<LoadElsewhere> find();

 private:
  struct Edges {
    std::vector<double> rises;
    std::vector<double> falls;
  };
  double level_w(double share) const { return lowest_w_ + share * (highest_w_ - lowest_w_); }
  void find_levels();
  Edges edges_at(double level_w) const;
  std::optional<SeenLoad> seen(Window stretch) const;
  void look_at(const Edges& edges);
  void look_at(double rise_unix_s, double fall_unix_s);
  bool has_own_load() const;
  bool is_elsewhere(const SeenLoad& load, double offset_s) const;
  bool has_edge_at(double unix_s, double sign, double step_w) const;
  bool stays_up(const SeenLoad& load) const;
  bool shows_nothing(double step_w) const;
  bool begins_or_ends_idle(const SeenLoad& load) const;
  void add(const SeenLoad& load, double offset_s, bool is_idle, double window_w);

  const PowerCells& cells_;
  Window window_;
  double blur_s_;  // edges are known to this, and power beside them is not looked at
  double least_offset_s_;
  double lowest_w_ = 0;
  double highest_w_ = 0;
  bool fits_ = false;
  int tried_ = 0;
  std::vector<LoadElsewhere> found_;
};

// Means over some seconds: single readings are spikes.
void LoadSearch::find_levels() {
  lowest_w_ = std::numeric_limits<double>::infinity();
  highest_w_ = 0;
  for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
    const double from = cells_.middle_unix_s(cell);
    if (from + kBesideLoad_s > cells_.covered().end_unix_s) break;
    const auto mean_w = cells_.mean_w({from, from + kBesideLoad_s});
    if (!mean_w) continue;
    lowest_w_ = std::min(lowest_w_, *mean_w);
    highest_w_ = std::max(highest_w_, *mean_w);
  }
}

LoadSearch::Edges LoadSearch::edges_at(double level_w) const {
  Edges edges;
  for (std::size_t i = 1; i < cells_.size(); ++i) {
    const double a_w = cells_.watts(i - 1);
    const double b_w = cells_.watts(i);
    if ((a_w < level_w) == (b_w < level_w) || !cells_.is_known(i - 1) || !cells_.is_known(i)) {
      continue;
    }
    const double a_unix_s = cells_.middle_unix_s(i - 1);
    const double share = (level_w - a_w) / (b_w - a_w);
    (b_w > a_w ? edges.rises : edges.falls)
        .push_back(a_unix_s + share * (cells_.middle_unix_s(i) - a_unix_s));
  }
  return edges;
}

std::optional<SeenLoad> LoadSearch::seen(Window stretch) const {
  const double blur_s = std::min(blur_s_, stretch.duration_s() / 4);
  const auto inside = cells_.mean_w({stretch.start_unix_s + blur_s, stretch.end_unix_s - blur_s});
  const auto before = cells_.mean_w(
      {stretch.start_unix_s - blur_s_ - kBesideLoad_s, stretch.start_unix_s - blur_s_});
  const auto after =
      cells_.mean_w({stretch.end_unix_s + blur_s_, stretch.end_unix_s + blur_s_ + kBesideLoad_s});
  if (!inside || !before || !after) return std::nullopt;
  return SeenLoad{stretch, *inside, *before, *after};
}

// Whether power in the window is above both its surroundings: a light load next to others.
bool LoadSearch::has_own_load() const {
  const auto own = seen(window_);
  return own && own->inside_w - std::max(own->before_w, own->after_w) >= kOwnOfLoad * own->inside_w;
}

// Whether power goes up by much of a load's step: `sign` 1, or down: -1.
bool LoadSearch::has_edge_at(double unix_s, double sign, double step_w) const {
  const auto before = cells_.mean_w({unix_s - blur_s_ - kBesideLoad_s, unix_s - blur_s_});
  const auto after = cells_.mean_w({unix_s + blur_s_, unix_s + blur_s_ + kBesideLoad_s});
  return !before || !after || sign * (*after - *before) > kOwnEdgeOfStep * step_w;
}

// Of a load that overlaps the window.
bool LoadSearch::is_elsewhere(const SeenLoad& load, double offset_s) const {
  Window left_out = {window_.start_unix_s, load.stretch.start_unix_s - blur_s_};
  Window beyond = {window_.end_unix_s, load.stretch.end_unix_s - blur_s_};
  if (offset_s < 0) {
    left_out = {load.stretch.end_unix_s + blur_s_, window_.end_unix_s};
    beyond = {load.stretch.start_unix_s + blur_s_, window_.start_unix_s};
  }
  const auto left_out_w = cells_.mean_w(left_out);
  const auto beyond_w = cells_.mean_w(beyond);
  if (!left_out_w || !beyond_w) return false;
  const double idle_w = load.idle_w();
  const bool is_idle = *left_out_w <= idle_w + kIdleOfStep * load.step_w();
  return (is_idle || shows_nothing(load.step_w())) &&
         *beyond_w >= idle_w + kEdgeOfStep * load.step_w();
}

// Whether power stays up from the rise to the fall: in bursts there are edges everywhere.
bool LoadSearch::stays_up(const SeenLoad& load) const {
  constexpr int kParts = 12;
  constexpr int kSlow = 3;  // it may rise and fall slowly
  const double part_s = load.stretch.duration_s() / kParts;
  for (int i = kSlow; i < kParts - kSlow; ++i) {
    const double begin_s = load.stretch.start_unix_s + i * part_s;
    const auto part_w = cells_.mean_w({begin_s, begin_s + part_s});
    if (part_w && *part_w < load.idle_w() + kUpOfStep * load.step_w()) return false;
  }
  return true;
}

// Whether the window has no edge where its load should have one.
bool LoadSearch::shows_nothing(double step_w) const {
  return !has_edge_at(window_.start_unix_s, 1, step_w) &&
         !has_edge_at(window_.end_unix_s, -1, step_w);
}

// Of a window with other loads in it: none of them begins or ends with it.
bool LoadSearch::begins_or_ends_idle(const SeenLoad& load) const {
  const auto first_w =
      cells_.mean_w({window_.start_unix_s, window_.start_unix_s + blur_s_ + kBesideLoad_s});
  const auto last_w =
      cells_.mean_w({window_.end_unix_s - blur_s_ - kBesideLoad_s, window_.end_unix_s});
  if (!first_w || !last_w || !shows_nothing(load.step_w())) return false;
  return std::min(*first_w, *last_w) <= load.idle_w() + kIdleOfStep * load.step_w();
}

// Of a load that is found at several levels, the edges count whose distance is the window's length.
void LoadSearch::add(const SeenLoad& load, double offset_s, bool is_idle, double window_w) {
  const double off_s = std::abs(load.stretch.duration_s() - window_.duration_s());
  const LoadElsewhere found = {.is_window_idle = is_idle,
                               .offset_s = offset_s,
                               .length_s = load.stretch.duration_s(),
                               .window_w = window_w,
                               .load_w = load.inside_w};
  const auto same = std::ranges::find_if(found_, [&](const LoadElsewhere& other) {
    return std::abs(other.offset_s - offset_s) < std::max(least_offset_s_, blur_s_);
  });
  if (same == found_.end()) {
    found_.push_back(found);
  } else if (off_s < std::abs(same->length_s - window_.duration_s())) {
    *same = found;
  }
}

void LoadSearch::look_at(double rise_unix_s, double fall_unix_s) {
  ++tried_;
  const double rise_s = rise_unix_s - window_.start_unix_s;
  const double fall_s = fall_unix_s - window_.end_unix_s;
  const auto load = seen({rise_unix_s, fall_unix_s});
  if (!load) return;
  const double outside_w = std::max(load->before_w, load->after_w);
  const bool is_near = std::max(std::abs(rise_s), std::abs(fall_s)) < least_offset_s_;
  if (is_near) {
    fits_ = fits_ || load->inside_w - outside_w >= kOwnOfLoad * load->inside_w;
    return;
  }
  if (load->step_w() < kClearOfLoad * load->inside_w ||
      load->inside_w - outside_w < kEdgeOfStep * load->step_w()) {
    return;
  }
  const bool is_as_long = std::abs(rise_s - fall_s) <= blur_s_;
  // A load with a warm-up before it ends where the window should.
  const double offset_s = is_as_long ? (rise_s + fall_s) / 2 : fall_s;
  const auto window_w = cells_.mean_w(window_);
  if (!window_w) return;
  if (rise_unix_s >= window_.end_unix_s || fall_unix_s <= window_.start_unix_s) {
    const bool is_idle = *window_w <= load->idle_w() + kIdleOfStep * load->step_w();
    if (is_idle || (is_as_long && begins_or_ends_idle(*load))) {
      add(*load, offset_s, is_idle, *window_w);
    }
  } else if (is_as_long && std::abs(offset_s) >= least_offset_s_ && stays_up(*load) &&
             is_elsewhere(*load, offset_s)) {
    add(*load, offset_s, false, *window_w);
  }
}

// A window that is up may only overlap its load, whose length is the window's then. Edges within
// the offset that is allowed are the window's own, whatever their length.
void LoadSearch::look_at(const Edges& edges) {
  const double length_s = window_.duration_s();
  const auto window_w = cells_.mean_w(window_);
  const bool may_be_idle = window_w && *window_w <= level_w(kEdgeOfStep);
  const double shorter_s = may_be_idle ? (1 - kLeastAboutAsLong) * length_s : 0;
  const double longer_s = may_be_idle ? (kMostAboutAsLong - 1) * length_s : 0;
  for (const double rise : edges.rises) {
    const bool is_near = std::abs(rise - window_.start_unix_s) < least_offset_s_;
    const double slack_s = is_near ? 2 * least_offset_s_ : blur_s_;
    const auto first =
        std::ranges::lower_bound(edges.falls, rise + length_s - std::max(slack_s, shorter_s));
    const auto end =
        std::ranges::upper_bound(edges.falls, rise + length_s + std::max(slack_s, longer_s));
    for (auto fall = first; fall < end && !fits_ && tried_ < kMostEdgesTried; ++fall) {
      look_at(rise, *fall);
    }
  }
}

std::optional<LoadElsewhere> LoadSearch::find() {
  find_levels();
  if (!(highest_w_ - lowest_w_ >= kClearOfLoad * highest_w_)) return std::nullopt;
  constexpr int kLevels = 16;
  for (int i = 1; i < kLevels; ++i) {
    const double share = static_cast<double>(i) / kLevels;
    look_at(edges_at(level_w(share * std::sqrt(share))));
  }
  if (fits_ || found_.empty() || tried_ >= kMostEdgesTried) return std::nullopt;
  std::ranges::sort(found_, {}, [](const LoadElsewhere& load) { return std::abs(load.offset_s); });
  LoadElsewhere nearest = found_.front();
  if (nearest.is_window_idle && has_own_load()) return std::nullopt;
  for (std::size_t i = 1; i < found_.size(); ++i) nearest.others_s.push_back(found_[i].offset_s);
  return nearest;
}

}  // namespace

bool LoadElsewhere::is_by_quarter_hours() const {
  constexpr double kNear_s = 3;
  const double quarters = std::round(offset_s / kZoneStep_s);
  return quarters != 0 && std::abs(offset_s - quarters * kZoneStep_s) <= kNear_s;
}

std::optional<LoadElsewhere> load_elsewhere(std::span<const std::span<const Sample>> gpus,
                                            Window window) {
  std::vector<std::span<const Sample>> covering;
  // Farther than any two time zones are apart.
  constexpr double kFarthest_s = 26 * 3600;
  constexpr double kAnyTime_s = 1e11;
  Window covered = {window.start_unix_s - kFarthest_s, window.end_unix_s + kFarthest_s};
  double period_s = 0;
  for (const auto& samples : gpus) {
    if (samples.size() < 3 || samples.front().unix_s > window.start_unix_s ||
        samples.back().unix_s < window.end_unix_s) {
      continue;
    }
    covering.push_back(samples);
    covered = {std::max(covered.start_unix_s, samples.front().unix_s),
               std::min(covered.end_unix_s, samples.back().unix_s)};
    period_s = std::max(period_s, median_period_s(samples));
  }
  const double length_s = window.duration_s();
  const bool is_too_short = length_s < kShortestPlaced_s || length_s < 4 * period_s;
  if (covering.empty() || is_too_short || !(length_s <= kFarthest_s) ||
      !(std::abs(window.start_unix_s) < kAnyTime_s)) {
    return std::nullopt;
  }
  const double cell_s = std::max(kFinestCell_s, covered.duration_s() / kMostPowerCells);
  const PowerCells cells(covering, covered, cell_s, std::max(6.0, 3 * period_s));
  return LoadSearch(cells, window, std::max(period_s, cell_s)).find();
}

}  // namespace aggregate_power::energy
