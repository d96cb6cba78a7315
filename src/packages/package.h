// A `dcgm-power` package as a whole: whether it holds what its producer promises, recomputed from
// its bytes. Contract.md C.4, C.9. The producer's own verdict is not looked at here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/text/json_value.h"
#include "packages/dialect.h"
#include "packages/faults.h"
#include "packages/manifest.h"
#include "packages/samples.h"
#include "packages/topology.h"
#include "packages/windows.h"

namespace aggregate_power {

struct Package {
  PackageDialect dialect;
  std::vector<PackageFault> faults;                // empty: it is whole
  std::map<std::string, std::uint64_t> elsewhere;  // of PackageFaults
  Topology topology;
  std::vector<SeenDevice> observed;  // that have rows; sorted, without their gaps
  WindowScan scan;
  PackageSamples samples;
  std::map<DeviceKey, double> max_sample_gap_s;  // over the wanted window, of GPUs around it
};

struct PackageRequest {
  JsonValue concurrency;  // of the window that is wanted
  bool salvage = false;   // only faults that are not elsewhere matter
  // Sees all samples, a device's in time order, once it is known which window is wanted: `begin` is
  // called before, and again when all samples are given out a second time.
  std::function<void(Window)> begin;
  std::function<void(std::span<const PackageSample>)> take;
};

// Never throws for what is wrong with the package.
Package recompute_package(const PackagePlace& place, const PackageContent& content,
                          const PackageRequest& request);

}  // namespace aggregate_power
