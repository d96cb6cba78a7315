// Whether the rows of one device, or rows that name no GPU, can all come from one GPU. Pure
// arithmetic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

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

 private:
  static constexpr std::size_t kMost = 16;
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
  // has several readings at a time, and a load may repeat itself: both are no doubt.
  std::string doubt_of_device() const;
  // The same where the rows may be of several GPUs whose power is alike, or of one that is asked
  // several times at once.
  std::string possible_doubt_of_device() const;

 private:
  void take_stamp(double unix_s);
  void take_pair(Sample before, Sample sample);
  void take_time(double unix_s);
  void finish_stamp();
  bool come_in_groups() const;
  bool differ_within_groups() const;
  std::string groups_text() const;
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
