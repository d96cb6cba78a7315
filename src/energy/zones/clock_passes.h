// Whether the clock that stamped a recording went back, so that rows of two times share their
// stamps. Pure arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power::energy {

// Rows of one device whose times follow each other at its usual interval.
struct ClockPass {
  double first_unix_s = 0;
  double last_unix_s = 0;
  std::size_t rows = 0;
};

// Two passes of a device that share a stretch of time.
struct SharedTime {
  std::uint32_t device = 0;
  ClockPass earlier;  // in the order of the rows
  ClockPass later;
  // Both begin and end together: they are of two recordings that were joined, and not of a clock.
  bool is_joined = false;

  Window window() const;
};

// Where the stamps of a device went back by 3 s or less, although they are regular.
struct SmallFall {
  std::uint32_t device = 0;
  double at_unix_s = 0;  // of the row before it
  double back_s = 0;     // what a regular row would be later
};

// A time that falls by more than 3 s starts another pass, and so does a pause. A row goes on with
// the pass that it follows: rows of two recorders in turn are two passes, and a file that was put
// together in another order is one. Rows without any order are not judged.
class ClockPasses {
 public:
  // Passes that are away from the window are forgotten.
  explicit ClockPasses(Window window) : window_(window) {}

  // The next rows, in the file's order.
  void take(std::span<const Reading> readings) {
    for (const Reading& reading : readings) {
      if (reading.kind == Reading::Kind::power) take(reading);
    }
  }
  // From the earliest stamp to the latest; the first is after the last if there is none.
  Window extent() const { return extent_; }
  double last_unix_s() const { return last_unix_s_; }  // of the last row
  bool falls() const;                                  // whether the time fell anywhere
  // The first of each device.
  std::vector<SharedTime> shared() const;
  // The first in a window, between 10 rows and 10 more at equal intervals: rows that several
  // threads wrote are soon in order again.
  std::optional<SmallFall> small_fall(Window window) const;

 private:
  struct Device {
    std::vector<ClockPass> passes;
    std::size_t current = 0;
    double step_s = 0;      // the usual interval
    std::size_t falls = 0;  // that began a pass
    bool has_fallen = false;
    double previous_unix_s = 0;           // of the row before
    std::size_t regular = 0;              // rows at the usual interval, one after the other
    std::optional<SmallFall> small = {};  // that the next rows may confirm
  };

  void take(const Reading& reading);
  void look_at_step(const Reading& reading, Device& device);
  bool is_near(const ClockPass& pass) const;
  static bool follows(double unix_s, const ClockPass& pass, double most_s);
  void begin_pass(double unix_s, Device& device) const;
  void find_pass(double unix_s, Device& device) const;

  Window window_;
  std::vector<Device> devices_;
  std::vector<SmallFall> small_falls_;
  Window extent_{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  double last_unix_s_ = 0;
};

}  // namespace aggregate_power::energy
