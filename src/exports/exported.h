// What is exported: runs and windows, each with a name that tells it from the others.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/facility.h"
#include "aggregate_power/sample.h"
#include "base/files/tree.h"
#include "exports/boundary_ladder.h"
#include "recorders/power_limits.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {

// The limit of the run's GPUs, and where it comes from.
struct RunLimit {
  std::string gpu;  // "H100 SXM"; empty: it was given
  double watts = 0;
  std::string source;
  std::optional<double> power_ratio = {};  // mean power of one GPU by its limit
  // What the GPUs would have used at their limit for the whole window.
  std::optional<double> joules_per_output_token = {};
};

// What a run used, cost and emitted at the outermost boundary that was asked for.
struct RunCost {
  std::string boundary;           // the last rung of the ladder
  Basis basis = Basis::measured;  // modelled if rates changed in the window, too
  FacilityFigures figures;        // of the energy there
};

struct ExportedRun {
  std::string name;
  PublishedRun run;
  Configuration configuration;
  std::optional<RunLimit> limit = {};
  std::vector<BoundaryPower> boundaries = {};
  std::optional<RunCost> cost = {};

  // 0: unknown.
  double end_unix_s() const;
};

// A window of the output of `windows --json`.
struct ExportedWindow {
  std::size_t number = 0;
  std::string name;
  Window window;
  std::string reason;  // why it was not measured; empty: it was
  std::optional<double> energy_j;
  std::optional<double> mean_power_w;
  std::optional<double> own_energy_j;  // outside the windows inside it
  std::vector<std::pair<std::string, std::optional<double>>> gpu_energies_j;
};

struct ExportedWindows {
  std::string name;  // of the file
  std::string source;
  std::vector<ExportedWindow> windows;
};

struct Exported {
  std::vector<ExportedRun> runs;
  std::vector<ExportedWindows> windows;
  std::vector<std::string> warnings;
  FacilityRates rates = {};  // those asked for; their PUE is that of the factors

  bool is_empty() const { return runs.empty() && windows.empty(); }
};

struct ExportQuestion {
  std::vector<std::string> places;
  std::vector<std::string> labels;  // members of the aggregates; empty: those that are known
  BoundaryFactors factors;
  FacilityOptions facility = {};  // without a PUE, which is a factor
  bool wants_limit = false;
  std::optional<double> limit_w;  // of one GPU; nullopt: by the table
  // Runs of one name at different times are one series.
  bool is_by_time = false;
  StoreAccess access = {};
  unsigned most_threads = 1;
};

// Places are those of read_published_runs(), and output of `windows --json`. Aggregates without
// power are left out, with a warning. Throws Error and FileError.
Exported read_exported(const ExportQuestion& question);

}  // namespace aggregate_power
