// Prepares the run of a package from its request.
#include "runs/package.h"

#include <utility>

#include "results/record.h"
#include "runs/assess_alone.h"
#include "runs/package_run.h"

namespace aggregate_power {

CommandOutput multinode(const MultinodeRequest& request) {
  PackageRun run;
  PackageQuestion& question = run.question;
  question.place = {disk_tree(), request.power_dir, request.logs_root};
  question.result_name = request.bench_result;
  question.gpus = request.gpus;
  if (request.finds_gpus) {
    question.gpus.aggregate = gpus_in_aggregate(request.agg_result).value_or(0);
  }
  question.expected_producer_sha = request.expected_producer_sha;
  question.expected_cpu_source = request.expected_cpu_source;
  question.salvage = request.salvage;
  question.consumer_gaps = request.consumer_gaps;
  question.contract = request.contract;
  question.extended = request.extended;
  run.options = unrecorded_options(request, request, question.gpus);
  WritePlan& target = run.target;
  target.aggregate_path = request.agg_result;
  target.make_record_folder = !request.validation_result.empty();
  target.record_path = request.validation_result.empty() ? record_beside(request.bench_result)
                                                         : request.validation_result;
  target.record_advice = kOtherValidationResult;
  run.uncertainty = request.uncertainty;
  run.delivery = request.delivery();
  return deliver_package(std::move(run));
}

}  // namespace aggregate_power
