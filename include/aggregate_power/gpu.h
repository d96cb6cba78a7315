// What is known of one GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// What it does in a deployment.
enum class Role { prefill, decode, agg };

std::string_view role_name(Role role);
std::optional<Role> role_of(std::string_view name);

// A GPU of one host of several.
struct RecordedGpu {
  std::string host;
  std::string id;     // in its host's recording
  std::string uuid;   // empty: not known
  std::string index;  // by its host's identity file, where that is not `id`
};

// Its energy inside one window.
// First what each sample changes: there may be thousands of GPUs.
struct DeviceEnergy {
  std::uint64_t samples = 0;    // distinct stamps
  double max_sample_gap_s = 0;  // between neighbours from the last sample at or before the start to
                                // the first at or after the end; only when bracketed
  double energy_j = 0;          // inside the window; only when bracketed
  double first_unix_s = 0;
  double last_unix_s = 0;
  bool bracketed =
      false;  // there is a sample at or before the window's start, and one at or after its end
};

// One quantity of all GPUs over a window.
struct StateSummary {
  double mean = 0;       // over the window, then over the GPUs
  double peak = 0;       // of all samples in the window; minus infinity where there is none
  std::size_t gpus = 0;  // that have the quantity
};

// As the original sorts GPU ids (contract.md B.3): those of digits alone first, by value, then
// the others by code point.
bool device_name_less(const std::string& a, const std::string& b);

}  // namespace aggregate_power
