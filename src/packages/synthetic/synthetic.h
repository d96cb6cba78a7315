// Synthetic packages of several nodes, of known power: what srt-slurm's recorder would have left.
#pragma once

#include <string>
#include <vector>

#include "aggregate_power/gpu.h"
#include "recorders/synthetic.h"

namespace aggregate_power {

// Where a recorder has its readings from; they decide how the package names them.
enum class SyntheticExporter { dcgm, amd, custom };

struct SyntheticPackageOptions {
  SyntheticOptions telemetry;  // its GPUs are those of all nodes together
  int nodes = 2;               // with as many GPUs each
  int prefill_nodes = 0;       // the first ones; the others decode. 0: all nodes do both
  int samples_version = 3;     // 1 to 3
  SyntheticExporter exporter = SyntheticExporter::dcgm;
};

// The load that the synthetic package was recorded for.
inline constexpr int kSyntheticConcurrency = 64;

// What every node of a package is.
struct SyntheticNode {
  std::string name;  // "node-0"
  int first_gpu = 0;
  int gpus = 0;
  Role role = Role::agg;
};
std::vector<SyntheticNode> synthetic_nodes(const SyntheticPackageOptions& options);

struct SyntheticFile {
  std::string path;  // relative to the logs root: "power/manifest.json"
  std::string text;
};

// A whole package, with the benchmark's original `result` below the logs root. Throws Error if the
// samples would not cover the benchmark: then no recorder would have called the package valid.
std::vector<SyntheticFile> synthetic_package(const SyntheticPackageOptions& options,
                                             const std::string& result);

// A whole native package. The schema of the telemetry decides the vendor.
std::vector<SyntheticFile> synthetic_native_package(const SyntheticPackageOptions& options);

}  // namespace aggregate_power
