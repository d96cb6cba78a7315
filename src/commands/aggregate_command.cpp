// aggregate-power without a command's name: one run, end to end.
#include <optional>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/text/python_number.h"
#include "commands/command.h"
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
  return print(request.require_power, [&] { return aggregate(request); });
}

}  // namespace

Command aggregate_command() {
  auto texts = std::make_shared<Texts>();
  Command command;
  command.options = std::make_unique<CLI::App>(
      "Mean power and energy per token of a GPU benchmark run, from its power telemetry; patched "
      "into the run's aggregate JSON, with an audit record beside it.",
      "aggregate-power");
  command.usage =
      "--bench-result FILE --agg-result FILE [OPTIONS]\n"
      "       aggregate-power agentic --result-dir FOLDER --agg-result FILE [OPTIONS]\n"
      "       aggregate-power backfill STORE... [OPTIONS]\n"
      "       aggregate-power inspect FILE [OPTIONS]\n"
      "       aggregate-power multinode --nodes FOLDER --bench-result FILE --agg-result FILE "
      "[OPTIONS]\n"
      "       aggregate-power synthesize --phase SECONDS:WATTS --out FILE [OPTIONS]";
  command.first_choice = {"--csv",           "--bench-result",
                          "--agg-result",    "--expected-num-gpus",
                          "--require-power", "--validation-result"};
  CLI::App& app = *command.options;
  app.set_version_flag("--version", "aggregate-power " AGGREGATE_POWER_VERSION,
                       "Print the version and exit");
  add_option(app, "--csv", texts->csv,
             "Telemetry CSV; - is standard input (default: $GPU_METRICS_CSV, else the first of "
             "gpu_metrics.csv and /workspace/gpu_metrics.csv that exists)")
      ->type_name("FILE");
  add_bench_result(app, texts->bench_result);
  add_agg_result(app, texts->run);
  add_option(app, "--expected-num-gpus", texts->expected_num_gpus,
             "GPUs that the run used; asks for the checked, per-GPU integration (schema 2)")
      ->type_name("N")
      ->check(whole_number());
  CLI::Option* const schema_version =
      add_option(app, "--schema-version", texts->schema_version,
                 "1: three best-effort keys; 2: seven checked ones and a verdict (default: 2 with "
                 "--expected-num-gpus, else 1)")
          ->type_name("1|2");
  take_one_of(command, *schema_version, {"1", "2"});
  add_option(app, "--validation-result", texts->validation_result,
             "Audit record (default: power_validation_STEM.json beside the benchmark result with "
             "schema 2, none with schema 1)")
      ->type_name("FILE");
  add_max_sample_gap(app, texts->run);
  add_outcome_options(
      app, texts->run,
      "Also set the percentiles of the power of all GPUs together, their mean temperature, "
      "utilization and memory, power_audit and power_invalid_reasons; wants schema 2");
  add_telemetry_options(command, texts->telemetry);
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
  command.run = [texts] { return run(*texts); };
  return command;
}

}  // namespace aggregate_power
