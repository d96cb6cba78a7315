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
#include "packages/manifest.h"

namespace aggregate_power {

// No two samples of a GPU may be further apart.
inline constexpr double kPackageMaxSampleGapS = 3.0;

struct PackageSample {
  double unix_s = 0;
  double watts = 0;
  double gpu_util_pct = 0;  // of version 2, where the exporter said it; else NaN
  std::int64_t scrape = 0;
  std::uint32_t device = 0;  // index into PackageSamples::devices
  std::uint32_t uuid = 0;    // the same number: the same UUID
};

// A GPU as it shows in the samples.
struct SeenDevice {
  DeviceKey key;
  std::vector<std::string> uuids;  // in the order of their scrapes; none: no row of it was good
  double first_unix_s = 0;
  double last_unix_s = 0;
  // By PackageSamples::windows: the largest between neighbours of which one is before the
  // window's end and the other behind its start, 0 without such; empty beyond `most_devices`.
  std::vector<double> max_gaps_s;
};
using SeenDevices = std::map<DeviceKey, const SeenDevice*>;

// Rows with one kind of fault: where it matters for a window, and where it does not.
struct FaultyRows {
  std::uint64_t in_band = 0;  // or of no known time
  std::uint64_t outside = 0;
  bool any() const { return in_band + outside > 0; }
};

struct PackageSamples {
  bool is_missing = false;
  bool has_other_header = false;
  int version = 1;
  std::uint64_t rows = 0;  // good ones, each scrape of a device once
  std::int64_t last_scrape = -1;
  std::vector<Window> windows;      // of PackageSamplesRequest
  std::vector<SeenDevice> devices;  // by PackageSample::device
  std::uint64_t blank_rows = 0;
  FaultyRows malformed;     // other than blank
  FaultyRows repeated;      // a scrape of a device that was there before
  FaultyRows turned_back;   // a stamp before that of the scrape before
  FaultyRows same_stamp;    // the same stamp as that of the scrape before
  std::string first_fault;  // for people: "row 3: ..."; empty: none
};

struct PackageSamplesRequest {
  Window band;                  // what counts of faulty rows
  std::vector<Window> windows;  // sorted by their start; whose gaps are wanted
  // Gaps take memory for each device and window: those of more devices are not wanted.
  std::size_t most_devices = 1 << 20;
  // Gets the samples, those of each device in the order of time.
  std::function<void(std::span<const PackageSample>)> take;
  // All begins anew: rows out of order are read again, sorted, in memory that grows with the file,
  // while others need none.
  std::function<void()> start_over = [] {};
};

// Those with a good row. They point into `samples`.
SeenDevices seen_devices(const PackageSamples& samples);

// The largest gap of a device around one of PackageSamples::windows. Nothing when its samples do
// not reach over that window.
std::optional<double> max_gap_s(const PackageSamples& samples, const SeenDevice& device,
                                Window window);

// Never throws for what is wrong with the file.
PackageSamples read_package_samples(const OpenedFile& file, const PackageSamplesRequest& request);

}  // namespace aggregate_power
