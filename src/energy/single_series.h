// Whether rows that name no GPU can all be those of one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// One GPU has one row at a time, each later than the one before, at intervals that are mostly
// alike. Rows of several GPUs repeat their times, come one GPU after the other, or come in groups:
// short intervals within a group, and a long one to the next. Or their power is that of some number
// of rows before, and not that of the row before: each GPU has its own.
class SingleSeries {
 public:
  // The next rows, in the file's order.
  void take(std::span<const Reading> readings);
  // What speaks against a single GPU; empty: nothing.
  std::string doubt() const;

 private:
  void take_stamp(double unix_s);
  void take_power(double watts);
  std::size_t period() const;  // of the power in rows; 0: none

  std::uint64_t stamps_ = 0;
  double last_unix_s_ = 0;
  double interval_s_ = 0;          // before the last stamp
  std::uint64_t comparisons_ = 0;  // of an interval with the one before
  std::uint64_t changes_ = 0;      // that were large
  std::string fault_;              // the first one in the order of the rows

  static constexpr std::size_t kMostGpus = 16;
  std::uint64_t readings_ = 0;
  double sum_w_ = 0;
  std::array<double, kMostGpus + 1> last_w_ = {};   // by the reading's number
  std::array<double, kMostGpus + 1> apart_w_ = {};  // [k]: sum of differences to k readings before
};

}  // namespace aggregate_power
