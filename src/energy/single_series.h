// Whether the rows of one device, or rows that name no GPU, can all come from one GPU. Pure
// arithmetic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

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

 private:
  void take_stamp(double unix_s);
  void take_pair(Sample before, Sample sample);
  void take_time(double unix_s);
  void finish_stamp();
  bool come_in_groups() const;
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
