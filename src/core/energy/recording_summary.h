// The content of a recording, device by device, without any window.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/power_unit.h"
#include "aggregate_power/sample.h"
#include "core/energy/exact_mean.h"
#include "core/energy/plausibility.h"

namespace aggregate_power {

struct DeviceSurvey {
  std::string id;
  std::uint64_t samples = 0;  // readings, including those that share a stamp
  double first_unix_s = 0;
  double last_unix_s = 0;
  // Between distinct stamps; nullopt if there are fewer than two.
  std::optional<double> median_interval_s;
  std::optional<double> max_gap_s;
  double mean_w = 0;  // arithmetic
  double min_w = 0;
  double max_w = 0;
};

class Surveyor {
 public:
  // The next readings, in the file's order.
  void take(std::span<const Reading> readings);

  // Devices with at least one reading, sorted as GPU ids are. `names` by Reading::device. To be
  // called exactly once, after all readings: the stamps are sorted in place.
  std::vector<DeviceSurvey> devices(std::span<const std::string> names);
  // Reasons to doubt the numbers, for people: "CODE: sentence". `read_as` is the unit of bare
  // numbers.
  std::vector<std::string> warnings(std::span<const std::string> names,
                                    PowerUnit::Size read_as = PowerUnit::Size::watt,
                                    const PlausibleWatts& plausible = {}) const;
  std::uint64_t unnamed_readings() const { return unnamed_readings_; }

 private:
  struct Device {
    std::uint64_t samples = 0;
    std::vector<double> stamps;
    ExactMean mean;
    double min_w = 0;
    double max_w = 0;
    double last_w = 0;
    std::uint64_t repeats = 0;    // readings equal to the previous one
    std::uint64_t backwards = 0;  // stamps earlier than the previous one
  };

  std::vector<Device> devices_;
  std::uint64_t unnamed_readings_ = 0;
};

}  // namespace aggregate_power
