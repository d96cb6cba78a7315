// Checks a package against its benchmark result and computes its energy: the checks of contract.md
// C.3, in order.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/contract.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/result.h"
#include "base/files/file.h"
#include "base/text/json_value.h"
#include "core/load/load_files.h"
#include "energy/uncertainty/gather.h"
#include "packages/srt_slurm/shared_samples.h"
#include "packages/srt_slurm/windows.h"

namespace aggregate_power {

struct PackageQuestion : PackageOptions {
  PackagePlace place;
  std::string result_name;           // the processed benchmark result's name, for messages
  std::optional<OpenedFile> result;  // nullopt: it cannot be opened
  std::string result_fault;          // why it cannot be opened
  Contract contract = Contract::october;
  bool salvage = false;               // faults elsewhere in the package do not invalidate the run
  bool is_pin_of_package = false;     // it comes from the package itself, not from the caller
  RowKeys keys = RowKeys::seed;       // of the aggregate
  bool with_power = false;            // compute the total power of all GPUs at every instant
  std::vector<Reason> accepted = {};  // reasons that do not keep the run from being published
  std::string failure = {};      // why the benchmark counts as failed, besides what its result says
  Reasons refusal;               // why the package is not read; empty: it is
  std::string window_file = {};  // the only window that may be the result's; empty: any
  // For questions about several windows of one package: its samples are then read once, but how
  // far gaps may put the energy off, and whether readings are stale, is not computed.
  SharedSamples* shared_samples = nullptr;
  std::optional<std::string> samples_sha256 = {};  // of samples.csv, if that is known already
  // Receives the samples of a measured run, by the record's names of its GPUs. They are gathered
  // only then, and samples are not shared.
  std::vector<GatheredReadings>* readings = nullptr;
};

// Checks the package. Never throws because of the files.
Result check_package(const PackageQuestion& question);

// ---- The findings of a package's checks.

// Reasons and their details, one sentence each.
struct Findings {
  Reasons reasons;
  std::vector<std::string> failures;

  void add(Reason reason, const std::string& detail);
  void add(const Reasons& others);  // each detail becomes a sentence
  void add(const Findings& others);
};

// Whether nothing was found but what the caller accepts.
bool is_accepted(const Findings& findings, std::span<const Reason> accepts);

// A sentence as the detail of a reason: on one line, and not too long.
std::string shortened(const std::string& detail);

// ---- The window of a package that a processed benchmark result belongs to. Contract.md C.6.

struct MatchRequest {
  const PackagePlace& place;
  const WindowScan& scan;
  const std::optional<OpenedFile>& result;  // nullopt: it cannot be opened
  const std::string& result_name;           // for messages
  const std::string& window_file;           // the only window that may be the result's; empty: any
  const LoadReading& reading;               // of the result
};

// The result was renamed on its way, so only its content ties it to a window. Returns nullopt if it
// belongs to no window; `findings` then say why.
std::optional<PackageWindow> match_window(const MatchRequest& request, Findings& findings);

}  // namespace aggregate_power
