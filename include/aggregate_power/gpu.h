// What is known about one GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aggregate_power {

// The role of a GPU in a deployment.
enum class Role { prefill, decode, agg };

std::string_view role_name(Role role);
std::optional<Role> role_of(std::string_view name);

// The expected number of GPUs of each role.
struct RoleCounts {
  std::int64_t prefill = 0;
  std::int64_t decode = 0;
  std::int64_t aggregate = 0;  // workers that do both
  // GPUs of one role, whichever the package has: aggregate workers, else prefill. Replaces the
  // others.
  std::int64_t any = 0;
};

// A GPU in a run on several hosts.
struct RecordedGpu {
  std::string host;
  std::string id;     // in its host's recording
  std::string uuid;   // empty: unknown
  std::string index;  // from its host's identity file, if different from `id`
};

// A GPU's energy inside one window. The members that each sample changes come first: there may be
// thousands of GPUs.
struct DeviceEnergy {
  std::uint64_t samples = 0;    // distinct stamps
  double max_sample_gap_s = 0;  // between neighbours from the last sample at or before the start to
                                // the first at or after the end; only when bracketed
  double energy_j = 0;          // inside the window; only when bracketed
  double first_unix_s = 0;
  double last_unix_s = 0;
  bool bracketed =
      false;  // there is a sample at or before the window's start, and one at or after its end

  // Samples that count although a sensor was most likely at fault.
  std::uint64_t absurd_samples = 0;  // above what any board draws
  double highest_w = 0;              // of those above what usual boards draw
  double highest_unix_s = 0;
  std::uint64_t lone_zeros = 0;  // 0 W, up to three in a row, between samples of a GPU that is on
};

// One quantity, summarized over all GPUs and a window.
struct StateSummary {
  double mean = 0;       // over the window, then over the GPUs
  double peak = 0;       // of all samples in the window; minus infinity if there are none
  std::size_t gpus = 0;  // number of GPUs that report the quantity
};

// Sorts GPU ids as the original does (contract.md B.3): ids of digits only come first, by value,
// then the others by code point.
bool device_name_less(const std::string& a, const std::string& b);

// ---- What a recording says about who a GPU is.

// An empty part is not stated.
struct GpuKey {
  std::string host = {};   // shown in each name of the recording
  std::string place = {};  // a host, pod, container or rank of a further column
  std::string index = {};  // or another name that is unique there
  std::string uuid = {};   // as written
  std::string pci = {};    // as written

  bool operator==(const GpuKey&) const = default;
};

// ---- The power limits of a run's GPUs.

// One GPU's, as far as it was in force in a window. Contract-october.md 9.8.
struct GpuLimit {
  std::string gpu;
  std::string source;  // "recording", or the launcher's file
  // In W, each once, in the order of time; several: it was changed in the window. A recording that
  // changes it all the time states the first few.
  std::vector<double> limits_w;
  // Of the readings in the window, those at the limit; nullopt: they were not compared.
  std::optional<double> share_at_limit = {};
  // What the launcher found before it set the limit, and after it had set the old one again.
  std::optional<double> before_w = {};
  std::optional<double> restored_w = {};
};

// A reading above this share of its limit is at the limit.
inline constexpr double kAtLimitShare = 0.94;

// ---- How processes used a GPU over a period.

struct ProcessUse {
  std::size_t process = 0;  // its number
  double use = 0;           // of the GPU's multiprocessors; above 0
};

// Over the period up to a time, since the record before.
struct ShareRecord {
  double unix_s = 0;
  bool is_known = false;  // the record has the GPU's processes, if any
  std::vector<ProcessUse> uses = {};
};

// "--gpus 0,2" for devices that are called so, as a shell takes it. Only "--gpus" if there are too
// many to show, or one of the names cannot be given: with a comma in it, or as "0-3".
std::string gpus_option(std::span<const std::string> devices);

}  // namespace aggregate_power
