// aggregate-power without a command's name: one run, end to end.
#include <optional>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/text/python_number.h"
#include "commands/command.h"
#include "commands/output.h"
#include "commands/shared_options.h"
#include "runs/one_node.h"

namespace aggregate_power {
namespace {

struct Texts {
  std::optional<std::string> csv;
  std::string bench_result;
  std::string expected_num_gpus;
  std::string validation_result;
  int schema_version = 0;
  RunOptionTexts run;
  TelemetryOptionTexts telemetry;
};

AggregateRequest request_of(const Texts& texts) {
  AggregateRequest request;
  if (texts.bench_result == "-" || texts.run.agg_result == "-") {
    throw Error(
        "--bench-result and --agg-result: expected a file; only --csv reads standard input");
  }
  if (texts.csv) request.csv = normal_path(*texts.csv);
  request.bench_result = normal_path(texts.bench_result);
  request.validation_result = path_of(texts.validation_result);
  request.expected_num_gpus = python_int(texts.expected_num_gpus);
  request.schema_version = texts.schema_version != 0               ? texts.schema_version
                           : request.expected_num_gpus.has_value() ? 2
                                                                   : 1;
  request.max_sample_gap_s = *python_float(texts.run.max_sample_gap);
  set_run_options(request, texts.run);
  if (request.extended && request.schema_version != 2) {
    throw Error("--extended: expected schema 2; give --expected-num-gpus or --schema-version 2");
  }
  request.columns = columns_of(texts.telemetry);
  request.zone = zone_of(texts.telemetry.timezone);
  return request;
}

int run(const Texts& texts) {
  const AggregateRequest request = request_of(texts);
  return report(request.require_power, [&] { return aggregate(request); });
}

}  // namespace

Command aggregate_command() {
  auto texts = std::make_shared<Texts>();
  Command command;
  command.first_choice = {"--csv",           "--bench-result",
                          "--agg-result",    "--expected-num-gpus",
                          "--require-power", "--validation-result"};
  Options& options = command.options;
  options.version("--version", "Print the version and exit");
  options.value("--csv", "FILE", into(texts->csv),
                "Telemetry CSV; - is standard input (default: $GPU_METRICS_CSV, else the first of "
                "gpu_metrics.csv and /workspace/gpu_metrics.csv that exists)");
  add_bench_result(options, texts->bench_result);
  add_agg_result(options, texts->run);
  options
      .value("--expected-num-gpus", "N", into(texts->expected_num_gpus),
             "GPUs that the run used; asks for the checked, per-GPU integration (schema 2)")
      .check(whole_number());
  options
      .value("--schema-version", "1|2", into(texts->schema_version),
             "1: three best-effort keys; 2: seven checked ones and a verdict (default: 2 with "
             "--expected-num-gpus, else 1)")
      .one_of({"1", "2"});
  options.value(
      "--validation-result", "FILE", into(texts->validation_result),
      "Audit record (default: power_validation_STEM.json beside the benchmark result with "
      "schema 2, none with schema 1)");
  add_max_sample_gap(options, texts->run);
  add_outcome_options(
      options, texts->run,
      "Also set the percentiles of the power of all GPUs together, their mean temperature, "
      "utilization and memory, power_audit and power_invalid_reasons; wants schema 2");
  add_telemetry_options(options, texts->telemetry);
  command.examples =
      "aggregate-power --csv gpu_metrics.csv --bench-result run.json --agg-result agg_run.json\n"
      "aggregate-power --csv gpu_metrics.csv --bench-result run.json --agg-result agg_run.json "
      "--expected-num-gpus 8 --require-power\n"
      "aggregate-power --bench-result run.json --agg-result agg_run.json --expected-num-gpus 8 "
      "--dry-run";
  command.exit_statuses =
      "0 done, also when the telemetry could not be used (the reason is recorded); 1 when power is "
      "required and not valid; 2 for wrong options";
  command.notes =
      "Reason codes, each with what to do: 'man aggregate-power', or README.md under Reason codes.";
  command.run = [texts](const Options&) { return run(*texts); };
  return command;
}

}  // namespace aggregate_power
