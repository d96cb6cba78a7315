// One run in an artifact store, as a walk finds it.
#pragma once

#include <cstdint>
#include <string>

#include "store/catalogue/store_path.h"

namespace aggregate_power {

// The layout of a run in its store; layouts.h says what each of these means.
enum class Layout { power_audit, bmk, folder, multinode, agentic };

// One aggregate, or a folder that should have one.
struct StoredRun {
  std::string name;  // the part after "agg_"; for an agentic run the whole name
  // The part after "bmk_" or "power_audit_" in the name of the artifact around it, preferably of an
  // archive rather than a folder; else the name. The same for everything in one artifact.
  std::string artifact;
  Layout layout = Layout::folder;
  StorePath folder;     // contains the aggregate, or should
  StorePath aggregate;  // possibly empty
};

// The kinds of pieces of a run: its telemetry, its benchmark result.
enum class PieceKind : std::uint8_t { telemetry, benchmark_result };

}  // namespace aggregate_power
