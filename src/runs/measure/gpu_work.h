// Whether the GPUs that count took part in a run's load.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/reason.h"
#include "core/energy/stated_limits.h"
#include "core/telemetry/power_limits.h"
#include "core/telemetry/samples.h"
#include "energy/shares/idle.h"
#include "recorders/recording.h"

namespace aggregate_power::runs {

// What a recording shows of a GPU in a window and next to it.
struct GpuWork {
  std::string gpu;
  PowerNear power = {};
  std::size_t number = 0;  // of the device in its recording
  double limit_w = 0;      // that its rows state, or its board's; 0: unknown
  // Means in the window, and the highest utilization; nullopt: not read, or not stated.
  std::optional<double> utilization_pct = {};
  std::optional<double> most_utilization_pct = {};
  std::optional<double> memory_used_mb = {};
};

// Of the recordings of a run.
struct GpusAtWork {
  std::vector<GpuWork> counted = {};
  // Other GPUs of the recordings whose power rises and falls with the window, if none that counts
  // does.
  std::vector<GpuWork> others = {};
  // Of one node, whose GPUs --gpus chooses and are alike; else their roles may differ.
  bool are_of_one_node = true;
  // Some readings are more than any board draws: their mean says nothing of the load.
  bool have_odd_readings = false;
};

// The limit of the board that all rows name, or the highest one of several; nullopt: one of them is
// unknown, or what is measured is not a board.
std::optional<PowerLimit> board_limit(const SeriesFacts& facts);

// A recording that was read to its end.
struct ReadRecording {
  const Recording& recording;
  const Telemetry& telemetry;
  const Samples& samples;  // in time order
  const StatedLimits& limits;
};
// Adds the GPUs of a recording. It is read again for what its rows state of them if some draw as
// little as idle ones, and for GPUs that do not count if none of those that count shows the load.
void add_work(const ReadRecording& read, Window window, bool selects, GpusAtWork& all);

// idle_gpus_counted: the load was not on the GPUs that count, or some of them idled while others
// worked and nothing states a number.
struct WorkDoubts {
  Reasons reasons;
  std::vector<std::string> warnings;
};
WorkDoubts work_doubts(const GpusAtWork& gpus, bool is_count_stated);

}  // namespace aggregate_power::runs
