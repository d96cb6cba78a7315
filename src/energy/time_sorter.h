// Gives readings in time order, whatever their order in the file, in bounded memory.
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
// Rows with a bad stamp or no power are skipped.
class TimeSorter {
 public:
  // The sort key. Readings with equal keys are given out in the order of arrival.
  using Key = double (*)(double unix_s);

  // Sorts the readings from `first_unix_s` to `last_unix_s`, both included. Keeps at most `room` at
  // a time, unless more than half of that share one key.
  TimeSorter(double first_unix_s, double last_unix_s, std::size_t room, Key key);

  void take(std::span<const Reading> readings);
  // Ends a pass; returns whether another one is needed.
  bool give(const std::function<void(std::span<const Reading>)>& out);

  // The most memory that a reading needs while it is kept and sorted.
  static constexpr std::size_t kBytesPerReading = sizeof(Reading) + sizeof(Reading) / 2;

 private:
  void make_room();

  double first_unix_s_;
  double last_unix_s_;
  std::size_t room_;
  Key key_;
  double first_key_ = -std::numeric_limits<double>::infinity();
  double end_key_ = std::numeric_limits<double>::infinity();  // readings with this key or a later
                                                              // one wait
  bool some_wait_ = false;
  std::vector<Reading> kept_;
};

}  // namespace aggregate_power
