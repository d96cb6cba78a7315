// Whether the readings of a recording are believed: what energy/series_check finds in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/reason.h"
#include "core/telemetry/samples.h"
#include "energy/sensors/series_check.h"
#include "energy/zones/clock_passes.h"
#include "energy/zones/window_doubts.h"
#include "recorders/recording.h"

namespace aggregate_power {

// Keeps the samples that are looked at: all of them, or, of a recording with more than 131,072 (2
// MiB), the first so many from 60 s before the window on.
class SeriesKeeper {
 public:
  explicit SeriesKeeper(Window window) : window_(window), passes_(window) {}

  // The next rows, in the file's order.
  void take(std::span<const Reading> readings);
  // In time order; there are no more rows.
  const Samples& finish();
  const Samples& samples() const { return samples_; }  // finish()'s
  // Devices that have 10 rows or more, and no power in any of them.
  std::vector<std::uint32_t> silent() const;
  const energy::ClockPasses& passes() const { return passes_; }

 private:
  Window window_;
  energy::ClockPasses passes_;
  Samples samples_{kAlways};
  bool is_narrow_ = false;
  std::vector<std::uint64_t> powerless_;  // rows, by device
};

// The samples of one device of a recording, to be compared with other recordings.
struct KeptSeries {
  std::string recording;  // its path, or its host
  std::string device;
  std::vector<Sample> samples;
};

// Receives the first `most` samples of each device from the window's start on.
struct SeriesSink {
  std::size_t most = 4096;
  std::vector<KeptSeries> kept = {};
};
void keep_series(const Samples& samples, std::span<const std::string> names, Window window,
                 const std::string& recording, SeriesSink& sink);

// timezone_contradicts_clocks; and if rows of two times have stamps in reach of the window
// clock_set_back, or several_gpus_in_one_series where they are of two recordings. `telemetry` was
// read to its end, as `keeper`, which is finished.
Reasons clock_doubts(const Recording& recording, const Telemetry& telemetry,
                     const SeriesKeeper& keeper, Window window);
// clock_set_back, for a warning: the clock was set by so little that no rows share their stamps
// for long, or the recorder's own clocks say that it was set in the window, forward or back.
Reasons small_clock_doubts(const Recording& recording, const Telemetry& telemetry,
                           const SeriesKeeper& keeper, Window window);
// Puts them before what else speaks against the readings, and leaves out what follows from them.
void add_clock_doubts(const Reasons& clock, Reasons& doubts);

// The reasons of series_reasons(). If the power of a device never changes,
// its states are read from `recording`, too, unless that fails.
Reasons series_doubts(const Recording& recording, SeriesKeeper& series, const Telemetry& telemetry,
                      const SeriesRules& rules);

// implausible_power, if columns of one power (SeriesFacts::same_power) are clearly apart, and
// certain if readings that miss a part of its changes cannot explain it.
energy::WindowDoubts same_power_doubts(const Recording& recording, const Telemetry& telemetry,
                                       const Samples& samples, Window window);

// What possible_series_reasons() finds: for a warning.
Reasons possible_series_doubts(const Samples& samples, const Telemetry& telemetry,
                               const SeriesRules& rules);

// Sensors that are in two recordings. Of two hosts, one was not recorded then.
struct SharedSensors {
  Reasons reasons;
  std::vector<std::string> warnings;  // of those that may be
};
SharedSensors shared_sensors(std::span<const KeptSeries> before, std::span<const KeptSeries> more,
                             bool are_hosts = false);

}  // namespace aggregate_power
