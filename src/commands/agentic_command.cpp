// aggregate-power agentic: one run of agents, as AIPerf profiled it.
#include <cstdint>
#include <memory>
#include <string>

#include "aggregate_power/error.h"
#include "base/text/decimal.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "runs/deployment/run_kinds.h"

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

// What the shell of a load calls before it and after it.
struct WindowToWrite {
  std::string state;  // empty: none is written
  std::int64_t concurrency = 0;
};

void add_window_to_write(Options& options, WindowToWrite& window) {
  options
      .value(
          "--write-multinode-window", "running|completed", into(window.state),
          "Write the measurement window of a load in $SRT_MEASUREMENT_WINDOW_DIR, before the load or after it, instead of measuring")
      .one_of({"running", "completed"})
      .needs("--concurrency")
      .in_group("On several nodes");
  const auto take = [&window](const std::string& text) {
    window.concurrency = *python_int(text);
    return true;
  };
  options.value("--concurrency", "N", take, "The load's, for its window's name")
      .check(whole_number())
      .needs("--write-multinode-window")
      .in_group("On several nodes");
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
       {"--artifact-dir", "--gpus", "--max-sample-gap", "--clock-offset", "--columns",
        "--timestamp-column", "--power-column", "--device-column", "--power-unit", "--timezone",
        "--profile-timezone", "--idle", "--requests", "--per-request", "--share", "--phases"}) {
    options.at(of_node).excludes("--power-dir").in_group("On one node");
  }
}

}  // namespace

Command agentic_command() {
  const auto request = std::make_shared<RunSpec>();
  Command command;
  const auto window = std::make_shared<WindowToWrite>();
  command.forms = {
      "--result-dir FOLDER --agg-result FILE [OPTIONS]",
      "--result-dir FOLDER --agg-result FILE --power-dir FOLDER [OPTIONS]",
      "--result-dir FOLDER --write-multinode-window running|completed --concurrency N [OPTIONS]"};
  command.first_choice = {"--result-dir", "--agg-result", "--expected-num-gpus", "--require-power"};
  Options& options = command.options;
  options
      .value(
          "--result-dir", "FOLDER", into_path(request->result_dir),
          "Folder with AIPerf's exports and gpu_metrics.csv (one node) or with agentic_power_concurrency_N.json (several nodes); agentic_power_window.json (one node) and power_validation.json are written there")
      .required()
      .check(not_empty());
  add_agg_result(options, request->agg_result).is_required = false;  // a window has none
  add_validation_result(options, *request, "power_validation.json in the result folder");
  options
      .value(
          "--audit-source", "TEXT", into(request->audit_source),
          "Also set power_invalid_reasons and power_audit, with this text as power_audit.source; with --keys row or all it replaces the record's name")
      .check(not_empty());
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
  add_clock_offset(options, *request);
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
  add_window_to_write(options, *window);
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
  add_calibration(options, *request);
  add_request_options(options, *request, "profile_export.jsonl");
  group_by_way(options);
  command.examples =
      "aggregate-power agentic --result-dir results --agg-result run.json --expected-num-gpus 8\n"
      "aggregate-power agentic --result-dir results --agg-result run.json --dry-run\n"
      "aggregate-power agentic --result-dir LOGS/agentic/conc_16 --agg-result run_conc16.json --power-dir LOGS/power --logs-root LOGS --expected-producer-sha SHA";
  command.exit_statuses =
      "0 done, also when power is not valid (the reason is recorded); 1 when power is required and not valid; 2 for wrong options";
  command.settle = [request, window](const Options& parsed) {
    if (!rules_of(request->contract).finds_gpus_of_node && parsed.is_given("--power-dir") &&
        parsed.is_given("--expected-num-gpus")) {
      throw Error("--expected-num-gpus excludes --power-dir under --compat august");
    }
    settle_request_options(parsed, *request);
    if (!parsed.is_given("--agg-result") && (window->state.empty() || request->lacks_contract)) {
      throw Error("--agg-result is required");
    }
    if (request->keys == RowKeys::agentx_row && request->audit_source) {
      throw Error("--audit-source excludes --keys agentx-row: such a row has no audit");
    }
    if (parsed.text("--agg-result") == "-") throw Error("--agg-result: expected a file");
  };
  command.run = [request, window] {
    return report(request->require_power, [&] {
      if (window->state.empty() || request->lacks_contract) return deliver_run(*request);
      const bool is_running = window->state == "running";
      return runs::write_agentic_window(
          *request, is_running ? runs::LoadState::running : runs::LoadState::completed,
          window->concurrency);
    });
  };
  return command;
}

}  // namespace aggregate_power
