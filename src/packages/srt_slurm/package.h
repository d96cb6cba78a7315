// A `dcgm-power` package as a whole: whether it contains what its producer promises, recomputed
// from its bytes. Contract.md C.4, C.9. The producer's own verdict is not considered here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/contract.h"
#include "base/text/json_value.h"
#include "packages/srt_slurm/faults.h"
#include "packages/srt_slurm/shared_samples.h"
#include "packages/srt_slurm/srt_slurm.h"
#include "packages/srt_slurm/topology.h"
#include "packages/srt_slurm/windows.h"

namespace aggregate_power {

struct Package {
  PackageDialect dialect;
  std::vector<PackageFault> faults;                // empty: it is whole
  std::map<std::string, std::uint64_t> elsewhere;  // of PackageFaults
  Topology topology;
  std::vector<SeenDevice> observed;  // those with rows; sorted, without their gaps
  WindowScan scan;
  PackageSamples samples;
  std::map<DeviceKey, double> max_sample_gap_s;  // over the wanted window, for GPUs that cover it
  std::vector<WindowValidation> validations;     // of the expected windows
  std::optional<Window> integrated;              // the window that the samples were given out for
  std::string_view gap_rule;                     // by which their gaps were judged
  std::vector<std::string> warnings;             // for people

  // It is what its manifest says, though windows of it may not be usable.
  bool is_integral() const;
};

struct PackageRequest {
  JsonValue concurrency;  // of the wanted window
  Contract contract = Contract::october;
  bool salvage = false;            // only faults that are not elsewhere matter
  bool allows_same_stamp = false;  // of a device, as the recorder's validator does
  bool consumer_gaps = false;  // gaps are judged as the original's reader does, whatever was stored
  // `take` receives all samples, each device's in time order, after the wanted window is known.
  // `begin` is called before the first, and again if all samples are given out a second time.
  std::function<void(Window)> begin;
  std::function<void(std::span<const PackageSample>)> take;
  // For requests about several windows of one package. If it can serve the wanted window,
  // `measured` receives what was measured over it, and `take` nothing.
  SharedSamples* shared = nullptr;
  bool extended = false;  // as in WindowPower
  std::function<void(WindowPower)> measured;
  std::optional<std::string> samples_sha256;  // of samples.csv, if that is known already
};

// Never throws because of the package.
Package recompute_package(const PackagePlace& place, const PackageContent& content,
                          const PackageRequest& request);

// ---- The files that make up a package, and those that belong to it: no run may change them.

struct PackageInputs {
  std::vector<std::string> files;    // including the results that its windows name
  std::vector<std::string> folders;  // including everything below them
};

// Where the package's CPU power may be recorded.
CpuFolders cpu_folders(const PackagePlace& place);

// Works whether or not the package is sound: a file that cannot be read is listed by name.
PackageInputs package_inputs(const PackagePlace& place);

}  // namespace aggregate_power
