// What the samples of a package hold.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/sample.h"
#include "packages/srt_slurm/gap_rules.h"
#include "packages/srt_slurm/manifest.h"

namespace aggregate_power {

struct PackageSample {
  double unix_s = 0;
  double watts = 0;
  double gpu_util_pct = 0;   // from version 2 on, if the exporter reported it; else NaN
  double temperature_c = 0;  // from version 3 on; NaN if it was not reported
  std::int64_t scrape = 0;
  std::uint32_t device = 0;  // index into PackageSamples::devices
  std::uint32_t uuid = 0;    // equal numbers mean equal UUIDs
};

// A GPU as it appears in the samples.
struct SeenDevice {
  DeviceKey key;
  std::vector<std::string> uuids;  // in the order of their scrapes; empty: no good row names it
  double first_unix_s = 0;
  double last_unix_s = 0;
  std::vector<SampleGaps> gaps;  // by PackageSamples::windows; empty beyond `most_devices`
};
using SeenDevices = std::map<DeviceKey, const SeenDevice*>;

// Rows with one kind of fault: how many matter for a window, and how many do not.
struct FaultyRows {
  std::uint64_t in_band = 0;  // including rows of unknown time
  std::uint64_t outside = 0;
  bool any() const { return in_band + outside > 0; }
};

struct PackageSamples {
  bool is_missing = false;
  bool has_other_header = false;
  int version = 1;
  std::uint64_t rows = 0;  // good ones, each scrape of a device once
  std::int64_t last_scrape = -1;
  std::vector<Window> windows;      // PackageSamplesRequest's
  std::vector<SeenDevice> devices;  // indexed by PackageSample::device
  std::uint64_t blank_rows = 0;
  std::uint64_t hot_cells = 0;  // temperatures that no GPU has, and that are left out
  FaultyRows malformed;         // other than blank
  FaultyRows repeated;          // a scrape of a device that occurred before
  FaultyRows turned_back;       // a stamp before that of the previous scrape
  FaultyRows same_stamp;        // the same stamp as that of the previous scrape
  // Of the malformed rows that matter, those that only lack a number of power: device and stamp.
  std::vector<std::pair<std::uint32_t, double>> without_power;
  std::string first_fault;  // for people: "row 3: ..."; empty: none
};

}  // namespace aggregate_power
