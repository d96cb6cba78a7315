// aggregate-power without a command's name: one run, from start to end.
#include <memory>
#include <string>

#include "aggregate_power/error.h"
#include "commands/command.h"
#include "commands/given_load.h"
#include "commands/output.h"
#include "commands/shared_options.h"
#include "runs/one_node.h"

namespace aggregate_power {
namespace {

void settle_aggregate(AggregateRequest& request, const Options& options) {
  if (options.text("--bench-result") == "-" || options.text("--agg-result") == "-") {
    throw Error(
        "--bench-result and --agg-result: expected a file; only --csv reads standard input");
  }
  const bool expects_gpus = request.expected_num_gpus || request.finds_gpus;
  if (!options.is_given("--schema-version") && !expects_gpus) {
    request.schema_version = 1;
  }
  if (request.extended && request.schema_version != 2) {
    throw Error("--extended: expected schema 2; give --expected-num-gpus or --schema-version 2");
  }
  settle_given_load(options, request.given);
}

}  // namespace

Command aggregate_command() {
  const auto request = std::make_shared<AggregateRequest>();
  Command command;
  command.first_choice = {"--csv",           "--bench-result",
                          "--agg-result",    "--expected-num-gpus",
                          "--require-power", "--validation-result"};
  Options& options = command.options;
  options.value(
      "--csv", "FILE", into_path(request->csv),
      "Telemetry CSV; - is standard input (default: $GPU_METRICS_CSV, else the first of gpu_metrics.csv and /workspace/gpu_metrics.csv that exists)");
  add_bench_result(options, *request);
  add_load_choice(options, *request);
  add_agg_result(options, request->agg_result);
  accept_auto_count(
      add_expected_num_gpus(
          options, *request,
          "GPUs that the run used; auto: as the aggregate says, else the benchmark result; selects the checked integration of each GPU (schema 2)"),
      *request);
  add_gpus(options, *request);
  add_schema_version(options, *request, "2 with --expected-num-gpus, else 1");
  add_validation_result(
      options, *request,
      "power_validation_STEM.json beside the benchmark result with schema 2, none with schema 1");
  add_max_sample_gap(options, *request);
  add_outcome_options(
      options, *request,
      "Also set the percentiles of the power of all GPUs together, their mean temperature, utilization and memory, power_audit and power_invalid_reasons; needs schema 2");
  add_recording_options(options, *request);
  add_given_load(options, request->given);
  accept_evidence(options.at("--timezone"), *request).help =
      "Time zone of timestamps without an offset: auto, evidence, local, UTC, +HH:MM, -HH:MM or Area/City; auto: the one in a zone file beside the file, else the one on which the load's edges and the file's time agree; evidence: one of these two is enough (default: timestamp_timezone of STEM_context.json beside the file, else local)";
  command.examples =
      "aggregate-power --csv gpu_metrics.csv --bench-result run.json --agg-result agg_run.json\n"
      "aggregate-power --csv gpu_metrics.csv --bench-result run.json --agg-result agg_run.json --expected-num-gpus 8 --require-power\n"
      "aggregate-power --bench-result run.json --agg-result agg_run.json --expected-num-gpus 8 --dry-run";
  command.exit_statuses =
      "0 done, also when the telemetry could not be used (the reason is recorded); 1 when power is required and not valid; 2 for wrong options";
  command.notes =
      "Reason codes, each with what to do: 'man aggregate-power', or 'aggregate-power help reasons'.";
  command.settle = [request](const Options& parsed) { settle_aggregate(*request, parsed); };
  command.run = [request] {
    return report(request->require_power, [&] { return aggregate(*request); });
  };
  return command;
}

}  // namespace aggregate_power
