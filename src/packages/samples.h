// The samples of a `dcgm-power` package: samples.csv, versions 1 and 2. Contract.md C.1, C.4.
//
// Read as strictly as its producer reads it: Python's csv module without skipping blanks, int() and
// float(), the header letter by letter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/files/file.h"
#include "packages/package_samples.h"

namespace aggregate_power {

struct PackageSamplesRequest {
  Window band;                  // where faulty rows matter
  std::vector<Window> windows;  // whose gaps are wanted; sorted by start
  // Gaps take memory for each device and window; with more devices they are not computed.
  std::size_t most_devices = 1 << 20;
  // Receives the samples, those of each device in time order.
  std::function<void(std::span<const PackageSample>)> take;
  // Called before everything starts over: rows out of order are read again, sorted, in memory that
  // grows with the file. Rows in order need none.
  std::function<void()> start_over = [] {};
};

// The devices with a good row. They point into `samples`.
SeenDevices seen_devices(const PackageSamples& samples);

// The largest gap of a device around one of PackageSamples::windows. Returns nullopt if its samples
// do not cover that window.
std::optional<double> max_gap_s(const PackageSamples& samples, const SeenDevice& device,
                                Window window);

// Never throws because of the file.
PackageSamples read_package_samples(const OpenedFile& file, const PackageSamplesRequest& request);

}  // namespace aggregate_power
