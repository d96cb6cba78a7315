// Recordings that are given twice would count twice.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/gpu_key.h"
#include "energy/power_trace.h"

namespace aggregate_power {

// Throws Error if two of the paths lead to one file.
void refuse_repeated_recordings(std::span<const std::string> paths);

// The GPUs that count of one recording, by name.
struct GpusOfFile {
  std::string path;
  std::string schema;
  std::vector<std::pair<std::string, GpuKey>> gpus;
};

// GPUs that are in two recordings, for people. By an index alone, which another host may have, too,
// they may be one if two kinds of recorders name it.
struct RepeatedGpus {
  std::vector<std::string> sure;
  std::vector<std::string> possible;
};
RepeatedGpus repeated_gpus(std::span<const GpusOfFile> files);

// A device with its readings, and the recording that they are from.
struct RecordedDevice {
  std::string_view path;
  const PowerTrace* trace = nullptr;
};

// Throws Error if one device has the same readings as a device of another recording, to the last
// digit and at the same times, unless its power never changes.
void refuse_repeated_devices(std::span<const RecordedDevice> devices);

}  // namespace aggregate_power
