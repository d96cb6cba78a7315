// What a package and a processed benchmark result come to: the gates of contract.md C.3, in order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/metric.h"
#include "aggregate_power/reason.h"
#include "base/files/file.h"
#include "base/text/json.h"
#include "energy/fleet_power.h"
#include "loads/benchmark.h"
#include "packages/cpu_power.h"
#include "packages/package.h"
#include "results/dashboard_keys.h"
#include "runs/measurement.h"

namespace aggregate_power {

// How many GPUs of each role there should be.
struct RoleCounts {
  std::int64_t prefill = 0;
  std::int64_t decode = 0;
  std::int64_t aggregate = 0;  // workers that do both
  // Of one role, whichever the package has: aggregate workers, else prefill. Instead of the others.
  std::int64_t any = 0;
};

struct PackageQuestion {
  PackagePlace place;
  std::string result_name;           // of the processed benchmark result, for messages
  std::optional<OpenedFile> result;  // nothing: it cannot be opened
  std::string result_fault;          // why
  RoleCounts gpus;
  std::string expected_producer_sha;  // empty: nobody said
  bool salvage = false;               // what concerns other windows only does not void this one
  bool extended = false;              // with all that --extended asks for
  bool with_power = false;            // with the power of all GPUs at every instant
  std::optional<std::string> expected_cpu_source;
  Reasons refusal;               // why the package is not looked at; empty: it is
  std::string window_file = {};  // which window alone may be the result's; empty: any
};

struct PackageGpu {
  std::string label;  // "host/UUID", or "host/index" of one that was never seen
  std::string role;   // empty: it is not known
  double energy_j = 0;
  double max_sample_gap_s = 0;
};

struct PackageVerdict {
  std::optional<Load> load;
  bool is_refused = false;            // without a look at the package
  bool extended = false;              // all that --extended asks for is wanted
  Reasons reasons;                    // empty: valid
  std::vector<std::string> failures;  // what is behind them, a sentence each
  std::optional<PackageWindow> window;
  std::optional<std::string> producer_git_commit;
  std::optional<std::string> exporter_image_sha256;
  std::optional<bool> stored_publication_valid;
  std::optional<bool> recomputed_publication_valid;
  std::size_t expected_gpus = 0;  // the manifest's; of a refused run those asked for
  std::size_t asked_gpus = 0;
  std::size_t observed_gpus = 0;
  std::vector<std::pair<std::string, std::string>> roles;  // of GPUs by label, sorted by device
  std::vector<PackageGpu> gpus;  // in the manifest's order; none unless they were integrated
  Metrics metrics;               // of a valid run; with percentiles and states where asked for
  std::map<std::string, std::uint64_t> salvaged;  // by name: what was passed over, how often
  std::optional<PackageDialect> dialect;
  int samples_version = 0;          // 0: not read
  std::optional<CpuPower> cpu;      // nothing: none was recorded, and none asked for
  std::optional<FleetPower> power;  // of a valid run, where it was asked for
  // Of what --extended asks for; nothing where no samples were looked at.
  std::optional<FleetMeasurement> fleet;
  std::vector<Worker> workers;
};

// Never throws for what is wrong with the files.
PackageVerdict judge_package(const PackageQuestion& question);

// What the verdict changes in the aggregate. `record` is the audit record's name.
std::vector<JsonEdit> package_edits(const PackageVerdict& verdict, const std::string& record);
// The same when there is no audit record to show for it.
std::vector<JsonEdit> unaudited_package_edits(const PackageVerdict& verdict);
// Whether those edits claim anything.
bool claims_power(const PackageVerdict& verdict);

}  // namespace aggregate_power
