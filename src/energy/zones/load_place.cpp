// Matches the rises and falls of power with a window that may be moved.
#include "energy/zones/load_place.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text/time_zone.h"
#include "energy/uncertainty/random_walk.h"

namespace aggregate_power::energy {
namespace {

constexpr double kShortestPlaced_s = 5;     // a shorter window shows no edges of its own
constexpr double kLeastOffset_s = 5;        // less may be a slow start
constexpr double kLeastOffsetShare = 0.05;  // the same, of the window
constexpr double kUsuallyLate_s = 0.5;      // many sensors average over 1 s
constexpr double kOutsideLoad_s = 1;        // requests may end later than the client says
constexpr double kBesideLoad_s = 3;         // of power shows what is beside an edge
constexpr double kFinestCell_s = 0.5;
constexpr double kMostPowerCells = 20'000;
constexpr int kMostEdgesTried = 100'000;    // more edges than that show no place
constexpr double kIdleOfStep = 0.1;         // of the step above idle is still idle
constexpr double kIdlePauseOfStep = 0.25;   // the same for a pause
constexpr double kUpOfStep = 0.35;          // of the step is surely not idle
constexpr double kEdgeOfStep = 0.4;         // of the step is the least that an edge has
constexpr double kOwnEdgeOfStep = 0.35;     // of the step; less than that is no edge of the window
constexpr double kClearOfLoad = 0.15;       // of the load's power is the least step
constexpr double kOwnOfLoad = 0.05;         // the same for a load that the window itself has
constexpr double kLeastAboutAsLong = 0.85;  // about as long as the window: from this share of it
constexpr double kMostAboutAsLong = 1.3;    // to this one, with a warm-up before it

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
        outside_s_(blur_s_ + kOutsideLoad_s),
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
  std::optional<double> least_w(Window stretch) const;
  bool has_own_load() const;
  bool is_elsewhere(const SeenLoad& load, double offset_s) const;
  bool has_edge_at(double unix_s, double sign, double step_w) const;
  bool stays_up(const SeenLoad& load) const;
  bool shows_nothing(double step_w) const;
  bool begins_or_ends_idle(const SeenLoad& load) const;
  bool has_step_at(double unix_s) const;
  bool is_next(double offset_s) const;
  bool is_level() const;
  void add(const SeenLoad& load, double offset_s, LoadElsewhere::Kind kind, double window_w,
           std::vector<LoadElsewhere>& to) const;
  std::optional<LoadElsewhere> against() const;
  std::optional<LoadElsewhere> cut(double late_s, LoadElsewhere::Kind kind) const;
  bool is_idle() const;
  bool stands_alone(const SeenLoad& load) const;
  std::optional<LoadElsewhere> doubtful() const;

  const PowerCells& cells_;
  Window window_;
  double blur_s_;     // edges are known to this, and power beside them is not looked at
  double outside_s_;  // a load may begin so much before its window, and end after it
  double least_offset_s_;
  double lowest_w_ = 0;
  double highest_w_ = 0;
  bool fits_ = false;
  bool fits_exactly_ = false;
  int tried_ = 0;
  std::vector<LoadElsewhere> found_;   // that speak against the window
  std::vector<LoadElsewhere> alike_;   // all loads of its length elsewhere
  std::vector<LoadElsewhere> nearby_;  // the same, less than the least offset away
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

// The least power in a stretch, over a second.
std::optional<double> LoadSearch::least_w(Window stretch) const {
  constexpr double kShort_s = 1;
  std::optional<double> least;
  for (double at_s = stretch.start_unix_s; at_s + kShort_s <= stretch.end_unix_s;
       at_s += kFinestCell_s) {
    const auto mean_w = cells_.mean_w({at_s, at_s + kShort_s});
    if (mean_w && (!least || *mean_w < *least)) least = mean_w;
  }
  return least;
}

// Whether power in the window is above both its surroundings: a light load next to others. If it
// keeps to one level, the pause between them may be short.
bool LoadSearch::has_own_load() const {
  const auto own = seen(window_);
  if (!own) return false;
  const double least_step_w = kOwnOfLoad * own->inside_w;
  if (own->inside_w - std::max(own->before_w, own->after_w) >= least_step_w) return true;
  const double reach_s = blur_s_ + kBesideLoad_s;
  const auto before_w = least_w({window_.start_unix_s - reach_s, window_.start_unix_s});
  const auto after_w = least_w({window_.end_unix_s, window_.end_unix_s + reach_s});
  return before_w && after_w && is_level() &&
         own->inside_w - std::max(*before_w, *after_w) >= least_step_w;
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

// Whether power is idle around it for longer than it is in the load.
bool LoadSearch::stands_alone(const SeenLoad& load) const {
  constexpr double kFarthest_s = 30;
  constexpr double kPausesAround = 2;
  const double up_w = load.idle_w() + kIdlePauseOfStep * load.step_w();
  const auto pause_in = [&](Window stretch) {
    double longest_s = 0;
    double up_s = stretch.start_unix_s;
    const std::size_t end = cells_.cell_from(stretch.end_unix_s);
    for (std::size_t i = cells_.cell_from(stretch.start_unix_s); i < end; ++i) {
      const double at_s = cells_.middle_unix_s(i);
      if (cells_.watts(i) >= up_w) up_s = at_s;
      longest_s = std::max(longest_s, at_s - up_s);
    }
    return longest_s;
  };
  const auto idle_s = [&](double from_s, double sign) {
    double at_s = from_s;
    while (std::abs(at_s - from_s) < kFarthest_s) {
      const std::size_t cell = cells_.cell_from(at_s);
      if (cell >= cells_.size() || at_s < cells_.covered().start_unix_s) return kFarthest_s;
      if (cells_.watts(cell) >= up_w) break;
      at_s += sign * kFinestCell_s;
    }
    return std::abs(at_s - from_s);
  };
  const double pause_s =
      pause_in({load.stretch.start_unix_s + blur_s_, load.stretch.end_unix_s - blur_s_});
  return idle_s(load.stretch.start_unix_s - blur_s_, -1) >= kPausesAround * pause_s &&
         idle_s(load.stretch.end_unix_s + blur_s_, 1) >= kPausesAround * pause_s;
}

// Whether the window has no edge where its load should have one.
bool LoadSearch::shows_nothing(double step_w) const {
  return !has_edge_at(window_.start_unix_s, 1, step_w) &&
         !has_edge_at(window_.end_unix_s, -1, step_w);
}

// Whether a load of the window's length ends where the window begins, or the other way round: it is
// a level of a sweep, or a warm-up, since no clock is off by just that length.
bool LoadSearch::is_next(double offset_s) const {
  return std::abs(std::abs(offset_s) - window_.duration_s()) <= outside_s_;
}

// Whether power steps up or down there, from one level to another.
bool LoadSearch::has_step_at(double unix_s) const {
  constexpr double kLeastOfPower = 0.1;
  constexpr double kLeastOfAll = 0.05;  // of the recording's power
  constexpr double kSlope = 0.25;       // of the step is the most that a level goes up or down by
  constexpr double kHalf_s = kBesideLoad_s / 2;
  const auto mean_w = [&](double from_s) { return cells_.mean_w({from_s, from_s + kHalf_s}); };
  const auto first = mean_w(unix_s - outside_s_ - 2 * kHalf_s);
  const auto second = mean_w(unix_s - outside_s_ - kHalf_s);
  const auto third = mean_w(unix_s + outside_s_);
  const auto fourth = mean_w(unix_s + outside_s_ + kHalf_s);
  if (!first || !second || !third || !fourth) return false;
  const double before_w = (*first + *second) / 2;
  const double after_w = (*third + *fourth) / 2;
  const double step_w = std::abs(after_w - before_w);
  return step_w >= kLeastOfPower * std::max(before_w, after_w) &&
         step_w >= kLeastOfAll * (highest_w_ - lowest_w_) &&
         std::max(std::abs(*first - *second), std::abs(*third - *fourth)) <= kSlope * step_w;
}

// Whether power keeps to one level in the window.
bool LoadSearch::is_level() const {
  constexpr int kParts = 12;
  constexpr double kMostOff = 0.15;  // of its mean
  const auto window_w = cells_.mean_w(window_);
  const double part_s = (window_.duration_s() - 2 * blur_s_) / kParts;
  for (int i = 0; i < kParts; ++i) {
    const double begin_s = window_.start_unix_s + blur_s_ + i * part_s;
    const auto part_w = cells_.mean_w({begin_s, begin_s + part_s});
    if (!part_w || !window_w || std::abs(*part_w - *window_w) > kMostOff * *window_w) return false;
  }
  return true;
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
void LoadSearch::add(const SeenLoad& load, double offset_s, LoadElsewhere::Kind kind,
                     double window_w, std::vector<LoadElsewhere>& to) const {
  const double off_s = std::abs(load.stretch.duration_s() - window_.duration_s());
  const LoadElsewhere found = {.kind = kind,
                               .offset_s = offset_s,
                               .length_s = load.stretch.duration_s(),
                               .window_w = window_w,
                               .load_w = load.inside_w};
  const auto same = std::ranges::find_if(to, [&](const LoadElsewhere& other) {
    return std::abs(other.offset_s - offset_s) < std::max(least_offset_s_, blur_s_);
  });
  if (same == to.end()) {
    to.push_back(found);
  } else if (off_s < std::abs(same->length_s - window_.duration_s())) {
    *same = found;
  }
}

void LoadSearch::look_at(double rise_unix_s, double fall_unix_s) {
  using Kind = LoadElsewhere::Kind;
  ++tried_;
  const double rise_s = rise_unix_s - window_.start_unix_s;
  const double fall_s = fall_unix_s - window_.end_unix_s;
  const auto load = seen({rise_unix_s, fall_unix_s});
  const auto window_w = cells_.mean_w(window_);
  if (!load || !window_w) return;
  const double outside_w = std::max(load->before_w, load->after_w);
  const bool is_near = std::max(std::abs(rise_s), std::abs(fall_s)) < least_offset_s_;
  const bool is_inside = rise_s >= -outside_s_ && fall_s <= outside_s_;
  if (is_near && is_inside) {
    if (load->inside_w - outside_w < kOwnOfLoad * load->inside_w) return;
    const auto is_exact = [&](double late_s) {
      return late_s >= -blur_s_ && late_s <= blur_s_ + kUsuallyLate_s;
    };
    fits_ = true;
    fits_exactly_ = fits_exactly_ || (is_exact(rise_s) && is_exact(fall_s));
    return;
  }
  if (load->step_w() < kClearOfLoad * load->inside_w ||
      load->inside_w - outside_w < kEdgeOfStep * load->step_w()) {
    return;
  }
  const bool is_as_long = std::abs(rise_s - fall_s) <= blur_s_;
  // A load with a warm-up before it ends where the window should.
  const double offset_s = is_as_long ? (rise_s + fall_s) / 2 : fall_s;
  const bool is_alone = is_as_long && stays_up(*load) && stands_alone(*load);
  if (is_alone) {
    const bool is_clear = outside_w <= load->idle_w() + kIdlePauseOfStep * load->step_w();
    if (!is_near) add(*load, offset_s, Kind::alike, *window_w, alike_);
    if (is_near && is_clear) add(*load, offset_s, Kind::nearby, *window_w, nearby_);
  }
  if (rise_unix_s >= window_.end_unix_s || fall_unix_s <= window_.start_unix_s) {
    const double of_window = load->stretch.duration_s() / window_.duration_s();
    const bool is_idle = of_window >= kLeastAboutAsLong && of_window <= kMostAboutAsLong &&
                         *window_w <= load->idle_w() + kIdleOfStep * load->step_w();
    if (is_idle || (is_as_long && !is_next(offset_s) && begins_or_ends_idle(*load))) {
      add(*load, offset_s, is_idle ? Kind::window_idle : Kind::overlaps, *window_w, found_);
    }
  } else if (is_as_long && !is_next(offset_s) && std::abs(offset_s) >= least_offset_s_ &&
             is_alone && is_elsewhere(*load, offset_s)) {
    add(*load, offset_s, Kind::overlaps, *window_w, found_);
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
    for (auto fall = first; fall < end && !fits_exactly_ && tried_ < kMostEdgesTried; ++fall) {
      look_at(rise, *fall);
    }
  }
}

// The nearest, with the offsets of the others.
std::optional<LoadElsewhere> nearest_of(std::vector<LoadElsewhere> loads) {
  if (loads.empty()) return std::nullopt;
  std::ranges::sort(loads, {}, [](const LoadElsewhere& load) { return std::abs(load.offset_s); });
  LoadElsewhere nearest = loads.front();
  for (std::size_t i = 1; i < loads.size(); ++i) nearest.others_s.push_back(loads[i].offset_s);
  return nearest;
}

std::optional<LoadElsewhere> LoadSearch::against() const {
  auto nearest = nearest_of(found_);
  const bool has_own =
      nearest && nearest->kind == LoadElsewhere::Kind::window_idle && has_own_load();
  return has_own ? std::nullopt : nearest;
}

// A load of the window's length says how far the clock is off, else the ends of the load do.
std::optional<LoadElsewhere> LoadSearch::cut(double late_s, LoadElsewhere::Kind kind) const {
  const auto cut =
      cut_load(cells_, window_, {blur_s_, late_s, least_offset_s_, outside_s_, lowest_w_});
  const auto window_w = cells_.mean_w(window_);
  if (!cut || !window_w) return std::nullopt;
  std::vector<LoadElsewhere> places = alike_;
  std::erase_if(places, [&](const LoadElsewhere& load) { return load.offset_s * cut->fall_s < 0; });
  if (places.empty()) {
    for (const double offset_s : {cut->rise_s, cut->fall_s}) {
      places.push_back({.offset_s = offset_s, .length_s = cut->length_s, .load_w = cut->load_w});
    }
  }
  auto nearest = nearest_of(std::move(places));
  nearest->kind = kind;
  nearest->window_w = *window_w;
  return nearest;
}

// As the least power of the recording is.
bool LoadSearch::is_idle() const {
  const auto window_w = cells_.mean_w(window_);
  return window_w && *window_w <= level_w(kIdleOfStep) && !has_own_load();
}

std::optional<LoadElsewhere> LoadSearch::doubtful() const {
  using Kind = LoadElsewhere::Kind;
  if (!fits_) {
    if (auto nearby = nearest_of(nearby_)) return nearby;
  }
  if (auto alike = nearest_of(alike_)) return alike;
  if (fits_) return std::nullopt;
  if (auto load = cut(outside_s_, Kind::cut_a_little)) return load;
  if (!is_idle()) return std::nullopt;
  return LoadElsewhere{
      .kind = Kind::only_idle, .window_w = *cells_.mean_w(window_), .load_w = highest_w_};
}

std::optional<LoadElsewhere> LoadSearch::find() {
  find_levels();
  if (!(highest_w_ - lowest_w_ >= kClearOfLoad * highest_w_)) return std::nullopt;
  // One level of a sweep, or a light load next to others. A clock that is off hits no two steps.
  if (has_step_at(window_.start_unix_s) && has_step_at(window_.end_unix_s) && is_level()) {
    return std::nullopt;
  }
  constexpr int kLevels = 16;
  for (int i = 1; i < kLevels; ++i) {
    const double share = static_cast<double>(i) / kLevels;
    look_at(edges_at(level_w(share * std::sqrt(share))));
  }
  if (fits_exactly_ || tried_ >= kMostEdgesTried) return std::nullopt;
  if (fits_) return doubtful();
  if (auto load = against()) return load;
  const bool is_level_of_sweep = std::ranges::any_of(
      alike_, [&](const LoadElsewhere& load) { return is_next(load.offset_s); });
  if (auto load = cut(least_offset_s_, LoadElsewhere::Kind::cut); load && !is_level_of_sweep) {
    return load;
  }
  return doubtful();
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
