// The table of commands. A new command is its own file, its declaration and its row here.
#include "commands/commands.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "base/text/lists.h"

namespace aggregate_power {

Command agentic_command();
Command attribute_command();
Command backfill_command();
Command bundle_command();
Command calibrate_command();
Command compare_command();
Command doctor_command();
Command explain_command();
Command export_command();
Command help_command();
Command inspect_command();
Command measure_command();
Command multinode_command();
Command patch_command();
Command plan_command();
Command plot_command();
Command recommend_command();
Command report_command();
Command retract_command();
Command schema_command();
Command synthesize_command();
Command verify_command();
Command windows_command();

namespace {

constexpr CommandRow kRows[] = {
    {"agentic", CommandGroup::pipelines, "patch of a run of agents, from AIPerf",
     "--result-dir --agg-result --validation-result --expected-num-gpus --power-dir --profile-timezone --timezone --uncertainty --require-power --dry-run",
     "--result-dir FOLDER --agg-result FILE [OPTIONS]",
     "Power and energy of an agentic run: on one node, the window and the counts come from AIPerf's profile in the result folder; on several nodes, from the formal result there, and the power from the package that the nodes' recorder wrote.",
     agentic_command},
    {"attribute", CommandGroup::measure, "energy by kernel, layer or phase of a trace",
     "--telemetry --trace --by --top --sort --span --format --timezone --gpus --uncertainty",
     "TELEMETRY... TRACE... [OPTIONS]",
     "What the energy of a recording was used for: by kernel, layer, annotation or phase of a profiler's trace. The rows always sum to the integral of the power.",
     attribute_command},
    {"backfill", CommandGroup::past, "find the runs of an archive, patch them",
     "--dry-run --output --jobs --report --timezone --expected-num-gpus --window --uncertainty --undo --verify",
     "STORE... [OPTIONS]",
     "Bring all finished runs of an archive up to date: find them, compute their energy, patch their aggregates, and report what could not be done and why. It can be interrupted, repeated and run in parallel.",
     backfill_command},
    {"bundle", CommandGroup::past, "runs and their files in one archive", "",
     "RUN|STORE --out FILE [OPTIONS]",
     "Put runs and every file that they were computed from into one archive, to be verified where the original files are not; on request without the names of people and machines. Nothing that exists is changed.",
     bundle_command},
    {"calibrate", CommandGroup::measure, "what a meter adds to the watts of GPUs",
     "--witness --meter --scope --meter-accuracy --window --out --json --gpus --timezone",
     "RECORDING... [--witness FILE] [OPTIONS]",
     "Watts of a node for each watt of its GPUs and the idle part, or the gain of the GPUs' sensors, from a meter that was recorded beside them; with intervals, and as a profile for later measurements. Nothing that exists is changed.",
     calibrate_command},
    {"compare", CommandGroup::decide, "whether an energy changed; a verdict",
     "--with --metric --margin --look --match-by --boards --format --json",
     "BASE... [--with NEW...] [OPTIONS]",
     "Whether what runs use has changed: two sets of results, matched by configuration, with an interval of the change and a verdict to gate on; or the spread of repeats. Nothing is changed.",
     compare_command},
    {"doctor", CommandGroup::look, "what to change before you measure",
     "--window-s --shortest-phase --gpu-model --json --power-column --power-unit --timezone",
     "[TELEMETRY] [OPTIONS]",
     "What to change before a campaign of measurements: checks this machine's tools, GPUs and clock, or a short recording, and says how wide the interval of an energy will be.",
     doctor_command},
    {"explain", CommandGroup::look, "what a reason code means, and what to do", "", "[CODE...]",
     "Say what a reason code means, what usually causes it, and what to do; without a code, list all.",
     explain_command},
    {"export", CommandGroup::past, "runs for Prometheus, CSV and others",
     "--format --out --labels --timestamps --names --tdp --pue --artifacts",
     "RESULTS... --format FORMAT [OPTIONS]",
     "Write what runs and windows used for other tools: gauges for Prometheus and OpenTelemetry, CSV, JSON lines, window logs of Zeus; on request with power limits, and what node, rack and facility used by stated factors. Nothing that exists is changed.",
     export_command},
    {"help", CommandGroup::look, "a page, a code, or what has a word", "", "[TOPIC]",
     "List the topics of the help pages, or print the page on one topic.", help_command},
    {"inspect", CommandGroup::look, "how a recording or a result is understood",
     "--bench-result --sensor --gpu-model --json --per-process --validate --power-column --power-unit --timezone",
     "FILE [OPTIONS]",
     "Show how a telemetry file is understood: columns, zone, devices, gaps, skipped rows; or the result of a load generator: window and counts.",
     inspect_command},
    {"measure", CommandGroup::measure, "energy and joules per token; changes nothing",
     "--json --out --set --window --start --end --timezone --gpus --gpu-model --no-uncertainty --select",
     "RESULT [TELEMETRY...] [OPTIONS]",
     "What a run used: power, energy and joules per token, from any load generator's result and the run's recording. Nothing that exists is changed.",
     measure_command},
    {"multinode", CommandGroup::pipelines, "patch of a run on several nodes",
     "--power-dir --host --nodes --role --bench-result --agg-result --validation-result --expected-num-gpus --require-power --dry-run",
     "--nodes FOLDER --bench-result FILE --agg-result FILE [OPTIONS]",
     "Mean power and energy per token of a run on several nodes, whole and by role; patched into the run's aggregate JSON, with an audit record beside the benchmark result.",
     multinode_command},
    {"patch", CommandGroup::pipelines, "energy into a run's aggregate, with a record",
     "--csv --bench-result --agg-result --expected-num-gpus --gpus --timezone --max-sample-gap --uncertainty --no-uncertainty --require-power --dry-run",
     "--bench-result FILE --agg-result FILE [OPTIONS]",
     "Mean power and energy per token of a GPU benchmark run, from its power telemetry; patched into the run's aggregate JSON, with an audit record beside it.",
     patch_command},
    {"plan", CommandGroup::decide, "how many repeats a comparison needs",
     "--detect --margin --power --recording --gpu-model --spread --sampling --window --looks --run --json",
     "RUNS... | --recording FILE | --gpu-model NAME --detect PERCENT [OPTIONS]",
     "How many repeats decide a comparison, how long and how often to record, and what the sensor makes impossible: by the test of 'compare', from pilot runs, a recording or the sensor alone. Prints the commands.",
     plan_command},
    {"plot", CommandGroup::look, "power over time, as SVG or in the terminal",
     "--bench-result --out --format --term --title --window --start --end --gpus --timezone",
     "TELEMETRY... [--bench-result FILE] [OPTIONS]",
     "A picture of a recording, as SVG or in the terminal: power of each GPU and of all together over time, with the load's window, gaps, and the energies that a run publishes.",
     plot_command},
    {"recommend", CommandGroup::decide, "which power limit to choose after a sweep",
     "--objective --max-power --max-slowdown --group-by --tolerance --plan --run --repeats --format --json",
     "RESULT... | --plan START:END:STEP [OPTIONS]",
     "Which power limit to choose: compares what a sweep measured at each limit, says how certain the choice is and what ties with it; or prints a script that runs such a sweep.",
     recommend_command},
    {"report", CommandGroup::decide, "one HTML page about runs",
     "--out --title --group-by --tdp --curves --timezone --pue --price --carbon",
     "STORE|RESULT... --out FILE [OPTIONS]",
     "One HTML page about runs, which needs no network: energy per token against speed, sweeps over power limits, validity with its reasons, and a table of all runs with filters. Nothing else is changed.",
     report_command},
    {"retract", CommandGroup::past, "withdraw published numbers", "",
     "STORE... --where KEY=VALUE [OPTIONS]",
     "Withdraw numbers that were published of runs, by what their audit records say: of one collector, format or version. The aggregates get power_valid 0, the records keep what was; a backfill leaves such runs alone.",
     retract_command},
    {"schema", CommandGroup::look, "the JSON Schema of an output", "", "[NAME]",
     "Print the JSON Schema of an output: its members, their types, units and words; without a name, list the outputs.",
     schema_command},
    {"synthesize", CommandGroup::pipelines, "telemetry of known power, to test a pipeline",
     "--phase --gpus --interval --noise --fault --out --bench-out --agg-out --benchmark-phase --package",
     "--phase SECONDS:WATTS --out FILE [OPTIONS]",
     "Write synthetic telemetry of known power, with faults on request, and a benchmark result and aggregate to go with it. The same options give the same bytes.",
     synthesize_command},
    {"verify", CommandGroup::past, "compute published digits again", "",
     "STORE|AGGREGATE|BUNDLE... | --sweep MANIFEST | --receipt FILE [OPTIONS]",
     "Recompute every number that was published of runs or of a sweep from their files, and check every digest and tolerance; or check a measurement receipt with its archives. Nothing is changed.",
     verify_command},
    {"windows", CommandGroup::measure, "energy of each window that a script logged",
     "--telemetry --windows --format --json --per-process --gpus --timezone --uncertainty --max-sample-gap",
     "--telemetry FILE... --windows FILE [OPTIONS]",
     "What each window used that a script logged: time, energy, mean and peak power, GPU by GPU; nested windows also without those inside them. Nothing is changed.",
     windows_command},
};

std::vector<std::string> option_names(std::string_view text) {
  std::vector<std::string> words;
  std::istringstream stream{std::string(text)};
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

std::span<const CommandRow> command_rows() { return kRows; }

std::vector<std::string_view> command_names() {
  return mapped<std::string_view>(command_rows(), &CommandRow::name);
}

const CommandRow* find_command(std::string_view name) {
  const auto row = std::ranges::find(kRows, name, &CommandRow::name);
  return row == std::end(kRows) ? nullptr : row;
}

Command make_command(const CommandRow& row) {
  Command command = row.make();
  command.name = fmt::format("aggregate-power {}", row.name);
  command.sentence = row.sentence;
  command.common = option_names(row.common);
  if (command.forms.empty()) command.forms = {std::string(row.usage)};
  command.usage = joined_text(command.forms, "\n       ", [&](const std::string& form) {
    return fmt::format("{} {}", command.name, form);
  });
  return command;
}

std::vector<Command> all_commands() { return mapped<Command>(command_rows(), make_command); }

}  // namespace aggregate_power
