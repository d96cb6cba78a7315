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
#include "packages/srt_slurm/shared_samples.h"
#include "packages/srt_slurm/srt_slurm.h"
#include "packages/srt_slurm/windows.h"

namespace aggregate_power {

// ---- What each GPU of a package was used for, and whether the GPUs are the expected ones.
// Contract.md C.4, C.5.

struct Topology {
  std::map<DeviceKey, std::string> roles;                         // empty if some GPU has two
  std::map<std::string, std::optional<std::int64_t>> het_groups;  // by host; empty if some host has
                                                                  // two
  std::vector<std::string> conflicts;  // conflicting_worker_roles, conflicting_het_groups
};
Topology topology_of(const std::vector<ExpectedDevice>& devices);

// How the GPUs with samples differ from the expected ones, and how they contradict each other.
PackageFaults device_faults(const std::vector<ExpectedDevice>& devices, const Topology& topology,
                            const std::vector<SeenDevice>& observed);

// How roles and groups differ from the requested ones, one sentence each. `wanted` has the number
// of GPUs of each role. Contract.md C.5.
std::vector<std::string> topology_faults(const std::vector<ExpectedDevice>& devices,
                                         const Topology& topology,
                                         const std::map<std::string, std::int64_t>& wanted);

// ---- The package

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

// ---- Whether a package's manifest agrees with what its samples and windows show. Contract.md C.4.

struct PackageEvidence {
  const PackageSamples& samples;
  const std::vector<SeenDevice>& observed;  // sorted
  const WindowScan& scan;
  const std::vector<WindowValidation>& validations;
  Contract contract;
  const std::optional<PackageWindow>& wanted;  // the run's, if there is exactly one
};

PackageFaults evidence_faults(const PackageContent& content, const PackageEvidence& evidence);

// Whether the manifest's window_validations says this about the windows. Since October members of a
// row that nobody knows do not count, and the gaps of a faulty window may be there or not.
bool is_as_stored(const JsonValue& stored, const std::vector<WindowValidation>& validations,
                  Contract contract);

// The members of rows of the manifest that are not compared, because nobody knows them.
std::vector<std::string> unknown_members(const JsonValue& manifest);

// ---- Checks whether samples.csv is what its producer writes. Contract.md C.4.

PackageFaults sample_faults(const PackageSamples& samples, const PackageDialect& dialect);

}  // namespace aggregate_power
