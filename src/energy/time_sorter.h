// Readings in time order, however a file has them, in bounded memory.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// Sorts in passes. In each pass all readings are taken, in the file's order; the earliest that were
// not given out yet are kept, as many as there is room for; then they are given out, sorted.
//
//   TimeSorter sorter(...);
//   do {
//     for each batch of the file: sorter.take(batch);
//   } while (sorter.give(out));
//
// Rows of bad stamps or no power are passed over.
class TimeSorter {
 public:
  // By what to sort. Readings of one key are given out in the order they came in.
  using Key = double (*)(double unix_s);

  // Of the readings from `first_unix_s` to `last_unix_s`, both included. At most `room` are kept at
  // a time, unless more than half of that share one key.
  TimeSorter(double first_unix_s, double last_unix_s, std::size_t room, Key key);

  void take(std::span<const Reading> readings);
  // Ends a pass; says whether another one is needed.
  bool give(const std::function<void(std::span<const Reading>)>& out);

  // The memory that a reading needs while it is kept and sorted, at most.
  static constexpr std::size_t kBytesPerReading = sizeof(Reading) + sizeof(Reading) / 2;

 private:
  void make_room();

  double first_unix_s_;
  double last_unix_s_;
  std::size_t room_;
  Key key_;
  double first_key_ = -std::numeric_limits<double>::infinity();
  double end_key_ = std::numeric_limits<double>::infinity();  // what has it or more waits
  bool some_wait_ = false;
  std::vector<Reading> kept_;
};

}  // namespace aggregate_power
