// Energy of GPUs over one window, and whether the samples suffice for it. Pure arithmetic: no
// files, no clock, no printing. Contract.md B.3 and B.4.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/contract.h"
#include "aggregate_power/gpu.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/record_facts.h"
#include "aggregate_power/sample.h"
#include "core/energy/exact_mean.h"
#include "core/energy/plausibility.h"
#include "core/telemetry/samples.h"

namespace aggregate_power {

// Energy of one GPU over one window. Pure arithmetic: no files, no clock, no printing. Contract.md
// B.4.

// One device, sample by sample in time order, in constant memory. Power is linear between samples
// and interpolated at the window's edges. Readings with the same stamp are averaged exactly: some
// tools stamp more coarsely than they sample.
class DeviceIntegrator {
 public:
  explicit DeviceIntegrator(Window window) : window_(window) {}

  // The next sample, not before the one added last.
  void add(double unix_s, double watts) {
    if (has_stamp_ && unix_s == stamp_.unix_s) {
      if (!same_stamp_) {
        same_stamp_ = std::make_unique<ExactMean>();
        same_stamp_->add(stamp_.watts);
      }
      same_stamp_->add(watts);
      return;
    }
    if (has_stamp_) take(same_stamp_ ? finished_stamp() : stamp_);
    stamp_ = {unix_s, watts};
    has_stamp_ = true;
  }

  // The same for many, with the same result.
  void add(std::span<const Sample> samples) {
    while (!samples.empty()) {
      samples = samples.subspan(add_steady(samples));
      if (samples.empty()) return;
      add(samples.front().unix_s, samples.front().watts);
      samples = samples.subspan(1);
    }
  }
  // Whether a sample of this time is too late to be added.
  bool is_behind(double unix_s) const { return has_stamp_ && unix_s < stamp_.unix_s; }

  // Such samples are most likely a sensor's fault.
  static bool is_odd(double watts) { return watts > kMostUsualWatts || watts == 0; }

  DeviceEnergy finish();
  // After finish(): whether all samples are of 0 W.
  bool has_only_zeros() const { return result_.samples > 0 && zeros_ == result_.samples; }

 private:
  std::size_t add_steady(std::span<const Sample> samples);
  Sample finished_stamp();
  void take(Sample sample) {
    if (is_steady_ && sample.unix_s < window_.end_unix_s) {
      ++result_.samples;
      const double gap_s = sample.unix_s - before_.unix_s;
      if (gap_s > result_.max_sample_gap_s) result_.max_sample_gap_s = gap_s;
      note_if_odd(sample);
      result_.energy_j += trapezoid_j(before_, sample);
      before_ = sample;
    } else {
      take_near_edge(sample);
    }
  }
  // contract.md B.4, in this order: other orders differ in the last bit.
  static double trapezoid_j(Sample left, Sample right) {
    return (right.unix_s - left.unix_s) * (left.watts + right.watts) / 2.0;
  }
  void take_near_edge(Sample sample);
  // Before `before_` becomes the sample.
  void note_if_odd(Sample sample) {
    if (is_odd(sample.watts) || zeros_ > 0) note_odd(sample);
  }
  void note_odd(Sample sample);
  void integrate_to(Sample sample);

  // The members that each sample needs come first, side by side: there may be thousands of devices.
  Window window_;
  Sample stamp_;   // the newest stamp; may get more readings
  Sample before_;  // the sample before it
  bool has_stamp_ = false;
  bool inside_ = false;     // past the window's start
  bool is_steady_ = false;  // and past a sample inside it, but not past its end
  bool done_ = false;       // past the window's end
  bool is_on_before_zeros_ = false;
  std::uint32_t zeros_ = 0;                // in a row, up to the sample before
  std::unique_ptr<ExactMean> same_stamp_;  // mean of its readings if there are several; large
  DeviceEnergy result_;
  Sample point_;  // where the integrated energy ends
};

// ---- Whether rows without a usable time may be rows of the window, by the rows before and after
// them in the file.

// A row between two that are both before the band of readings that count, or both after it, is not
// of the window, provided that the file is in the order of time. Anything else may be.
class UnplacedRows {
 public:
  explicit UnplacedRows(Window band) : band_(band) {}

  // The next row of the file has no usable time.
  void add() { waiting_ = true; }
  // The next row of the file has one. Returns whether rows before it, that had none, may be of the
  // window.
  bool add(double unix_s) {
    if (unix_s < latest_unix_s_ - kMostStepBackS) is_ordered_ = false;
    if (unix_s > latest_unix_s_) latest_unix_s_ = unix_s;
    const bool may_be_inside = waiting_ && side_of(unix_s) * side_of(last_unix_s_) != 1;
    are_any_ |= waiting_;
    waiting_ = false;
    last_unix_s_ = unix_s;
    return may_be_inside;
  }
  // The same, quickly, for a row in the band; returns whether it was added.
  bool add_inside(double unix_s) {
    if (waiting_ || unix_s < latest_unix_s_) return false;
    latest_unix_s_ = last_unix_s_ = unix_s;
    return true;
  }
  // Once the file has ended: whether rows about which nothing was said so far may be of the window.
  bool may_be_inside() const { return waiting_ || (are_any_ && !is_ordered_); }

 private:
  // Of rows that several GPUs wrote at one time.
  static constexpr double kMostStepBackS = kDefaultMaxSampleGapS;
  static constexpr double kNever = -std::numeric_limits<double>::infinity();

  // -1: before the band; 1: after it; 0: in it, or no row.
  int side_of(double unix_s) const {
    if (unix_s == kNever) return 0;
    return unix_s < band_.start_unix_s ? -1 : unix_s > band_.end_unix_s ? 1 : 0;
  }

  Window band_;
  double last_unix_s_ = kNever;
  double latest_unix_s_ = kNever;
  bool waiting_ = false;
  bool are_any_ = false;
  bool is_ordered_ = true;
};

// Rows near the window, but outside it, that state no power above 0 W, counted by GPU.
class BoundaryRows {
 public:
  // `device` is Reading::device.
  void add(std::uint32_t device);
  std::uint64_t of(std::uint32_t device) const;

  // By GPU, in the order of first appearance; rows that name no GPU are counted as "unknown".
  // `devices` are the names by Reading::device.
  using ByName = std::vector<std::pair<std::string, std::uint64_t>>;
  ByName by_name(std::span<const std::string> devices) const;

 private:
  std::vector<std::uint64_t> counts_;  // first without a device, then by device
  std::vector<std::size_t> met_;       // indices into it, in the order of first appearance
};

struct IntegrationOptions {
  Window window;
  std::optional<std::int64_t> expected_num_gpus;
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  Contract contract = Contract::october;
  bool is_power = true;       // false: another quantity, which may be 0 outside the window too
  bool keeps_blanks = false;  // WindowRows::blanks() are wanted
};

struct Integration {
  Reasons reasons;
  std::optional<std::int64_t> expected_num_gpus;
  std::vector<std::string> gpu_ids;  // in the original's sort order, like all that follows
  std::vector<DeviceEnergy> gpus;
  std::vector<std::optional<Reason>> issues;
  BoundaryRows::ByName boundary_degenerate_rows;
  // Set if every GPU is bracketed.
  std::optional<double> total_gpu_energy_j;
  std::optional<double> avg_total_gpu_power_w;
  std::optional<double> avg_power_w;  // per GPU
};

// What the rows of a recording say beside the power, as far as it concerns a window. A bad stamp
// counts unless it is clearly elsewhere; in August it counts wherever it is.
class WindowRows {
 public:
  explicit WindowRows(const IntegrationOptions& options);

  // The next rows, in the file's order.
  void take(std::span<const Reading> readings);

  // Devices, in the order of their first sample that counts.
  std::span<const std::uint32_t> met() const { return met_; }
  const BoundaryRows& boundary_rows() const { return boundary_rows_; }
  // The rows inside the window that state no power: their device, kNoDevice if they name none, and
  // their stamp.
  using Blank = std::pair<std::uint32_t, double>;
  std::span<const Blank> blanks() const { return blanks_; }
  // Of the rows that were taken. Once there are no more, `is_end` adds what they leave open.
  Reasons reasons(bool is_end) const;

 private:
  void take_bad_stamp();
  void take_row(const Reading& reading);
  void take_no_power(const Reading& reading);

  IntegrationOptions options_;
  Window band_;
  std::vector<char> is_met_;  // by device
  std::vector<std::uint32_t> met_;
  BoundaryRows boundary_rows_;
  UnplacedRows unplaced_rows_;
  Reasons reasons_;
  std::vector<Blank> blanks_;
  bool missing_identity_ = false;
};

// Integrates all devices of a recording. Only samples up to `max_sample_gap_s` before and after the
// window count, outside the window only those above 0 W.
class PowerIntegrator {
 public:
  explicit PowerIntegrator(const IntegrationOptions& options) : options_(options) {}

  // The next samples, in time order.
  void take(const Samples& samples);
  // Samples were earlier than those taken before, so nothing here is right. After start_over(),
  // take them again in time order.
  bool is_out_of_order() const { return is_out_of_order_; }
  void start_over() { *this = PowerIntegrator(options_); }
  // Sorts the devices by name and judges them. `names`: by Reading::device.
  Integration finish(const WindowRows& rows, std::span<const std::string> names);

 private:
  IntegrationOptions options_;
  std::vector<DeviceIntegrator> integrators_;  // by device
  bool is_out_of_order_ = false;
};

// For a recording that breaks off: what was found until then, and why it ended.
Integration abandoned(const IntegrationOptions& options, const WindowRows& rows, Reason reason,
                      std::string detail, std::span<const std::string> names);

// ---- How far the energy of a window can be off because of what is between two samples.
// GapBound: contract-october.md section 8, row 1.

// In a gap the power is taken to be linear. It was between the GPU's lowest and highest power, so
// the energy is off by at most the gap's length inside the window, times the larger distance from
// its mean to those two. Lowest and highest are those of all samples of the GPU: its own limits are
// not known. Gaps up to kDefaultMaxSampleGapS are not counted.
class GapBound {
 public:
  explicit GapBound(Window window) : window_(window) {}

  // Takes a sample of a device, in time order.
  void add(std::uint32_t device, Sample sample);
  // In joules.
  double bound_j(std::uint32_t device) const;

 private:
  struct Gap {
    double inside_s = 0;
    double mean_w = 0;  // inside the window, if the power is linear
  };
  struct Device {
    Sample last = {-std::numeric_limits<double>::infinity(), 0};
    double lowest_w = std::numeric_limits<double>::infinity();
    double highest_w = 0;
    std::vector<Gap> gaps;
  };
  void note_gap(Sample before, Sample after, Device& device);

  Window window_;
  std::vector<Device> devices_;  // by number
};

// ---- At the edges of a window

// The power steps up or down at the window's start or end, and a reading is a mean over up to 1 s:
// where between two readings it steps, nobody knows.
struct HiddenEdges {
  double joules = 0;     // by which the energy may be off
  double step_w = 0;     // the larger one
  double between_s = 0;  // readings there, or the time for which one is held
};
// `samples` are in time order.
HiddenEdges hidden_at_edges(std::span<const Sample> samples, Window window);

// ---- Whether the rows of one device, or rows that name no GPU, can all come from one GPU. Pure
// arithmetic.

// Whether each member of a sequence resembles the one some number of members before, and not the
// one just before.
class Alternation {
 public:
  void add(double value);
  // That number; 0: none. Members that follow each other must be `least` of their mean apart.
  std::size_t period(double least) const;

 private:
  static constexpr std::size_t kMost = 16;
  std::uint64_t count_ = 0;
  double sum_ = 0;
  std::array<double, kMost + 1> last_ = {};   // by the member's number
  std::array<double, kMost + 1> apart_ = {};  // [k]: sum of differences to k members before
};

// What speaks against a single GPU in samples in time order that several GPUs may have taken in
// turn; empty: nothing. Each row of a round is one GPU's throughout: its power is far from the
// next row's, or it comes at its own phase and its power differs from the next row's as much as
// rounds do. At least 9 rounds.
// `is_only`: the recording has no other device; else the phases are its recorder's.
// `all`: of the recording, which `samples` are a part of. Where the power is far lower and the same
// in each row, one GPU's load was in step with its recorder, and the levels are no doubt.
std::string doubt_of_turns(std::span<const Sample> samples, bool is_only,
                           std::span<const Sample> all = {});
// Rows that follow each other within milliseconds.
class Groups {
 public:
  void add(double unix_s, double watts);
  // Whether each place in a group is another GPU's; true if there are too few to tell.
  bool are_of_several();
  // Whether most groups have as many rows.
  bool have_one_size() const;
  std::size_t usual_size() const;
  // Whether at one place in the groups the power is its own, by 1 % and clearly.
  bool have_own_levels() const;
  // Whether each of `times` has a group, and all as many rows, but for a few at the ends.
  bool are_of_one_size(std::uint64_t times) const;
  // Whether the power steps by a fifth between groups so often, and within none, that one GPU whose
  // steps are anywhere would do it less than once in 50 times.
  bool step_between_only() const;

 private:
  static constexpr std::size_t kMost = 64;
  struct Moments {
    std::uint64_t count = 0;
    double sum = 0;
    double squares = 0;

    void add(double value) {
      ++count;
      sum += value;
      squares += value * value;
    }
    double mean() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
    double standard_error() const;
  };

  void finish();
  void note_rest(double mean_w);
  bool have_own_power() const;

  std::size_t size_ = 0;  // of the last group
  double last_unix_s_ = 0;
  double first_w_ = 0;                    // of the group before
  std::array<double, kMost> watts_ = {};  // of the last group
  std::uint64_t groups_ = 0;              // of 2 rows or more
  std::array<std::uint64_t, kMost + 1> of_size_ = {};
  std::array<double, kMost> off_w_ = {};  // from the group's mean, the last ones
  double mean_w_ = 0;                     // of the group before
  std::size_t size_before_ = 0;
  std::size_t at_rest_ = 0;  // groups in a row that are as the one before
  std::size_t longest_at_rest_ = 0;
  std::vector<std::vector<double>> kept_w_;  // the groups
  double in_course_ = 0;                     // sum of products of each with the one before
  double squares_ = 0;                       // of them
  Moments within_;                           // from row to row
  std::uint64_t as_far_apart_ = 0;  // groups whose first rows differ as much as two groups' do
  Moments power_;
};

// One GPU has one row at a time, each later than the one before, at intervals that are mostly
// alike. Rows of several GPUs repeat their times, come one GPU after the other, or come in groups:
// short intervals within a group, and a long one to the next. Or their power is that of some number
// of rows before, and not that of the row before: each GPU has its own.
class SingleSeries {
 public:
  // `clock_offset_s` was added to the stamps of the samples.
  explicit SingleSeries(double clock_offset_s = 0) : clock_offset_s_(clock_offset_s) {}

  // The next rows, in the file's order.
  void take(std::span<const Reading> readings);
  // The next samples of one device, in time order; where several have one stamp, in the file's
  // order.
  void take(std::span<const Sample> samples);

  // What speaks against a single GPU if the rows name none; empty: nothing.
  std::string doubt() const;
  // The same for the samples of one device. One that is polled faster than its stamps tell apart
  // has several readings at a time, and a load may repeat itself: both are no doubt, unless each
  // time has as many readings, with a level for each place.
  std::string doubt_of_device() const;
  // The same where the rows may be of several GPUs whose power is alike, or of one that is asked
  // several times at once, or always as often between two stamps.
  std::string possible_doubt_of_device() const;
  // What speaks against one GPU if each time has as many readings, as a level of each place or
  // steps of power between times only; empty: nothing. A whole recording shows it better than a
  // window does.
  std::string doubt_of_full_times() const;

 private:
  void take_stamp(double unix_s);
  void take_pair(Sample before, Sample sample);
  void take_time(double unix_s);
  void finish_stamp();
  bool come_in_groups() const;
  bool differ_within_groups() const;
  std::string groups_text() const;
  bool are_times_full() const;
  std::string full_times_text() const;
  bool are_stamps_coarse() const;

  double clock_offset_s_;
  std::uint64_t stamps_ = 0;
  double last_unix_s_ = 0;
  double interval_s_ = 0;          // before the last stamp
  std::uint64_t comparisons_ = 0;  // of an interval with the one before
  std::uint64_t changes_ = 0;      // that were large
  std::string fault_;              // the first one in the order of the rows

  Alternation power_;
  Alternation intervals_;
  Groups groups_;
  // Of samples:
  Groups at_times_;                // with readings that repeat the one before
  std::uint64_t mixed_ = 0;        // times whose readings are not all one number
  bool is_mixed_ = false;          // the last time
  std::uint64_t times_ = 0;        // different stamps
  std::uint64_t differing_ = 0;    // of them with readings that differ
  bool differs_ = false;           // the readings of the last stamp
  std::uint64_t short_pairs_ = 0;  // of readings that follow each other within milliseconds
  std::uint64_t short_steps_ = 0;  // of them, with another power
  // How many stamps are multiples of a unit, and how many intervals are of a unit or so.
  struct Grid {
    std::uint64_t stamps = 0;
    std::uint64_t steps = 0;
  };
  static constexpr std::size_t kGrids = 4;
  std::array<Grid, kGrids> grids_;
  Sample last_;
};

}  // namespace aggregate_power
