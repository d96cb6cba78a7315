// Finds, checks and measures one run on one node.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/files/file.h"
#include "generators/generator_table.h"
#include "generators/request_file.h"
#include "recorders/recorder_context.h"
#include "recorders/recording.h"
#include "runs/deployment/run_kinds.h"
#include "runs/evaluate/option_codec.h"
#include "runs/measure/evaluate.h"
#include "runs/measure/requests.h"
#include "runs/measure/uncertainty.h"
#include "runs/measure/witnesses.h"
#include "runs/window/window.h"

namespace aggregate_power {
namespace {

// The load of the run, with its window as far as it can be found.
PlacedLoad load_of_node(const RunSpec& request, const Recording& recording) {
  const LoadRules rules = request.schema_version == 2 ? LoadRules::schema_2 : LoadRules::schema_1;
  LoadReading reading;
  try {
    reading = read_selected_load(load_file(request.bench_result, rules), request.select);
  } catch (const FileError& error) {
    reading.reasons.add(Reason::invalid_benchmark_result, error.what());
  }
  return placed_load(std::move(reading), recording, window_options(request, request.bench_result));
}

WritePlan target_of_node(const RunSpec& request, const std::string& telemetry) {
  WritePlan target = target_of(request);
  target.inputs = with_side_files(telemetry);
  target.inputs.insert(target.inputs.end(), {request.bench_result, request.agg_result});
  append(target.inputs, request.witnesses);
  if (!request.calibration.empty()) target.inputs.push_back(request.calibration);
  if (request.uncertainty.is_wanted || request.requests.is_asked()) {
    append(target.inputs, model_files_beside(telemetry));
  }
  if (!request.requests.file.empty()) target.inputs.push_back(requests_path(request.requests.file));
  return target;
}

RequestRun requests_of_node(const RunSpec& request, const std::string& telemetry) {
  const WritePlan target = target_of_node(request, telemetry);
  return requests_of(request, request.bench_result, target.inputs, {target.record_path});
}

// What is wrong with the list of requests is no fault of the telemetry.
void add_optional_requests(const RequestRun& run, const Recording& recording,
                           const SeenPower& power, Result& result) {
  try {
    add_request_energy(run, recording, power, result);
  } catch (const FileError& error) {
    result.warnings.push_back(fmt::format("requests: {}", error.what()));
    refuse_request_energy(run.options, result, "requests_unreadable");
  }
}

Result measured_node(const RunSpec& request, const std::string& telemetry) {
  MeasurementRequest wanted{request};
  wanted.with_snapshots = !target_of(request).record_path.empty();
  wanted.may_use_threads = true;
  LoadReading reading;
  try {
    RunRecordings recordings({telemetry}, request);
    Recording& recording = recordings.open.front();
    if (wanted.with_snapshots) recording.hash_while_read();
    show_interval_if_small(recordings.open, wanted);
    const PlacedLoad placed = load_of_node(request, recording);
    reading = placed.reading;
    SeenPower power;
    if (request.requests.is_asked() && reading.load) power.watch(wanted, reading.load->window);
    Result result =
        evaluate(wanted, recordings, placed, {request.bench_result, request.agg_result}).result;
    if (wanted.shows_interval != request.shows_interval) refuse_interval(result);
    add_window_facts(placed, reading, result);
    result.benchmark_result = request.bench_result;
    add_optional_requests(requests_of_node(request, telemetry), recording, power, result);
    if (auto input = recording.hashed_input()) result.sources.inputs.push_back(std::move(*input));
    return result;
  } catch (const FileError& error) {
    Reasons reasons = reading.reasons;
    reasons.add(Reason::telemetry_file_unreadable, error.what());
    wanted.expected_num_gpus.reset();
    return unmeasured(wanted, reading.load, reasons);
  }
}

}  // namespace

CommandOutput aggregate(const RunSpec& request) {
  const std::string telemetry = recordings_of(request).front();
  check_request_files(requests_of_node(request, telemetry));
  Result result = measured_node(request, telemetry);
  result.telemetry_source = telemetry;
  result.benchmark_result = request.bench_result;
  result.sources.options = options_for_record(request, RunKind::recording);
  add_witnesses(request, result);
  return deliver(std::move(result), target_of_node(request, telemetry), request.delivery());
}

}  // namespace aggregate_power
