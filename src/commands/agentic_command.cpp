// aggregate-power agentic: one run of agents, as AIPerf profiled it.
#include <fmt/format.h>

#include "aggregate_power/base/error.h"
#include "aggregate_power/base/path.h"
#include "aggregate_power/base/python_number.h"
#include "aggregate_power/commands/command.h"
#include "aggregate_power/jobs/agentic.h"

namespace aggregate_power {
namespace {

struct Texts {
  std::string result_dir;
  std::string expected_num_gpus;
  RunOptionTexts run;
  TelemetryOptionTexts telemetry;
};

int run(const Texts& texts) {
  if (texts.run.agg_result == "-") throw Error("--agg-result: expected a file");
  AgenticRequest request;
  request.result_dir = normal_path(texts.result_dir);
  request.expected_num_gpus = python_int(texts.expected_num_gpus);
  request.max_sample_gap_s = *python_float(texts.run.max_sample_gap);
  set_outcome(request, texts.run);
  request.columns = texts.telemetry.columns;
  request.zone = zone_of(texts.telemetry.timezone);
  return tell(request.require_power, [&] { return aggregate_agentic(request); });
}

}  // namespace

Command agentic_command() {
  auto texts = std::make_shared<Texts>();
  Command command;
  command.options = std::make_unique<CLI::App>(
      "Power and energy of a run of agents on one node: the window and the counts come from "
      "AIPerf's profile in its result folder.",
      "aggregate-power agentic");
  command.usage = "--result-dir FOLDER --agg-result FILE [OPTIONS]";
  command.first_choice = {"--result-dir", "--agg-result", "--expected-num-gpus", "--require-power"};
  CLI::App& app = *command.options;
  add_option(app, "--result-dir", texts->result_dir,
             "Folder of aiperf_artifacts and gpu_metrics.csv; agentic_power_window.json and "
             "power_validation.json are written there")
      ->type_name("FOLDER")
      ->required();
  add_agg_result(app, texts->run);
  add_option(app, "--expected-num-gpus", texts->expected_num_gpus,
             "GPUs that the run used (default: their number is not checked)")
      ->type_name("N")
      ->check(whole_number());
  add_max_sample_gap(app, texts->run);
  add_outcome_options(app, texts->run,
                      "Also the percentiles of power, the GPUs' states and the audit summary that "
                      "today's dashboard takes");
  add_telemetry_options(command, texts->telemetry);
  app.get_option("--timezone")
      ->description(
          "What times without an offset mean, the profile's too: local, UTC, +HH:MM, -HH:MM or "
          "Area/City (default: agentic_power_timezone_offset.txt in the folder; of the telemetry "
          "before that gpu_metrics_context.json, and at last local)");
  command.examples =
      "aggregate-power agentic --result-dir results --agg-result run.json --expected-num-gpus 8\n"
      "aggregate-power agentic --result-dir results --agg-result run.json --dry-run";
  command.exit_statuses =
      "0 done, also when power is not valid (the reason is recorded); 1 when power is required and "
      "not valid; 2 for wrong options";
  command.run = [texts] { return run(*texts); };
  return command;
}

}  // namespace aggregate_power
