// Chooses by the files that a run has.
#include "runs/deployment/run_kinds.h"

#include <sys/stat.h>

#include <cstdlib>

#include "base/files/path.h"
#include "core/record/record_write.h"
#include "packages/native/node.h"

namespace aggregate_power {

CommandOutput deliver_run(const RunSpec& run) {
  if (!run.hosts.empty() || !run.no_hosts.empty()) return aggregate_hosts(run);
  const bool has_package = !run.power_dir.empty();
  if (!run.result_dir.empty()) {
    return has_package || run.lacks_contract ? aggregate_agentic_nodes(run)
                                             : aggregate_agentic(run);
  }
  if (!has_package) return aggregate(run);
  return is_native_package({run.tree, run.power_dir}) ? multinode_native(run) : multinode(run);
}

std::string find_telemetry() {
  const char* const named = std::getenv("GPU_METRICS_CSV");
  if (named != nullptr && *named != '\0') return normal_path(named);
  struct stat status {};
  for (const char* path : {"gpu_metrics.csv", "/workspace/gpu_metrics.csv"}) {
    if (::stat(path, &status) == 0) return path;
  }
  return "gpu_metrics.csv";
}

std::vector<std::string> recordings_of(const RunSpec& run) {
  return run.telemetry.empty() ? std::vector{find_telemetry()} : run.telemetry;
}

WritePlan target_of(const RunSpec& run) {
  WritePlan target;
  target.aggregate_path = run.agg_result;
  if (!run.result_dir.empty()) {
    const bool is_named = !run.validation_result.empty() && !run.lacks_contract;
    target.record_path =
        is_named ? run.validation_result : path_below(run.result_dir, "power_validation.json");
    target.make_record_folder = is_named;
    target.record_advice = is_named ? kOtherValidationResult : kNameIsTaken;
    return target;
  }
  target.make_record_folder = !run.validation_result.empty();
  target.record_path = run.validation_result;
  target.record_advice = kOtherValidationResult;
  if (run.validation_result.empty() && run.schema_version == 2) {
    target.record_path = record_beside(run.bench_result);
  }
  return target;
}

}  // namespace aggregate_power
