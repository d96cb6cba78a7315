// The samples of a `dcgm-power` package: samples.csv, versions 1 to 3. Contract.md C.1,
// C.4; contract-october.md 2.3.
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
#include "packages/srt_slurm/package_samples.h"

namespace aggregate_power {

struct PackageSamplesRequest {
  Window band;                                  // where faulty rows matter
  int newest_version = 3;                       // a newer header is unknown
  std::vector<Window> windows;                  // whose gaps are wanted; sorted by start
  double gap_budget_s = kPackageMaxSampleGapS;  // of SampleGaps
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

// The gaps of a device around one of PackageSamples::windows. Returns null if its samples do not
// cover that window.
const SampleGaps* gaps_of(const PackageSamples& samples, const SeenDevice& device, Window window);

// Never throws because of the file.
PackageSamples read_package_samples(const OpenedFile& file, const PackageSamplesRequest& request);

}  // namespace aggregate_power
