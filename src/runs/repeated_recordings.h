// Recordings that are given twice would count twice.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "energy/power_trace.h"

namespace aggregate_power {

// Throws Error if two of the paths lead to one file.
void refuse_repeated_recordings(std::span<const std::string> paths);

// A device with its readings, and the recording that they are from.
struct RecordedDevice {
  std::string_view path;
  bool names_host = false;  // the device's name is unique beyond its host
  const PowerTrace* trace = nullptr;
};

// Throws Error if one device is in two recordings: one that its host names, or one whose readings
// are the same to the last digit at the same times, unless its power never changes.
void refuse_repeated_devices(std::span<const RecordedDevice> devices);

}  // namespace aggregate_power
