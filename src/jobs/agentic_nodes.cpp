// One load of agents on several nodes, end to end.
#include "aggregate_power/jobs/agentic_nodes.h"

#include <exception>

#include <fmt/format.h>

#include "aggregate_power/base/file.h"
#include "aggregate_power/base/tree.h"
#include "aggregate_power/jobs/agentic_gates.h"
#include "aggregate_power/jobs/failed_requests.h"
#include "aggregate_power/jobs/multinode.h"
#include "aggregate_power/jobs/sidecar.h"

namespace aggregate_power {

Delivered aggregate_agentic_nodes(const AgenticNodesRequest& request) {
  AgenticLoad load{disk_tree(), request.result_dir,           request.logs_root, std::nullopt,
                   {},          request.expected_producer_sha};
  try {
    load.aggregate = read_file(request.agg_result);
  } catch (const FileError& error) {
    load.aggregate_fault = error.what();
  }
  const AgenticGates gates = try_gates(load);

  MultinodeRequest package;
  package.power_dir = request.power_dir;
  package.logs_root = request.logs_root;
  package.bench_result = gates.formal_result.empty() ? request.result_dir : gates.formal_result;
  package.agg_result = request.agg_result;
  package.validation_result = path_below(request.result_dir, "power_validation.json");
  package.make_validation_folder = false;
  package.gpus = gates.gpus;
  package.expected_producer_sha = request.expected_producer_sha;
  package.expected_cpu_source = request.expected_cpu_source;
  package.refusal = gates.reasons;
  std::string doubt;
  try {
    package.failed_requests = failed_requests_in(disk_tree(), request.result_dir);
  } catch (const std::exception& error) {
    doubt = fmt::format("failed requests are not known: {}", error.what());
  }
  package.window_source = kFormalWindowSource;
  package.salvage = request.salvage;
  package.extended = request.extended;
  package.require_power = request.require_power;
  package.dry_run = request.dry_run;
  Delivered delivered = multinode(package);
  if (!doubt.empty()) delivered.err.insert(delivered.err.begin(), doubt);
  return delivered;
}

}  // namespace aggregate_power
