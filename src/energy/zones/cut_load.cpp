// Follows the power from idle time in a window to the end of the load.
#include "energy/zones/load_place.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace aggregate_power::energy {
namespace {

constexpr double kPausesInIdle = 3;      // idle time is so many times as long as a pause
constexpr double kCutIdleOfStep = 0.1;   // of the step above idle is still idle
constexpr double kGoesOnOfStep = 0.4;    // beyond the window the load has this share of its step
constexpr double kFallsByStep = 0.3;     // less is no edge
constexpr double kGoesOnInPauses = 0.6;  // the same of a load that goes up and down
constexpr double kCutOfLoad = 0.15;      // of the load's power is the least step
constexpr double kStepOfAll = 0.6;       // the same, of what the load draws above the least power
constexpr double kLeastSide_s = 3;

// Finds a load that begins inside of a window, after idle time.
class LateLoad {
 public:
  LateLoad(const PowerCells& cells, Window window, const EdgeSlack& slack, double idle_w,
           double up_w)
      : cells_(cells), window_(window), slack_(slack), idle_w_(idle_w), up_w_(up_w) {}

  std::optional<CutLoad> find();

 private:
  bool is_up(std::size_t cell) const { return cells_.watts(cell) >= idle_w_; }
  bool find_idle();
  bool find_end();
  bool has_pauses() const { return longest_pause_s_ > 2 * slack_.blur_s; }
  bool has_fall() const;

  const PowerCells& cells_;
  Window window_;
  const EdgeSlack& slack_;
  double idle_w_;  // idle power is less, all of it
  double up_w_;    // the load's is more, but for pauses
  Window idle_;    // around the window's start
  double end_unix_s_ = 0;
  double longest_pause_s_ = 0;
};

// The window's start must be in it.
bool LateLoad::find_idle() {
  const std::size_t start = cells_.cell_from(window_.start_unix_s);
  if (start >= cells_.size() || is_up(start)) return false;
  std::size_t first = start;
  while (first > 0 && cells_.is_known(first - 1) && !is_up(first - 1)) --first;
  std::size_t end = start;
  while (end < cells_.size() && cells_.is_known(end) && !is_up(end)) ++end;
  if (end >= cells_.size() || !cells_.is_known(end)) return false;
  idle_ = {cells_.middle_unix_s(first), cells_.middle_unix_s(end)};
  return idle_.end_unix_s - window_.start_unix_s > slack_.late_s &&
         idle_.end_unix_s < window_.end_unix_s;
}

// Over pauses that are far shorter than the idle time.
bool LateLoad::find_end() {
  const double most_s = idle_.duration_s() / kPausesInIdle;
  end_unix_s_ = idle_.end_unix_s;
  for (std::size_t i = cells_.cell_from(idle_.end_unix_s); i < cells_.size(); ++i) {
    const double at_s = cells_.middle_unix_s(i);
    if (!cells_.is_known(i)) return false;
    if (cells_.watts(i) >= up_w_) {
      longest_pause_s_ = std::max(longest_pause_s_, at_s - end_unix_s_);
      end_unix_s_ = at_s;
    }
    if (at_s - end_unix_s_ > most_s) return end_unix_s_ - window_.end_unix_s > slack_.before_load_s;
  }
  return false;
}

// Whether power falls where the window ends.
bool LateLoad::has_fall() const {
  const double side_s = std::clamp(idle_.duration_s() / kPausesInIdle, kLeastSide_s, 20.0);
  const double first_s = window_.end_unix_s - slack_.before_load_s;
  const double last_s = window_.end_unix_s + slack_.outside_load_s;
  for (double at_s = first_s; at_s <= last_s; at_s += slack_.blur_s / 2) {
    const auto before = cells_.mean_w({at_s - slack_.blur_s - side_s, at_s - slack_.blur_s});
    const auto after = cells_.mean_w({at_s + slack_.blur_s, at_s + slack_.blur_s + side_s});
    const auto idle = cells_.mean_w(idle_);
    if (!before || !after || !idle || *before - *after > kFallsByStep * (*before - *idle)) {
      return true;
    }
  }
  return false;
}

std::optional<CutLoad> LateLoad::find() {
  if (!find_idle() || !find_end()) return std::nullopt;
  const double blur_s = slack_.blur_s;
  const auto idle_w = cells_.mean_w({idle_.start_unix_s + blur_s, idle_.end_unix_s - blur_s});
  const auto head_w = cells_.mean_w({window_.start_unix_s, idle_.end_unix_s - blur_s});
  const auto inside_w = cells_.mean_w({idle_.end_unix_s + blur_s, window_.end_unix_s - blur_s});
  const auto beyond_w = cells_.mean_w({window_.end_unix_s + blur_s, end_unix_s_ - blur_s});
  if (!idle_w || !head_w || !inside_w || !beyond_w) return std::nullopt;
  const double rise_s = idle_.end_unix_s - window_.start_unix_s;
  const double fall_s = end_unix_s_ - window_.end_unix_s;
  const bool do_agree = std::abs(rise_s - fall_s) <= slack_.blur_s;
  const double step_w = *inside_w - *idle_w;
  // Power falls anywhere in a load with pauses.
  const double least_beyond = has_pauses() ? kGoesOnInPauses : kGoesOnOfStep;
  if (step_w < kCutOfLoad * *inside_w || step_w < kStepOfAll * (*inside_w - slack_.lowest_w) ||
      *head_w > *idle_w + kCutIdleOfStep * step_w || *beyond_w < *idle_w + least_beyond * step_w ||
      (!do_agree && !has_pauses() && has_fall())) {
    return std::nullopt;
  }
  return CutLoad{.rise_s = rise_s,
                 .fall_s = fall_s,
                 .length_s = end_unix_s_ - idle_.end_unix_s,
                 .load_w = *inside_w};
}

std::optional<CutLoad> late_load(const PowerCells& cells, Window window, const EdgeSlack& slack) {
  double lowest_w = std::numeric_limits<double>::infinity();
  double highest_w = 0;
  for (std::size_t i = cells.cell_from(window.start_unix_s); i < cells.cell_from(window.end_unix_s);
       ++i) {
    lowest_w = std::min(lowest_w, cells.watts(i));
    highest_w = std::max(highest_w, cells.watts(i));
  }
  constexpr double kUp = 0.35;
  const double range_w = highest_w - lowest_w;
  for (const double share : {0.1, 0.2, kUp}) {
    LateLoad late(cells, window, slack, lowest_w + share * range_w, lowest_w + kUp * range_w);
    if (auto found = late.find()) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<CutLoad> cut_load(const PowerCells& cells, Window window, const EdgeSlack& slack) {
  if (auto late = late_load(cells, window, slack)) return late;
  auto early = late_load(cells.mirrored(), {-window.end_unix_s, -window.start_unix_s}, slack);
  if (!early) return std::nullopt;
  return CutLoad{.rise_s = -early->fall_s,
                 .fall_s = -early->rise_s,
                 .length_s = early->length_s,
                 .load_w = early->load_w};
}

// ---- The power of all GPUs, cell by cell

PowerCells::PowerCells(std::span<const std::span<const Sample>> gpus, Window covered, double cell_s,
                       double gap_s)
    : covered_(covered),
      cell_s_(cell_s),
      watts_(static_cast<std::size_t>(covered.duration_s() / cell_s)) {
  std::vector<bool> unknown(watts_.size());
  for (const auto& samples : gpus) add(samples, gap_s, unknown);
  sum_up(unknown);
}

PowerCells::PowerCells(Window covered, double cell_s, std::vector<double> watts,
                       const std::vector<bool>& unknown)
    : covered_(covered), cell_s_(cell_s), watts_(std::move(watts)) {
  sum_up(unknown);
}

void PowerCells::sum_up(const std::vector<bool>& unknown) {
  joules_before_.assign(watts_.size() + 1, 0);
  unknown_before_.assign(watts_.size() + 1, 0);
  for (std::size_t i = 0; i < watts_.size(); ++i) {
    joules_before_[i + 1] = joules_before_[i] + watts_[i] * cell_s_;
    unknown_before_[i + 1] = unknown_before_[i] + (unknown[i] ? 1 : 0);
  }
}

PowerCells PowerCells::mirrored() const {
  std::vector<bool> unknown(size());
  for (std::size_t i = 0; i < size(); ++i) unknown[size() - 1 - i] = !is_known(i);
  // The last cell may end before the stretch does.
  const double end_unix_s = covered_.start_unix_s + static_cast<double>(size()) * cell_s_;
  return {
      {-end_unix_s, -covered_.start_unix_s}, cell_s_, {watts_.rbegin(), watts_.rend()}, unknown};
}

// Power is on straight lines between samples.
void PowerCells::add(std::span<const Sample> samples, double gap_s, std::vector<bool>& unknown) {
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
      if (between_s > gap_s) unknown[cell] = true;
    }
  }
}

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

}  // namespace aggregate_power::energy
