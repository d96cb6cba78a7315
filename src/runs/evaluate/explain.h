// Explains why a recording gave no result, if the reason's code does not say enough.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>

#include "aggregate_power/sample.h"
#include "recorders/recording.h"
#include "core/telemetry/telemetry.h"

namespace aggregate_power {

// "3 of 9 rows, the first 'yesterday' in row 2 after the header"; empty if no stamp was bad.
std::string bad_stamps_text(const Telemetry& telemetry);

// The first and the last stamp of a recording; nullopt if it has none. Reads it once. Throws what
// reading throws.
std::optional<Span> extent_of(const Recording& recording);

// The first and the last stamp of the rows of a recording.
class RowExtent {
 public:
  void take(std::span<const Reading> readings);
  // The last is before the first if no row has a stamp.
  Span span() const { return span_; }
  bool has_power() const { return has_power_; }
  // Readings of power of a device.
  std::uint64_t readings(std::size_t device) const {
    return device < readings_.size() ? readings_[device] : 0;
  }

 private:
  Span span_{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  bool has_power_ = false;
  std::vector<std::uint64_t> readings_;  // by device
};

// Why a recording has no usable power samples in a window.
struct NoSamples {
  std::string detail;                    // empty: nothing more can be said
  std::optional<std::string> zone_hint;  // zone_hint()'s
};

// `telemetry` was read to its end, and `extent` took all its rows. Zones that are named were tried
// on the recording, which is read once more.
NoSamples explain_no_samples(const Recording& recording, const RowExtent& extent,
                             const Telemetry& telemetry, Window window);

}  // namespace aggregate_power
