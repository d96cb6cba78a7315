// Compares files by their identity, whatever they are called.
#include "runs/repeated_recordings.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/unicode.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kFewestSamples = 5;

bool is_one_gpu_in_two_files(const RecordedDevice& a, const RecordedDevice& b) {
  return a.names_host && b.names_host && a.path != b.path && a.trace->device() == b.trace->device();
}

bool has_same_readings(const PowerTrace& a, const PowerTrace& b) {
  return std::ranges::equal(a.samples(), b.samples(), [](const Sample& x, const Sample& y) {
    return x.unix_s == y.unix_s && x.watts == y.watts;
  });
}

bool changes(const PowerTrace& trace) {
  const auto [low, high] = std::ranges::minmax(trace.samples(), {}, &Sample::watts);
  return low.watts != high.watts;
}

}  // namespace

void refuse_repeated_recordings(std::span<const std::string> paths) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool is_same =
          paths[i] == paths[j] || (is_regular_file(paths[i]) && is_regular_file(paths[j]) &&
                                   file_identity(paths[i]) == file_identity(paths[j]));
      if (!is_same) continue;
      throw Error(fmt::format("{} and {} are one recording: give it once", printable_path(paths[j]),
                              printable_path(paths[i])));
    }
  }
}

void refuse_repeated_devices(std::span<const RecordedDevice> devices) {
  std::map<std::string_view, const RecordedDevice*> by_name;
  std::map<std::pair<std::size_t, double>, std::vector<const RecordedDevice*>> by_shape;
  for (const RecordedDevice& device : devices) {
    const auto named = by_name.emplace(device.trace->device(), &device).first;
    if (is_one_gpu_in_two_files(device, *named->second)) {
      throw Error(fmt::format("GPU {} is in {} and in {}: give one of them",
                              printable(device.trace->device()),
                              printable_path(std::string(named->second->path)),
                              printable_path(std::string(device.path))));
    }
    const std::span<const Sample> samples = device.trace->samples();
    if (samples.size() < kFewestSamples || !changes(*device.trace)) continue;
    auto& alike = by_shape[{samples.size(), samples.front().unix_s}];
    for (const RecordedDevice* const other : alike) {
      if (other->path == device.path || !has_same_readings(*other->trace, *device.trace)) continue;
      throw Error(fmt::format(
          "GPU {} of {} and GPU {} of {} have the same readings at the same times: one is a copy of the other; give one of them",
          printable(other->trace->device()), printable_path(std::string(other->path)),
          printable(device.trace->device()), printable_path(std::string(device.path))));
    }
    alike.push_back(&device);
  }
}

}  // namespace aggregate_power
