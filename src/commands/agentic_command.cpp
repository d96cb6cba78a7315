// aggregate-power agentic: one run of agents, as AIPerf profiled it.
#include <memory>
#include <string>

#include "aggregate_power/error.h"
#include "commands/command.h"
#include "commands/output.h"
#include "commands/shared_options.h"
#include "runs/run_kinds.h"

namespace aggregate_power {
namespace {

void add_profile_timezone(Options& options, RunSpec& request) {
  const auto take = [&request](const std::string& text) {
    request.profile_zone = text.empty() ? std::nullopt : std::optional(Zone::parse(text));
    return true;
  };
  options
      .value(
          "--profile-timezone", "ZONE", take,
          "Time zone of start_time and end_time in the profile where they have no offset: local, UTC, +HH:MM, -HH:MM or Area/City (default: as the times of its requests show, else agentic_power_timezone_offset.txt in the folder)")
      .offer({"local", "UTC"})
      .late();
}

// Lists each option that belongs to only one of the two ways under its heading, and makes it
// exclude the other way.
void group_by_way(Options& options) {
  options.at("--power-dir").in_group("On several nodes");
  for (const char* const of_package :
       {"--logs-root", "--expected-producer-sha", "--expected-cpu-source"}) {
    options.at(of_package).needs("--power-dir").in_group("On several nodes");
  }
  for (const char* const of_node :
       {"--artifact-dir", "--gpus", "--max-sample-gap", "--columns", "--timestamp-column",
        "--power-column", "--device-column", "--power-unit", "--timezone", "--profile-timezone",
        "--idle", "--requests", "--per-request", "--share", "--phases"}) {
    options.at(of_node).excludes("--power-dir").in_group("On one node");
  }
}

}  // namespace

Command agentic_command() {
  const auto request = std::make_shared<RunSpec>();
  Command command;
  command.forms = {"--result-dir FOLDER --agg-result FILE [OPTIONS]",
                   "--result-dir FOLDER --agg-result FILE --power-dir FOLDER [OPTIONS]"};
  command.first_choice = {"--result-dir", "--agg-result", "--expected-num-gpus", "--require-power"};
  Options& options = command.options;
  options
      .value(
          "--result-dir", "FOLDER", into_path(request->result_dir),
          "Folder with AIPerf's exports and gpu_metrics.csv (one node) or with agentic_power_concurrency_N.json (several nodes); agentic_power_window.json (one node) and power_validation.json are written there")
      .required()
      .check(not_empty());
  add_agg_result(options, request->agg_result);
  options
      .value(
          "--artifact-dir", "FOLDER", into_path(request->artifact_dir),
          "Folder of AIPerf's exports (default: in the result folder aiperf_artifacts, else the only one in artifacts, as AIPerf names it, or the result folder itself)")
      .check(not_empty());
  accept_auto_count(
      add_expected_num_gpus(
          options, *request,
          "GPUs that the run used; auto: as the aggregate says (default: their number is not checked; with --power-dir: as the aggregate of a run on several nodes says)"),
      *request);
  add_gpus(options, *request);
  add_max_sample_gap(options, *request);
  options
      .value(
          "--power-dir", "FOLDER", into_path(request->power_dir),
          "Folder of a dcgm-power package; the run is then one on several nodes, and the result folder is that of one load, with its agentic_power_concurrency_N.json")
      .check(not_empty());
  options
      .flag(
          "--multinode-contract-missing", request->lacks_contract,
          "There is no package, because the run's launcher offered no place for its windows: record that")
      .excludes("--power-dir")
      .in_group("On several nodes");
  add_package_options(
      options, *request,
      "Folder that is or contains the result folder; the package's windows name their results relative to it");
  add_outcome_options(
      options, *request,
      "Also set the percentiles of power, the GPUs' states and the audit summary that today's dashboard reads");
  add_recording_options(options, *request);
  accept_evidence(options.at("--timezone"), *request).help =
      "Time zone of the telemetry's timestamps without an offset: auto, evidence, local, UTC, +HH:MM, -HH:MM or Area/City; auto: the one in a zone file, else the one on which the load's edges and the file's time agree; evidence: one of these two is enough (default: gpu_metrics_context.json, else agentic_power_timezone_offset.txt in the folder, else local)";
  add_profile_timezone(options, *request);
  add_idle_option(options, *request).help =
      "Also state the energy above idle; idle power is read from a stretch of the recording, from a plateau beside the load (auto), or given for each GPU, as in 85 or 85+-3; see 'help uncertainty'";
  add_uncertainty_options(options, *request);
  add_request_options(options, *request, "profile_export.jsonl");
  group_by_way(options);
  command.examples =
      "aggregate-power agentic --result-dir results --agg-result run.json --expected-num-gpus 8\n"
      "aggregate-power agentic --result-dir results --agg-result run.json --dry-run\n"
      "aggregate-power agentic --result-dir LOGS/agentic/conc_16 --agg-result run_conc16.json --power-dir LOGS/power --logs-root LOGS --expected-producer-sha SHA";
  command.exit_statuses =
      "0 done, also when power is not valid (the reason is recorded); 1 when power is required and not valid; 2 for wrong options";
  command.settle = [request](const Options& parsed) {
    if (!rules_of(request->contract).finds_gpus_of_node && parsed.is_given("--power-dir") &&
        parsed.is_given("--expected-num-gpus")) {
      throw Error("--expected-num-gpus excludes --power-dir under --compat august");
    }
    settle_request_options(parsed, *request);
    if (parsed.text("--agg-result") == "-") throw Error("--agg-result: expected a file");
  };
  command.run = [request] {
    return report(request->require_power, [&] { return deliver_run(*request); });
  };
  return command;
}

}  // namespace aggregate_power
