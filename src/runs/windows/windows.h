// The energy of each of a list of windows, GPU by GPU.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runs/windows/window_report.h"
#include "runs/evaluate/run_options.h"

namespace aggregate_power {

struct WindowsRequest : RunOptions {
  std::vector<std::string> telemetry;  // normal paths
  std::string windows;                 // a path, or "bench:" and that of a benchmark result
  WindowFormat format = WindowFormat::table;
  bool per_process = false;                 // divide the energy of each GPU among processes
  std::optional<double> idle_power_w = {};  // then: of each GPU; nullopt: the least it drew
};

struct WindowsOutcome {
  int exit_status = 0;  // 0: all were measured; 1: not all were
  std::vector<std::string> err;
};

// Gives the report to `print`, part by part. Throws FileError if a file cannot be opened, and Error
// for what cannot be used; then nothing was printed.
WindowsOutcome run_windows(const WindowsRequest& request,
                           const std::function<void(const std::string&)>& print);

}  // namespace aggregate_power
