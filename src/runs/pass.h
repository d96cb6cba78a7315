// Reads a recording once for all analyses, and again if its rows are out of order.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "energy/analysis.h"
#include "recorders/recording.h"
#include "recorders/telemetry.h"

namespace aggregate_power {

// Whether several threads read the recording faster than one.
bool gains_by_threads(const Recording& recording);

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
  // `may_use_threads` lets several threads read a large recording if there is more than one
  // processor. It is not meant for callers that read several recordings at a time. The analyses are
  // always called by the thread that calls read(), and their findings are the same.
  explicit Passes(bool may_use_threads) : may_use_threads_(may_use_threads) {}

  // Returns the analysis, which stays at its address as long as this object lives. `conclude`
  // collects its findings: conclude() calls it with the analysis and the telemetry.
  template <typename A, typename Conclude>
  A& add(A analysis, Conclude conclude) {
    A& added = add(std::move(analysis));
    planned_.back().conclude = [&added, conclude](const Telemetry& read) { conclude(added, read); };
    return added;
  }
  // An analysis whose findings the caller collects.
  template <typename A>
  A& add(A analysis) {
    auto owned = std::make_unique<A>(std::move(analysis));
    A& added = *owned;
    planned_.push_back({std::move(owned), {}});
    return added;
  }

  // Gives all readings to all analyses, and sorted readings to those that need them. `telemetry` is
  // what recording.open() returned, not yet read, with a timestamp and a power column. Memory:
  // sorted readings take at most a quarter of the file's size, or a small minimum if that is
  // larger; the file is read again for them as often as necessary. Throws TelemetryError and what
  // the source throws, after the analyses took all readings before the fault; and FileError if the
  // file has changed when it is read again.
  void read(const Recording& recording, Telemetry& telemetry) const;
  // Only after read() returned without throwing.
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
