// Names the reasons for missing pieces.
#include "store/missing_pieces.h"

#include <string>

#include <fmt/format.h>

#include "loads/aiperf_folder.h"
#include "store/pieces.h"

namespace aggregate_power {
namespace {

void add_missing(const StoredRun& run, Reason reason, const std::string& name, bool is_searched,
                 Reasons& missing) {
  missing.add(reason,
              fmt::format("no {} in {} or beside it{}", name, run.folder.display,
                          is_searched ? ", or by the run's name in the store"
                                      : "; the rest of the store was not searched"),
              is_searched ? Obstacle::none : Obstacle::not_searched);
}

void add_missing_result(const StoredRun& run, bool is_searched, Reasons& missing) {
  add_missing(run, Reason::benchmark_result_missing, run.name + ".json", is_searched, missing);
}

std::string why_no_profile(const StoredRun& run) {
  const auto results = agentic_results(run);
  return results ? fmt::format("no {} in {}", kProfileRecords, results->display)
                 : fmt::format("no agentic_{} in {} or beside it", run.name, run.folder.display);
}

std::string why_no_package(const StoredRun& run, const PackagePieces& pieces) {
  return pieces.logs.empty()
             ? fmt::format("no LOGS/power in {} or in power_audit_{} in it or beside it",
                           run.folder.display, run.artifact)
             : fmt::format("no power in {}", pieces.logs[0].logs.display);
}

std::string why_no_formal_result(const StoredRun& run, const PackagePieces& pieces) {
  const MultinodeLogs& logs = pieces.logs[0];
  return logs.agentic ? fmt::format("{} formal results of {} in {}", pieces.results.places.size(),
                                    run.name, logs.agentic->display)
                      : fmt::format("no agentic in {}", logs.logs.display);
}

}  // namespace

Reasons missing_pieces(const StoredRun& run, const OneNodePieces& pieces,
                       const RecomputeOptions& options) {
  const bool is_searched = options.is_searched;
  Reasons missing;
  if (pieces.telemetry.places.empty()) {
    add_missing(run, Reason::telemetry_file_missing, "gpu_metrics.csv", is_searched, missing);
  }
  if (!pieces.loads.places.empty()) return missing;
  if (pieces.of_agents) {
    missing.add(Reason::profile_artifacts_missing, why_no_profile(run));
  } else {
    add_missing_result(run, is_searched, missing);
  }
  return missing;
}

Reasons missing_pieces(const StoredRun& run, const PackagePieces& pieces,
                       const RecomputeOptions& options) {
  Reasons missing;
  if (pieces.package() == nullptr) {
    missing.add(Reason::power_artifacts_missing, why_no_package(run, pieces));
  }
  const std::size_t results = pieces.results.places.size();
  if (pieces.of_agents && results != 1) {
    missing.add(Reason::formal_benchmark_result_missing, why_no_formal_result(run, pieces));
  } else if (!pieces.of_agents && results == 0) {
    add_missing_result(run, options.is_searched, missing);
  }
  return missing;
}

}  // namespace aggregate_power
