// Reads a recording once for all that is asked of it, and again where its rows are not in order.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "energy/analysis.h"
#include "recorders/recording.h"
#include "recorders/telemetry.h"

namespace aggregate_power {

// The analyses of one recording:
//
//   Passes passes(may_use_threads);
//   passes.add(Surveyor(), [&](Surveyor& surveyor, const Telemetry& telemetry) {
//     found.devices = surveyor.devices(telemetry.devices());
//   });
//   passes.read(recording, telemetry);
//   passes.conclude(telemetry);
class Passes {
 public:
  // `may_use_threads`: a large recording is read by several threads, where there is more than one
  // processor. Not for whoever reads several recordings at a time. The analyses are always called
  // by the thread that calls read(), and find the same.
  explicit Passes(bool may_use_threads) : may_use_threads_(may_use_threads) {}

  // Returns the analysis, which stays where it is as long as this object. `conclude` is to take
  // from it what it found: it is called by conclude(), with the analysis and the telemetry.
  template <typename A, typename Conclude>
  A& add(A analysis, Conclude conclude) {
    A& added = add(std::move(analysis));
    planned_.back().conclude = [&added, conclude](const Telemetry& read) { conclude(added, read); };
    return added;
  }
  // One from which the caller takes what it found.
  template <typename A>
  A& add(A analysis) {
    auto owned = std::make_unique<A>(std::move(analysis));
    A& added = *owned;
    planned_.push_back({std::move(owned), {}});
    return added;
  }

  // Gives all readings to all analyses, and to those that need it sorted ones. `telemetry` is what
  // recording.open() returned, not read yet, with a timestamp and a power column. Memory: sorted
  // readings take a quarter of the file's size at most, or a little where that is less; the file is
  // read for them as often as it takes. Throws TelemetryError and what the source throws, after the
  // analyses took all readings before the fault; and FileError when the file, read again, is not
  // what it was.
  void read(const Recording& recording, Telemetry& telemetry) const;
  // After read(), which did not throw.
  void conclude(const Telemetry& telemetry) const;

 private:
  struct Planned {
    std::unique_ptr<Analysis> analysis;
    std::function<void(const Telemetry&)> conclude;
  };
  bool may_use_threads_;
  std::vector<Planned> planned_;
};

}  // namespace aggregate_power
