// Checks each expected window of a package against its result and the samples, as the producer
// does. Contract.md C.4.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "packages/srt_slurm/dialect.h"
#include "packages/srt_slurm/faults.h"
#include "packages/srt_slurm/gap_rules.h"
#include "packages/srt_slurm/manifest.h"
#include "packages/srt_slurm/samples.h"
#include "packages/srt_slurm/windows.h"

namespace aggregate_power {

// What the producer writes about each window that it expected.
struct WindowValidation {
  WindowKey key;
  std::optional<std::string> file;
  std::vector<std::string> codes;             // empty: valid
  std::map<std::string, std::string> firsts;  // by code, for people: the first place where it was
                                              // found
  std::vector<std::pair<std::string, double>> gaps_s;  // by device: the longest
};

// An expected window before its gaps are judged.
struct CheckedWindow {
  // One device's samples around a window that is otherwise sound.
  struct Device {
    DeviceKey key;
    std::string name;                  // "host/UUID"; empty if its UUID is not known
    std::string code;                  // why its gaps are not known; empty: they are
    std::string what;                  // the same for people
    const SampleGaps* gaps = nullptr;  // of the samples
  };

  WindowValidation alone;  // without its samples
  std::vector<Device> devices;
  double window_s = 0;
};

// In the order of the expected windows. They point into `samples`.
std::vector<CheckedWindow> check_windows(const PackagePlace& place, const PackageContent& content,
                                         const WindowScan& scan, const PackageSamples& samples,
                                         const PackageDialect& dialect);

struct GapJudgement {
  const GapRule& rule;
  SamplingPace pace;
  bool omits_gaps_of_faulty_windows = false;
};
std::vector<WindowValidation> judged(const std::vector<CheckedWindow>& windows,
                                     const GapJudgement& judgement);

// In these, `wanted` is the window of the run, if there is exactly one: faults of the other windows
// are elsewhere.
PackageFaults window_faults(const std::vector<WindowValidation>& validations,
                            const std::optional<PackageWindow>& wanted);
PackageFaults artifact_faults(const WindowScan& scan, const std::optional<PackageWindow>& wanted);

// Windows that were not expected.
std::vector<ArtifactFault> unexpected_windows(const WindowScan& scan,
                                              const std::vector<WindowKey>& expected);

bool concerns_others(const ArtifactFault& fault, const std::optional<PackageWindow>& wanted);

}  // namespace aggregate_power
