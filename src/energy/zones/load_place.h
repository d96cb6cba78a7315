// Whether a load of a window's length is where the window is. Pure arithmetic.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power::energy {

// ---- The power of a recording in cells of equal length. Pure arithmetic.

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
  // The first cell whose middle is not before an instant; size() if there is none.
  std::size_t cell_from(double unix_s) const;
  // The same power in a time that runs backwards: an instant t is at -t.
  PowerCells mirrored() const;

 private:
  PowerCells(Window covered, double cell_s, std::vector<double> watts,
             const std::vector<bool>& unknown);
  void sum_up(const std::vector<bool>& unknown);
  void add(std::span<const Sample> samples, double gap_s, std::vector<bool>& unknown);

  Window covered_;
  double cell_s_;
  std::vector<double> watts_;
  std::vector<double> joules_before_;
  std::vector<std::size_t> unknown_before_;
};

// ---- The load

// A load that speaks against a window.
struct LoadElsewhere {
  enum class Kind {
    window_idle,  // all of it, and the load is about as long
    overlaps,     // the load is as long, and partly in the window
    cut,          // the window begins idle and ends in the load, or the other way round
    // Less certain:
    cut_a_little,  // the same, but idle for less than the least offset
    nearby,        // the load is as long, and away by less than the least offset
    alike,         // the load is as long, and the window's own edges are no better
    only_idle,     // the window is idle, and no load is as long
  };
  Kind kind = Kind::overlaps;
  double offset_s = 0;  // the load begins and ends this much later than the window
  double length_s = 0;  // of the load
  double window_w = 0;  // means of all GPUs together: in the window, and in the load
  double load_w = 0;
  std::vector<double> others_s = {};  // offsets of other such loads, the nearest first

  // Else the window may be right.
  bool is_certain() const { return kind < Kind::cut_a_little; }
  // A whole number of quarter hours is how far time zones are apart.
  bool is_by_quarter_hours() const;
};

// Looks for the load in the power of all GPUs that cover the window, each in time order.
//
// The window fits where power rises from 2 s before its start to the least offset after it, and
// falls from the least offset before its end to 2 s after it. The least offset is 5 s, 5 % of the
// window, and two times between readings. Where it does not fit:
//
// * The window is idle: its mean is within a tenth of the step from the idle power next to a load
//   of about its length, and no load of its own stands out in it.
// * The load overlaps the window: power rises and falls once each at one offset from the window's
//   edges, to 1 s or the time between two readings. Power is idle in the part of the window that
//   the load leaves out, or the window's own edges show nothing, and it is up in the part of the
//   load that the window leaves out. Around the load it is idle for twice as long as any pause in
//   it.
// * The window cuts the load: cut_load() finds one, whose rise and fall may be at two offsets,
//   since a warm-up joined it. A load as long as the window says which is right.
//
// Nullopt where a load rises and falls with the window, where power keeps to one level in the
// window and to others before and after it, and where the recording shows no load.
std::optional<LoadElsewhere> load_elsewhere(std::span<const std::span<const Sample>> gpus,
                                            Window window);

// ---- A load that a window cuts: it begins in idle time and ends in the middle of the load, or the
// other way round.

// What is known of a window's edges, and of the recording.
struct EdgeSlack {
  double blur_s = 1;          // edges are known to this
  double late_s = 5;          // a load that begins so much later than the window is late
  double before_load_s = 5;   // an edge may be inside of the window by this
  double outside_load_s = 2;  // and outside of it by this
  double lowest_w = 0;        // the least power, over some seconds
};

struct CutLoad {
  double rise_s = 0;  // the load begins this much later than the window
  double fall_s = 0;  // and ends this much later; both are of one sign
  double length_s = 0;
  double load_w = 0;
};

// Nullopt unless power is idle at one end of the window for longer than a load may be late, which
// is three times as long as any pause of the load itself, and the load goes on beyond the other
// end, at which its power does not change.
std::optional<CutLoad> cut_load(const PowerCells& cells, Window window, const EdgeSlack& slack);

}  // namespace aggregate_power::energy
