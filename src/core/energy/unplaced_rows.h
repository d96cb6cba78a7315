// Whether rows without a usable time may be rows of the window, by the rows before and after them
// in the file.
#pragma once

#include <limits>

#include "aggregate_power/record_facts.h"
#include "aggregate_power/sample.h"

namespace aggregate_power {

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

}  // namespace aggregate_power
