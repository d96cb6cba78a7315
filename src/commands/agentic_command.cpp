// aggregate-power agentic: one run of agents, as AIPerf profiled it.
#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/text/python_number.h"
#include "commands/command.h"
#include "commands/output.h"
#include "commands/package_options.h"
#include "commands/shared_options.h"
#include "runs/agentic.h"
#include "runs/agentic_package.h"

namespace aggregate_power {
namespace {

struct Texts {
  std::string result_dir;
  std::string expected_num_gpus;
  std::string power_dir;  // empty: the run is on one node
  PackageOptionTexts package;
  RunOptionTexts run;
  TelemetryOptionTexts telemetry;
};

AgenticNodesRequest nodes_request_of(const Texts& texts) {
  AgenticNodesRequest request;
  request.result_dir = normal_path(texts.result_dir);
  request.power_dir = normal_path(texts.power_dir);
  set_package_options(request, texts.package);
  set_run_options(request, texts.run);
  return request;
}

AgenticRequest request_of(const Texts& texts) {
  AgenticRequest request;
  request.result_dir = normal_path(texts.result_dir);
  request.expected_num_gpus = python_int(texts.expected_num_gpus);
  request.max_sample_gap_s = *python_float(texts.run.max_sample_gap);
  set_run_options(request, texts.run);
  request.columns = columns_of(texts.telemetry);
  request.zone = zone_of(texts.telemetry.timezone);
  return request;
}

int run(const Texts& texts) {
  if (texts.run.agg_result == "-") throw Error("--agg-result: expected a file");
  if (!texts.power_dir.empty()) {
    const AgenticNodesRequest request = nodes_request_of(texts);
    return report(request.require_power, [&] { return aggregate_agentic_nodes(request); });
  }
  const AgenticRequest request = request_of(texts);
  return report(request.require_power, [&] { return aggregate_agentic(request); });
}

void add_power_dir(Options& options, std::string& path) {
  options
      .value("--power-dir", "FOLDER", into(path),
             "Folder of a dcgm-power package: the run is of several nodes, and the result folder "
             "that of one load, with its agentic_power_concurrency_N.json")
      .check(not_empty());
}

// Each option that one of the two ways alone takes goes with it, and not with the other.
void tell_ways_apart(Options& options) {
  options.at("--power-dir").in_group("On several nodes");
  for (const char* const of_package :
       {"--logs-root", "--expected-producer-sha", "--expected-cpu-source", "--salvage"}) {
    options.at(of_package).needs("--power-dir").in_group("On several nodes");
  }
  for (const char* const of_node :
       {"--expected-num-gpus", "--max-sample-gap", "--timestamp-column", "--power-column",
        "--device-column", "--power-unit", "--timezone"}) {
    options.at(of_node).excludes("--power-dir").in_group("On one node");
  }
}

}  // namespace

Command agentic_command() {
  auto texts = std::make_shared<Texts>();
  Command command;
  command.forms = {"--result-dir FOLDER --agg-result FILE [OPTIONS]",
                   "--result-dir FOLDER --agg-result FILE --power-dir FOLDER [OPTIONS]"};
  command.first_choice = {"--result-dir", "--agg-result", "--expected-num-gpus", "--require-power"};
  Options& options = command.options;
  options
      .value("--result-dir", "FOLDER", into(texts->result_dir),
             "Folder of aiperf_artifacts and gpu_metrics.csv (on one node) or of "
             "agentic_power_concurrency_N.json (on several); agentic_power_window.json (on one) "
             "and power_validation.json are written there")
      .required()
      .check(not_empty());
  add_agg_result(options, texts->run);
  options
      .value("--expected-num-gpus", "N", into(texts->expected_num_gpus),
             "GPUs that the run used (default: their number is not checked)")
      .check(whole_number());
  add_max_sample_gap(options, texts->run);
  add_power_dir(options, texts->power_dir);
  add_package_options(options, texts->package,
                      "Folder in or below which the result folder lies, and the package's windows "
                      "name their results");
  add_outcome_options(options, texts->run,
                      "Also the percentiles of power, the GPUs' states and the audit summary that "
                      "today's dashboard takes");
  add_telemetry_options(options, texts->telemetry);
  options.at("--timezone").help =
      "What times without an offset mean, the profile's too: local, UTC, +HH:MM, -HH:MM or "
      "Area/City (default: agentic_power_timezone_offset.txt in the folder; of the telemetry "
      "before that gpu_metrics_context.json, and at last local)";
  tell_ways_apart(options);
  command.examples =
      "aggregate-power agentic --result-dir results --agg-result run.json --expected-num-gpus 8\n"
      "aggregate-power agentic --result-dir results --agg-result run.json --dry-run\n"
      "aggregate-power agentic --result-dir LOGS/agentic/conc_16 --agg-result run_conc16.json "
      "--power-dir LOGS/power --logs-root LOGS --expected-producer-sha SHA";
  command.exit_statuses =
      "0 done, also when power is not valid (the reason is recorded); 1 when power is required and "
      "not valid; 2 for wrong options";
  command.run = [texts](const Options&) { return run(*texts); };
  return command;
}

}  // namespace aggregate_power
