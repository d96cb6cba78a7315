// Finds, checks and measures one load of agents on several nodes.
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/files/whole_file.h"
#include "generators/aiperf_folder.h"
#include "packages/srt_slurm/agentic_checks.h"
#include "core/record/record_write.h"
#include "runs/deployment/failed_requests.h"
#include "runs/evaluate/option_codec.h"
#include "runs/deployment/package_run.h"
#include "runs/deployment/run_kinds.h"

namespace aggregate_power {
namespace {

AgenticChecks gates_of(const RunSpec& request) {
  if (request.lacks_contract) {
    AgenticChecks checks;
    checks.reasons.add(Reason::multinode_power_contract_missing);
    return checks;
  }
  AgenticLoad load{.tree = request.tree,
                   .result_dir = request.result_dir,
                   .logs_root = request.logs_root,
                   .aggregate = std::nullopt,
                   .aggregate_fault = {},
                   .expected_producer_sha = request.expected_producer_sha,
                   .expected_num_gpus = request.expected_num_gpus,
                   .finds_gpus_of_node = request.finds_gpus,
                   .aggregate_name = request.agg_result};
  try {
    load.aggregate = read_whole(load.tree->open(request.agg_result), kAggregateFile);
  } catch (const FileError& error) {
    load.aggregate_fault = error.what();
  }
  try {
    return check_agentic_load(load);
  } catch (const std::exception& error) {  // out of memory: an old claim must not stay
    AgenticChecks checks;
    checks.reasons.add(Reason::agentic_aggregate_invalid, error_text(error));
    return checks;
  }
}

// All files that are read in the result folder, whether usable or not.
std::vector<std::string> inputs_in(const Tree& tree, const std::string& result_dir) {
  std::vector<std::string> inputs;
  try {
    for (const std::string& name : formal_results(tree, result_dir)) {
      inputs.push_back(path_below(result_dir, name));
    }
  } catch (const FileError&) {  // cannot be listed
  }
  const std::string profile = path_below(result_dir, std::string(kProfileFolder));
  try {
    if (const auto records = find_records(tree, profile)) {
      inputs.push_back(path_below(profile, *records));
    }
  } catch (const FileError&) {
  }
  return inputs;
}

// The record as power_audit names it: below the folder that is called LOGS, wherever that is.
std::string audit_source(const RunSpec& request, const std::string& record) {
  const std::string folder = request.tree->resolved(request.result_dir);
  const std::string root = request.tree->resolved(request.logs_root);
  if (folder.empty() || root.empty() || !(folder + '/').starts_with(root + '/')) return {};
  return fmt::format("LOGS{}/{}", folder.substr(root.size()), last_name(record));
}

}  // namespace

CommandOutput aggregate_agentic_nodes(const RunSpec& request) {
  const AgenticChecks checks = gates_of(request);
  PackageRun run;
  PackageQuestion& question = run.question;
  question = package_question(request);
  question.result_name = checks.formal_result.empty() ? request.result_dir : checks.formal_result;
  question.role_gpus = checks.gpus;
  question.refusal = checks.reasons;
  question.window_file = checks.window_file;
  if (checks.reasons.empty()) {
    run.failed_requests = failed_requests_in(request.tree, request.result_dir, run.warnings);
    if (run.failed_requests) question.failure = run.failed_requests->failure;
  }
  run.window_source = kFormalWindowSource;
  run.options = options_for_record(request, RunKind::agents_package);
  run.target = target_of(request);
  run.target.inputs = inputs_in(*request.tree, request.result_dir);
  if (rules_of(request.contract).names_audit_by_logs) {
    run.audit_source = audit_source(request, run.target.record_path);
  }
  if (request.audit_source) run.audit_source = *request.audit_source;
  run.is_audit_requested = request.audit_source.has_value();
  run.asked = request;
  return deliver_package(std::move(run));
}

}  // namespace aggregate_power
