// Whether the readings of a recording are believed: what energy/series_check finds in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/reason.h"
#include "core/telemetry/samples.h"
#include "energy/series_check.h"
#include "recorders/recording.h"

namespace aggregate_power {

// Keeps the samples that are looked at: all of them, or, of a recording with more than 131,072 (2
// MiB), the first so many from 60 s before the window on.
class SeriesKeeper {
 public:
  explicit SeriesKeeper(Window window) : window_(window) {}

  // The next rows, in the file's order.
  void take(std::span<const Reading> readings);
  // In time order; there are no more rows.
  const Samples& finish();
  // Devices that have 10 rows or more, and no power in any of them.
  std::vector<std::uint32_t> silent() const;
  // Refuses devices whose rows go through one stretch of time in the window twice, 20 rows or more
  // each, with other readings: of two hosts, one after the other in the file. After finish().
  Reasons repeated_passes(std::span<const std::string> names, Window window) const;

 private:
  Window window_;
  Samples samples_{kAlways};
  bool is_narrow_ = false;
  // Rows of one device that follow each other and do not go back in time by 10 s or more.
  struct Pass {
    double first_unix_s = 0;
    double last_unix_s = 0;
    std::uint64_t rows = 0;
  };
  void note_pass(const Reading& reading);
  bool repeats(std::size_t device, Window window) const;
  std::vector<std::uint64_t> powerless_;   // rows, by device
  std::vector<std::vector<Pass>> passes_;  // by device, a few
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

// The reasons of series_reasons() and of repeated_passes(). If the power of a device never changes,
// its states are read from `recording`, too, unless that fails.
Reasons series_doubts(const Recording& recording, SeriesKeeper& series,
                      std::span<const std::string> names, const SeriesRules& rules);

// Those of possible_series_reasons(): for a warning.
Reasons possible_series_doubts(const Samples& samples, std::span<const std::string> names,
                               const SeriesRules& rules);

// Sensors that are in two recordings.
struct SharedSensors {
  Reasons reasons;
  std::vector<std::string> warnings;  // of those that may be
};
SharedSensors shared_sensors(std::span<const KeptSeries> before, std::span<const KeptSeries> more);

}  // namespace aggregate_power
