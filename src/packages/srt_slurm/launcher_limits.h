// The power limits that a package's launcher set: gpu_power_limits_{before,applied,restored}.csv in
// the log directory. Contract-october.md 9.8.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "aggregate_power/gpu.h"
#include "packages/srt_slurm/srt_slurm.h"
#include "packages/srt_slurm/windows.h"

namespace aggregate_power::packages {

class LauncherLimits {
 public:
  // Reads the files that are there. Never throws because of them: `warnings` says what is wrong.
  LauncherLimits(const PackagePlace& place, std::vector<std::string>& warnings);

  // Each limit that was applied to some GPU, once.
  std::vector<double> different_w() const;
  // The limit that was applied to a GPU of the package; nullopt: it is not listed. A node may be
  // named with or without its domain.
  std::optional<GpuLimit> of(const DeviceKey& device) const;

 private:
  using ByGpu = std::map<DeviceKey, double>;
  ByGpu before_;
  ByGpu applied_;
  ByGpu restored_;
};

}  // namespace aggregate_power::packages
