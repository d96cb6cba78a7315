// Prepares the run of a package from its request.
#include "runs/package.h"

#include <utility>

#include "results/record.h"
#include "runs/evaluate.h"
#include "runs/option_codec.h"
#include "runs/package_run.h"

namespace aggregate_power {

CommandOutput multinode(const RunSpec& request) {
  RunSpec spec = request;
  if (request.finds_gpus) {
    spec.role_gpus.aggregate = gpus_in_aggregate(request.agg_result).value_or(0);
  }
  PackageRun run;
  run.question = package_question(spec);
  run.question.result_name = request.bench_result;
  run.options = options_for_record(spec, RunKind::package);
  WritePlan& target = run.target;
  target.aggregate_path = request.agg_result;
  target.make_record_folder = !request.validation_result.empty();
  target.record_path = request.validation_result.empty() ? record_beside(request.bench_result)
                                                         : request.validation_result;
  target.record_advice = kOtherValidationResult;
  run.asked = request;
  return deliver_package(std::move(run));
}

}  // namespace aggregate_power
