// aggregate-power patch: one run, from start to end. Its name may be left out.
#include <memory>
#include <string>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "runs/deployment/run_kinds.h"
#include "runs/measure/named_files.h"

namespace aggregate_power {
namespace {

constexpr const char* kOfInterval[] = {"--sensor-accuracy", "--clock-uncertainty"};

// Empty: there is none, or it is not asked for.
std::string handed_package(const RunSpec& request, const Options& options) {
  const bool is_of_recording = options.is_given("--csv") || options.text("--schema-version") == "1";
  if (is_of_recording || !rules_of(request.contract).reads_environment) return {};
  const std::string folder = from_environment("POWER_ARTIFACT_DIR", "");
  return folder.empty() ? std::string() : normal_path(folder);
}

// Without a number, the aggregate says how many GPUs there were.
void expect_gpus(RunSpec& package) {
  const std::string count = from_environment("GPU_COUNT", "");
  if (!package.expected_num_gpus && !package.finds_gpus && !count.empty()) {
    package.expected_num_gpus = python_int(count);
    if (!package.expected_num_gpus) {
      throw Error(fmt::format("$GPU_COUNT: expected a whole number, got '{}'", printable(count)));
    }
  }
  package.finds_gpus = !package.expected_num_gpus;
  package.role_gpus.aggregate = package.expected_num_gpus.value_or(0);
}

void settle_handed_package(RunSpec& package, const Options& options) {
  refuse_options(
      options, options_of_recordings(),
      "is for a recording, and $POWER_ARTIFACT_DIR names a package: give --csv, or unset the variable");
  if (!package.uncertainty.is_wanted) {
    refuse_options(options, kOfInterval, "needs --uncertainty for a package");
  }
  read_package_environment(package);
  package.expected_cpu_source = expected_cpu_source_in_environment(package.contract);
  expect_gpus(package);
}

void settle_recording(RunSpec& request, const Options& options) {
  const bool expects_gpus = request.expected_num_gpus || request.finds_gpus;
  if (!options.is_given("--schema-version") && !expects_gpus) {
    request.schema_version = 1;
  }
  request.shows_interval = request.shows_interval && request.schema_version == 2;
  if (has_percentiles(request.keys) && request.schema_version != 2) {
    throw Error(fmt::format("{}: expected schema 2; give --expected-num-gpus or --schema-version 2",
                            options.is_given("--extended") ? "--extended" : "--keys"));
  }
  if (request.uncertainty.is_wanted && request.schema_version != 2) {
    throw Error("--uncertainty: expected schema 2; give --expected-num-gpus or --schema-version 2");
  }
  if (request.schema_version != 2) {
    refuse_options(options, kOfInterval,
                   "expected schema 2; give --expected-num-gpus or --schema-version 2");
  }
  if (request.salvage && request.schema_version != 2) {
    throw Error("--salvage: expected schema 2; give --expected-num-gpus or --schema-version 2");
  }
  if (!request.idle.empty() && request.schema_version != 2) {
    throw Error("--idle: expected schema 2; give --expected-num-gpus or --schema-version 2");
  }
  settle_request_options(options, request);
  if (request.requests.is_asked() && request.schema_version != 2) {
    throw Error(fmt::format("{}: expected schema 2; give --expected-num-gpus or --schema-version 2",
                            request.requests.phases         ? "--phases"
                            : request.requests.file.empty() ? "--per-request"
                                                            : "--requests"));
  }
  settle_given_load(options, request.given);
}

void settle_aggregate(RunSpec& request, const Options& options) {
  if (options.text("--bench-result") == "-" || options.text("--agg-result") == "-") {
    throw Error(
        "--bench-result and --agg-result: expected a file; only --csv reads standard input");
  }
  request.power_dir = handed_package(request, options);
  if (request.power_dir.empty()) {
    settle_recording(request, options);
  } else {
    settle_handed_package(request, options);
  }
}

}  // namespace

Command patch_command() {
  const auto request = std::make_shared<RunSpec>();
  Command command;
  command.called_here = {{"--telemetry", "'aggregate-power measure --telemetry', or --csv"}};
  command.first_choice = {"--csv",           "--bench-result",
                          "--agg-result",    "--expected-num-gpus",
                          "--require-power", "--validation-result"};
  Options& options = command.options;
  const auto take_csv = [request = request.get()](const std::string& text) {
    request->telemetry.clear();
    if (!text.empty()) request->telemetry.push_back(normal_path(text));
    return true;
  };
  options.value(
      "--csv", "FILE", take_csv,
      "Telemetry CSV; - is standard input (default: the package in $POWER_ARTIFACT_DIR if that is set, else $GPU_METRICS_CSV, else the first of gpu_metrics.csv and /workspace/gpu_metrics.csv that exists)");
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
  add_witness(options, *request);
  add_calibration(options, *request);
  add_max_sample_gap(options, *request);
  add_clock_offset(options, *request);
  add_salvage(options, *request).help = kSalvageOfRecordings;
  add_outcome_options(
      options, *request,
      "Also set the percentiles of the power of all GPUs together, their mean temperature, utilization and memory, power_audit and power_invalid_reasons; needs schema 2");
  add_recording_options(options, *request);
  add_given_load(options, request->given);
  add_idle_option(options, *request);
  add_uncertainty_options(options, *request);
  show_interval(options, *request);
  add_request_options(options, *request, "the benchmark result itself");
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
  command.settle = [request](const Options& given) { settle_aggregate(*request, given); };
  command.run = [request] {
    return report(request->require_power, [&] {
      runs::refuse_swapped(*request);
      return deliver_run(*request);
    });
  };
  return command;
}

}  // namespace aggregate_power
