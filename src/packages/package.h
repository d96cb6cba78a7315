// A `dcgm-power` package as a whole: whether it holds what its producer promises, worked out from
// its bytes. Contract.md C.4, C.9. The producer's own verdict is not looked at here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/json_value.h"
#include "packages/manifest.h"
#include "packages/samples.h"
#include "packages/windows.h"

namespace aggregate_power {

// No two samples of a GPU may be further apart.
inline constexpr double kPackageMaxSampleGapS = 3.0;

struct PackageFault {
  std::string text;
  // It concerns other windows alone, or rows that no window of ours needs.
  bool is_elsewhere = false;
};

struct Package {
  PackageDialect dialect = PackageDialect::pinned;
  std::vector<PackageFault> faults;  // empty: it is whole
  // What of it lies elsewhere, by name: how often.
  std::map<std::string, std::uint64_t> elsewhere;
  Topology topology;
  std::vector<SeenDevice> observed;  // that have rows; sorted
  WindowScan scan;
  PackageSamples samples;
  std::map<DeviceKey, double> max_sample_gap_s;  // over the wanted window, of GPUs around it
};

struct PackageContent {
  JsonValue manifest;
  std::vector<ExpectedDevice> devices;
  std::vector<WindowKey> windows;
};

// The completed windows of this concurrency (compared as Python does). Contract.md C.6.
std::vector<PackageWindow> windows_of(const WindowScan& scan, const JsonValue& concurrency);

struct PackageRequest {
  JsonValue concurrency;  // of the window that is wanted
  bool salvage = false;   // only faults that are not elsewhere matter
  // Sees all samples, a device's in time order, once it is known which window is wanted: `begin` is
  // told before, and again when all begins anew.
  std::function<void(Window)> begin;
  std::function<void(std::span<const PackageSample>)> take;
};

// Never throws for what is wrong with the package.
Package recompute_package(const PackagePlace& place, const PackageContent& content,
                          const PackageRequest& request);

}  // namespace aggregate_power
