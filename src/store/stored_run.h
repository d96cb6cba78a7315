// One run of an artifact store, as a walk finds it.
#pragma once

#include <cstdint>
#include <string>

#include "store/store_path.h"

namespace aggregate_power {

// How a run is laid out in its store; store/layouts.h says what each of these means.
enum class Layout { power_audit, bmk, folder, multinode, agentic };

// One aggregate, or what should have one.
struct StoredRun {
  std::string name;  // what follows "agg_"; of an agentic run the whole name
  // What follows "bmk_" or "power_audit_" in the name of the artifact around it, of an archive
  // rather than of a folder; else the name. The same for all that is in one artifact.
  std::string artifact;
  Layout layout = Layout::folder;
  StorePath folder;     // that holds the aggregate, or should
  StorePath aggregate;  // perhaps nothing
};

// What can be a piece of a run: its telemetry, its benchmark result.
enum class PieceKind : std::uint8_t { telemetry, benchmark_result };

}  // namespace aggregate_power
