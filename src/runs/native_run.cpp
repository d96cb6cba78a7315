// Prepares the run of a native package from its request, and delivers its result.
#include "runs/native_run.h"

#include <exception>
#include <utility>

#include "results/record.h"
#include "runs/evaluate.h"
#include "runs/extras.h"
#include "runs/native.h"
#include "runs/option_codec.h"

namespace aggregate_power {
namespace {

Result checked_native(const NativeQuestion& question) {
  try {
    return check_native(question);
  } catch (const std::exception& error) {  // out of memory: an old claim must not stay
    Result result;
    result.way = Way::native;
    result.native.emplace();
    result.telemetry_source = question.place.power_dir;
    result.benchmark_result = question.result_name;
    result.reasons.add(Reason::native_node_invalid, error.what());
    refuse_extras(question.run, result);
    return result;
  }
}

WritePlan target_of_native(const RunSpec& request, const NativePlace& place) {
  WritePlan target;
  target.aggregate_path = request.agg_result;
  target.make_record_folder = !request.validation_result.empty();
  target.record_path = request.validation_result.empty() ? record_beside(request.bench_result)
                                                         : request.validation_result;
  target.record_advice = kOtherValidationResult;
  target.inputs = native_files(place);
  target.inputs.push_back(request.bench_result);
  target.inputs.push_back(request.agg_result);
  target.input_folders = {place.power_dir};
  return target;
}

}  // namespace

CommandOutput multinode_native(const RunSpec& request) {
  NativeQuestion question;
  question.place = {disk_tree(), request.power_dir};
  question.result_name = request.bench_result;
  question.gpus = request.role_gpus;
  question.run = request;
  if (request.uncertainty.is_wanted) question.hardware = hardware_in(request.agg_result);
  try {
    question.result = question.place.tree->open(question.result_name);
  } catch (const FileError& error) {
    question.result_fault = error.what();
  }
  Result result = checked_native(question);
  result.sources.options = options_for_record(request, RunKind::package);
  return deliver(std::move(result), target_of_native(request, question.place), request.delivery());
}

}  // namespace aggregate_power
