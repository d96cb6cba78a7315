// aggregate-power recommend: which power limit to choose after a sweep, and how to run one.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/system/parallel.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "decide/recommend/recommend.h"

namespace aggregate_power {
namespace {

struct RecommendCommandRequest : RecommendRequest {
  bool json = false;
  std::string plan_text;
  SweepPlan plan;
};

int print_recommendation(const RecommendCommandRequest& request) {
  Recommendation recommendation;
  try {
    recommendation = recommend(request);
  } catch (const FileError& error) {
    refuse_missing({request.results, request.join.tokens, request.join.samples}, error);
  }
  if (request.json) {
    print(stdout, recommendation_json(recommendation));
  } else {
    print_result(recommendation_text(recommendation));
  }
  std::ignore = std::fflush(stdout);  // the result comes before what is said about it
  for (const std::string& note : recommendation.notes) print_note("note: " + note);
  for (const std::string& warning : recommendation.warnings) print_note("warning: " + warning);
  for (const std::string& path : recommendation.written) print_note("wrote " + path);
  return recommendation.is_complete() ? 0 : 1;
}

// "training=FILE"
bool take_scenario(const std::string& text, RecommendRequest& request) {
  const std::size_t sign = text.find('=');
  const std::string name = text.substr(0, sign);
  if (sign == std::string::npos || sign + 1 == text.size()) return false;
  if (name != kTraining && name != kInference) return false;
  request.scenarios.emplace_back(name, normal_path(text.substr(sign + 1)));
  return true;
}

void add_choice_options(Options& options, RecommendCommandRequest& request) {
  options
      .value(
          "--objective", "energy|energy-per-token|time|energy-time",
          [&request](const std::string& text) {
            request.question.objective = limit_objective(text);
            return request.question.objective.has_value();
          },
          "What the best limit has least of, for the same work (default: energy-per-token where tokens are known, else energy)")
      .one_of({"energy", "energy-per-token", "time", "energy-time", "cost"});
  options
      .value(
          "--eta", "N", into(request.question.eta),
          "Of energy-time, the share of energy: N x energy + (1 - N) x P_max x time (default: 0.5)")
      .check(number_between(0, 1));
  options
      .value("--max-power", "WATTS", into(request.question.max_power_w),
             "P_max of energy-time, all GPUs together (default: the highest limit times the GPUs)")
      .check(number_between(0.001, 1e9));
  options
      .value(
          "--max-slowdown", "FACTOR", into(request.question.max_slowdown),
          "Limits that take more than FACTOR times as long as the highest limit cannot win, as in 1.1")
      .check(number_between(1, 1e6));
}

void add_objective_options(Options& options, RecommendCommandRequest& request) {
  add_slo(options, request.slo).help =
      "A service level objective, as in ttft=500ms,p90:tpot=30ms: also shows which configurations keep it, the cheapest of these, and what the objective costs, by energy and latency; see 'help good-work'";
  options
      .value("--quality-key", "KEY", into(request.quality_key),
             "A member of the aggregates of which more is better, such as accuracy: one more axis")
      .check(not_empty())
      .needs("--slo");
  options
      .value(
          "--questions", "N", into(request.questions),
          "By how many questions a quality from 0 to 1 is known, for its interval (default: the member KEY_questions, or questions)")
      .check(number_between(1, 1e12))
      .needs("--quality-key");
}

void add_input_options(Options& options, RecommendCommandRequest& request) {
  options
      .value(
          "--group-by", "KEYS", into_list(request.keys),
          "Members of aggregates, or columns of a Zeus sweep, that make a scenario, with commas between them (default: the whole configuration)")
      .check(not_empty());
  options
      .value(
          "--limit-key", "KEY", into(request.limit_key),
          "The member of the aggregates that is the power limit (default: power_limit_w, power_limit, max_watt and the like, else what the recording reports)")
      .check(not_empty());
  options
      .list(
          "--scenario", "training|inference=FILE",
          [&request](const std::string& text) { return take_scenario(text, request); },
          "What the rows of a stats CSV, or of --tokens, are of; may be repeated (default: what a column or the file's name says, else inference)")
      .check(not_empty());
  options
      .list(
          "--tokens", "FILE", into_paths(request.join.tokens),
          "A CSV with timestamp, tokens_per_sec and perhaps max_watt, to be joined with --samples; may be repeated")
      .check(not_empty())
      .needs("--samples");
  options
      .list("--samples", "FILE", into_paths(request.join.samples),
            "The recording that belongs to --tokens; may be repeated")
      .check(not_empty())
      .needs("--tokens");
  options
      .value("--tolerance", "SECONDS", into(request.join.tolerance_s),
             "How old the last sample before a row of tokens may be (default: 5)")
      .check(number_between(0, 1e6))
      .needs("--tokens");
  options
      .value(
          "--outliers", "zscore|mad|none",
          [&request](const std::string& text) {
            const auto outliers = row_outliers(text);
            if (outliers) request.rows.outliers = *outliers;
            return outliers.has_value();
          },
          "Which rows are left out, by their rate: those 3 standard deviations from the mean of their limit, or 3 scaled median absolute deviations from its median; runs never are (default: zscore)")
      .one_of({"zscore", "mad", "none"});
  options.choice(
      "--rate", "instant|cumulative", {{"instant", false}, {"cumulative", true}},
      request.rows.is_cumulative,
      "What tokens_per_sec is: the rate at each row, or the mean since the load began, as gpu-tune's own loads log it (default: instant)");
  add_recording_options(options, request.join.recording);
  add_calibration_of_measured(options, request.measuring);
}

void add_plan_options(Options& options, RecommendCommandRequest& request) {
  options
      .value("--plan", "START:END:STEP", into(request.plan_text),
             "Print a shell script that sweeps these limits, in watts, and restores the old ones")
      .check(not_empty())
      .excludes("RESULT");
  options.choice(
      "--over", "limits|clocks", {{"limits", false}, {"clocks", true}}, request.plan.is_of_clocks,
      "What the plan sweeps: power limits, or graphics clocks in MHz, which nvidia-smi -lgc locks "
      "(default: limits)");
  options
      .value("--run", "COMMAND", into(request.plan.load),
             "The load, as a line of shell; it writes its result to the file $RESULT")
      .check(not_empty());
  options
      .value("--repeats", "N", into(request.plan.repeats),
             "How often each limit is measured: up, down, up and so on (default: 3)")
      .check(whole_number_between(1, 100));
  options
      .value("--cool-down", "SECONDS", into(request.plan.cool_down_s),
             "Pause before each run (default: 60)")
      .check(whole_number_between(0, 86400));
  options
      .value("--gpus", "LIST", into(request.plan.gpus),
             "The GPUs, with commas between them, as the vendor's tool names them (default: all)")
      .check(expecting(
          "numbers or names with commas between them, as in 0,1", [](const std::string& text) {
            constexpr const char* kPlain =
                "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-:.,";
            const bool has_empty = text.empty() || text.starts_with(',') || text.starts_with('-') ||
                                   text.ends_with(',') || text.find(",,") != std::string::npos;
            return !has_empty && text.find_first_not_of(kPlain) == std::string::npos;
          }));
  options
      .value("--vendor", "nvidia|amd", into(request.plan.vendor),
             "Whose tool sets the limits: nvidia-smi or amd-smi (default: nvidia)")
      .one_of({"nvidia", "amd"});
  for (const char* const name :
       {"--plan", "--over", "--run", "--repeats", "--cool-down", "--gpus", "--vendor"}) {
    Option& option = options.at(name).in_group("Options of a plan");
    if (name != std::string_view("--plan")) option.needs("--plan");
  }
}

}  // namespace

Command recommend_command() {
  const auto request = std::make_shared<RecommendCommandRequest>();
  request->most_threads = usable_processors();
  request->measuring.shows_interval = true;
  Command command;
  Options& options = command.options;
  options
      .positionals(
          "RESULT", into_paths(request->results),
          "Aggregates, folders or archives of runs, the report of a backfill (.jsonl), stats CSVs of gpu-tune, or sweeps of Zeus")
      .check(not_empty());
  add_choice_options(options, *request);
  add_objective_options(options, *request);
  add_input_options(options, *request);
  add_access_options(options, request->access);
  options.choice("--format", "table|json", {{"table", false}, {"json", true}}, request->json,
                 "How to print (default: table)");
  options.flag("--json", request->json, "The same as --format json").excludes("--format");
  options
      .value("--stats-out", "FOLDER", into_path(request->stats_out),
             "Write training_stats.csv and inference_stats.csv there, as gpu-tune has them")
      .check(not_empty());
  add_plan_options(options, *request);
  command.forms = {"RESULT... [OPTIONS]", "--tokens FILE --samples FILE [OPTIONS]",
                   "--plan START:END:STEP [OPTIONS]"};
  command.examples =
      "aggregate-power recommend sweep\n"
      "aggregate-power recommend training_stats.csv inference_stats.csv --json\n"
      "aggregate-power recommend summary_power_a40.csv --objective energy-time --eta 0.3\n"
      "aggregate-power recommend --tokens tokens.csv --samples gpu_metrics.csv --stats-out stats\n"
      "aggregate-power recommend --plan 150:300:25 --run 'run_benchmark >\"$RESULT\"' >sweep.sh";
  command.exit_statuses =
      "0 a limit is recommended in each scenario; 1 in some none is, with the reason; 2 a file cannot be opened or used, or wrong options";
  command.settle = [request](const Options& parsed) {
    const bool has_input =
        parsed.is_given("RESULT") || parsed.is_given("--tokens") || parsed.is_given("--scenario");
    if (!request->plan_text.empty()) {
      if (has_input)
        throw Error("--plan: takes no files: what it prints is run before there are any");
      if (request->plan.is_of_clocks && request->plan.vendor == "amd") {
        throw Error("--over clocks: only the clocks of NVIDIA's GPUs can be planned");
      }
      request->plan.limits_w = planned_limits(request->plan_text);
    } else if (!has_input) {
      throw Error(
          "recommend: expected RESULT, --tokens and --samples, or --plan; see 'aggregate-power recommend --help'");
    }
  };
  command.run = [request] {
    if (request->plan_text.empty()) return print_recommendation(*request);
    print(stdout, plan_script(request->plan));
    return 0;
  };
  return command;
}

}  // namespace aggregate_power
