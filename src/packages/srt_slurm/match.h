// Finds the window of a package that a processed benchmark result belongs to. Contract.md C.6.
#pragma once

#include <optional>
#include <string>

#include "aggregate_power/load.h"
#include "base/files/file.h"
#include "base/text/json_value.h"
#include "core/load/load_files.h"
#include "packages/srt_slurm/check.h"
#include "packages/srt_slurm/windows.h"

namespace aggregate_power {

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
