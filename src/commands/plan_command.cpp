// aggregate-power plan: how many repeats a comparison needs, and how to record them.
#include <memory>
#include <string>

#include "aggregate_power/error.h"
#include "base/system/parallel.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "decide/plan/plan.h"

namespace aggregate_power {
namespace {

struct PlanOptions : PlanRequest {
  bool json = false;
};

Take into_seconds(std::optional<double>& seconds) {
  return [&seconds](const std::string& text) {
    seconds = duration_in(text);
    return seconds.has_value();
  };
}

Check time_check() {
  return expecting("a time such as 60s",
                   [](const std::string& text) { return duration_in(text).has_value(); });
}

void add_goal_options(Options& options, PlanOptions& request) {
  add_percent(
      options, "--detect", {0, 1, "above 0% and below 100% such as 2%"},
      [&request](double share) { request.detect = share; },
      "The change that is to be found, as in 2%");
  add_percent(
      options, "--margin", {-1, 1, "below 100% such as 2%"},
      [&request](double share) { request.margin = share; },
      "Show that nothing changed by more than this; with --detect, changes that do not matter, as for 'compare' (then default: 0%)");
  add_percent(
      options, "--power", {0.0999, 0.9991, "from 10% to 99.9% such as 90%"},
      [&request](double share) { request.power = share; },
      "How many of such comparisons are to decide (default: 90%)");
  add_alpha(options, request.alpha);
  options
      .value(
          "--looks", "N", into(request.looks),
          "How often the comparison may be looked at on the way, by 'compare --look' (default: 1)")
      .check(whole_number_between(1, kMostLooks))
      .excludes("--alpha");
  options
      .value("--metric", "KEY", into(request.metric),
             "The member to compare (default: joules_per_output_token)")
      .check(not_empty());
}

void add_known_options(Options& options, PlanOptions& request) {
  options
      .value("--recording", "FILE", into_path(request.recording),
             "A short recording of the load: its sensor, sampling and noise")
      .check(not_empty());
  options
      .value(
          "--gpu-model", "NAME", into(request.gpu),
          "Model of the GPUs, such as H100 or MI300X: without a recording, what its sensor shows of "
          "a modelled load")
      .check(model_of_gpus());
  add_percent(
      options, "--spread", {0, 1, "above 0% and below 100% such as 0.5%"},
      [&request](double share) { request.spread = share; },
      "Standard deviation of repeats (default: that of the pilot runs, else 0.5%)")
      .excludes("RUNS");
  options
      .value("--sampling", "TIME", into_seconds(request.sampling_s),
             "Time between readings, as in 100ms (default: the slowest that is as good)")
      .check(time_check());
  options
      .value("--window", "TIME", into_seconds(request.window_s),
             "Length of each run (default: what takes the least time in all)")
      .check(time_check());
  options
      .value("--cool-down", "SECONDS", into(request.cool_down_s),
             "Pause before each run (default: what the recording shows, else 60)")
      .check(number_between(0, 86400));
  options
      .value("--run", "COMMAND", into(request.base_load),
             "The load of the base, as a line of shell; it writes its result to the file $RESULT")
      .check(not_empty());
  options
      .value("--run-new", "COMMAND", into(request.next_load),
             "The load of the new side (default: as --run)")
      .check(not_empty());
}

void settle_plan(PlanOptions& request) {
  if (!(request.detect > 0) && !(request.margin > 0)) {
    throw Error(
        "plan: expected what to decide: --detect 2% for a change, or --margin 2% for none; see 'aggregate-power plan --help'");
  }
  if (request.detect > 0 && request.detect <= request.margin) {
    throw Error(
        "--detect: the change is within --margin, where it does not matter: name a larger one");
  }
  if (request.pilots.empty() && request.recording.empty() && request.gpu.empty()) {
    throw Error(
        "plan: expected pilot runs, --recording FILE or --gpu-model NAME; see 'aggregate-power plan --help'");
  }
  if (request.base_load.empty()) request.base_load = "run_benchmark --result \"$RESULT\"";
  if (request.next_load.empty()) request.next_load = request.base_load;
}

int run_plan(const PlanOptions& request) {
  const Plan plan = plan_comparison(request);
  request.json ? print(stdout, plan_json(plan)) : print_result(plan_text(plan));
  for (const std::string& note : plan.notes) print_note("note: " + note);
  return plan.chosen ? 0 : 1;
}

}  // namespace

Command plan_command() {
  const auto request = std::make_shared<PlanOptions>();
  request->most_threads = usable_processors();
  request->measuring.shows_interval = true;
  Command command;
  Options& options = command.options;
  options
      .positionals("RUNS", into_paths(request->pilots),
                   "Pilot runs of one configuration or several, as 'compare' reads them")
      .check(not_empty());
  add_goal_options(options, *request);
  add_known_options(options, *request);
  add_recording_options(options, *request);
  add_access_options(options, request->access);
  options.flag("--json", request->json, "Print one JSON object");
  command.forms = {"RUNS... --detect PERCENT [OPTIONS]",
                   "--recording FILE --detect PERCENT [OPTIONS]",
                   "--gpu-model NAME --margin PERCENT [OPTIONS]"};
  command.examples =
      "aggregate-power plan pilot --detect 2%\n"
      "aggregate-power plan --recording gpu_metrics.csv --gpu-model H100 --margin 2% --power 80%\n"
      "aggregate-power plan --gpu-model H100 --sampling 100ms --window 60s --detect 1% --json";
  command.exit_statuses =
      "0 a plan; 1 nothing reaches what is asked; 2 a file cannot be opened or used, or wrong options";
  command.settle = [request](const Options&) { settle_plan(*request); };
  command.run = [request] { return run_plan(*request); };
  return command;
}

}  // namespace aggregate_power
