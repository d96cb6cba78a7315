// The verdict on a package by itself, without a benchmark's result: as its recorder's validator
// gives it. Contract-october.md 9.6.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/contract.h"
#include "packages/srt_slurm/windows.h"

namespace aggregate_power::packages {

struct PackageValidation {
  std::vector<std::string> failures;  // in the validator's order; empty: it is publishable
  std::vector<std::string> warnings;  // what only the validator checks of the manifest
  std::vector<WindowValidation> windows;
  std::string gap_rule;  // by which gaps were judged; empty: none were
  std::optional<bool> stored_publication_valid;
  std::optional<std::string> producer_git_commit;
  std::optional<std::string> job_id;
  std::size_t expected_devices = 0;
  std::size_t observed_devices = 0;
  std::size_t stable_uuids = 0;  // of devices that kept one
  std::uint64_t sample_rows = 0;
  std::optional<double> max_sample_gap_s;  // around the expected windows

  bool is_publishable() const { return failures.empty(); }
};

// Never throws because of the package.
PackageValidation validate_package(const PackagePlace& place, Contract contract);

}  // namespace aggregate_power::packages
