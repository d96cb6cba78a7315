// Which power limit a run had.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/telemetry/telemetry.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {

struct SweptLimit {
  std::optional<double> asked_w = {};     // by a member of the aggregate
  std::optional<double> in_force_w = {};  // as the GPUs reported it
  std::string why_not_in_force = {};      // what else speaks against it
  // The same of graphics clocks (nvidia-smi -lgc). The one in force is the median in the window.
  std::optional<double> asked_mhz = {};
  std::optional<double> clock_mhz = {};
  bool is_clock_steady = false;             // in 90 % of the samples of each GPU within 1.5 %
  std::string why_clock_not_held = {};      // the power limit held it back
  std::vector<std::string> gpu_uuids = {};  // as PublishedRun has them, by the recording
};

// Whether a member is known to mean a power limit, or a graphics clock, that was asked for.
bool is_limit_key(std::string_view key);
bool is_clock_key(std::string_view key);

// The limit that a member of the aggregate names. `key`: that member; empty: those that are known
// to mean it.
std::optional<double> asked_limit_w(const PublishedRun& run, const std::string& key);

// The same of a graphics clock, in MHz.
std::optional<double> asked_clock_mhz(const PublishedRun& run, const std::string& key);

// The limit in force that a member of the aggregate states, else the one that was asked for.
std::optional<double> stated_limit_w(const PublishedRun& run);

// The UUIDs of the run's GPUs, sorted, as its recording names them, which was read to its end;
// empty if it does not name all.
std::vector<std::string> recorded_boards(const PublishedRun& run, const Telemetry& telemetry);

// The limit that `key`, or a member that is known to mean it, names, and what the run's recording
// says: reads it.
SweptLimit limit_of_run(const PublishedRun& run, const std::string& key);

}  // namespace aggregate_power
