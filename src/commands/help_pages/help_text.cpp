// Formats a command's options and its other texts.
#include "commands/commands.h"
#include "commands/help_pages/help_pages.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/text/wrap.h"

namespace aggregate_power {
namespace {

// Calls `take` with each line of a text.
void each_line(std::string_view text, const auto& take) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    take(line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
}

std::string usage_lines(std::string_view usage, std::size_t width) {
  std::string text;
  each_line(usage, [&](std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    text += wrapped(line, text.empty() ? "usage: " : "       ", 11, width);
  });
  return text;
}

// An option, and beside it, or below it if it is long, its help.
std::string option_lines(const Option& option, std::size_t width) {
  constexpr std::size_t kIndent = 34;
  std::string first = "  " + option.name;
  if (option.takes_value()) first += " " + option.value_name;
  if (first.size() + 2 > kIndent) {
    return first + "\n" + wrapped(option.help, std::string(kIndent, ' '), kIndent, width);
  }
  first.append(kIndent - first.size(), ' ');
  return wrapped(option.help, first, kIndent, width);
}

std::string heading_of(const Option& option) {
  return option.is_positional() ? "Positionals" : option.group;
}

using IsShown = std::function<bool(const Option&)>;

// The options below their headings, in the order in which the headings first appear, positional
// ones first.
std::string options_lines(const Options& options, std::size_t width, const IsShown& is_shown) {
  std::vector<std::string> headings = {"Positionals"};
  for (const Option& option : options.all()) {
    const std::string heading = heading_of(option);
    if (std::ranges::find(headings, heading) == headings.end()) headings.push_back(heading);
  }
  std::string text;
  for (const std::string& heading : headings) {
    std::string lines;
    for (const Option& option : options.all()) {
      if (heading_of(option) == heading && is_shown(option)) lines += option_lines(option, width);
    }
    if (!lines.empty()) text += fmt::format("\n{}:\n{}", heading, lines);
  }
  return text;
}

std::string help_with(const Command& command, std::size_t width, const std::string& options) {
  std::string text = fmt::format("{}\n{}{}\nExamples:\n", usage_lines(command.usage, width),
                                 wrapped(command.sentence, "", 0, width), options);
  each_line(command.examples,
            [&](std::string_view line) { text += wrapped_command(line, 2, width); });
  text += "\n" + wrapped(fmt::format("Exit status: {}.", command.exit_statuses), "", 0, width);
  each_line(command.notes, [&](std::string_view line) { text += wrapped(line, "", 0, width); });
  return text;
}

}  // namespace

std::string help_of(const Command& command, std::size_t width) {
  const std::vector<std::string>& common = command.common;
  if (common.empty()) return help_with_all_options(command, width);
  const IsShown is_shown = [&](const Option& option) {
    return option.is_positional() || option.kind == Option::Kind::help ||
           option.kind == Option::Kind::help_all ||
           std::ranges::find(common, option.long_name()) != common.end();
  };
  const auto others = std::ranges::count_if(
      command.options.all(), [&](const Option& option) { return !is_shown(option); });
  const std::string options =
      options_lines(command.options, width, is_shown) +
      wrapped(fmt::format("{} more: '{} --help-all'.", others, command.name), "  ", 2, width);
  return help_with(command, width, options);
}

std::string help_with_all_options(const Command& command, std::size_t width) {
  return help_with(command, width,
                   options_lines(command.options, width, [](const Option&) { return true; }));
}

// ---- Environment variables and files

namespace {

constexpr Surrounding kEnvironment[] = {
    {"COLUMNS", "the width of help and of plot --term, instead of the terminal's"},
    {"GPU_METRICS_CSV",
     "the telemetry, if none is named; if this file is missing, no other is tried"},
    {"GPU_COUNT",
     "how many GPUs a package of one node has, if --expected-num-gpus does not say it"},
    {"LC_ALL, LC_CTYPE, LANG",
     "plot --term draws in ASCII unless the first of these that is set names UTF-8"},
    {"NO_COLOR, TERM", "nothing is coloured if NO_COLOR is set, or if TERM is dumb or not set"},
    {"POWER_ARTIFACT_DIR",
     "multinode's default of --power-dir; without a command's name, the package that is read instead of a recording, unless --csv, --schema-version 1 or --compat august is given"},
    {"POWER_RESULT_ROOT, POWER_PRODUCER_SHA",
     "the defaults of --logs-root and --expected-producer-sha wherever a package is read"},
    {"POWER_EXPECTED_CPU_SOURCE",
     "the default of multinode's --expected-cpu-source, also without a command's name; not read under --compat august"},
    {"REQUIRE_POWER", "1, true or yes, in upper or lower case: the same as --require-power"},
    {"TZ",
     "the zone 'local': that of timestamps without an offset if nothing else states their zone, and of those that synthesize writes"},
    {"TZDIR", "the folder of named time zones, instead of /usr/share/zoneinfo"},
};

constexpr Surrounding kFiles[] = {
    {"gpu_metrics.csv, /workspace/gpu_metrics.csv",
     "read: the telemetry when neither --csv nor GPU_METRICS_CSV names one; the first that exists; measure then tries gpu_metrics.csv beside the result"},
    {"STEM_context.json",
     "read if it is beside the telemetry STEM.csv: its timestamp_timezone is the zone of timestamps without an offset, unless --timezone is given; if it cannot be used, a run whose timestamps need it is refused; its clock_pairs and window place a load whose result does not state its window"},
    {"agentic_power_timezone_offset.txt",
     "read if it is beside the telemetry and the file above is missing: the UTC offset of timestamps without one, such as +0900; agentic uses it for the profile's times too"},
    {"STEM_energy_start.csv, STEM_energy_end.csv",
     "read if they are beside the telemetry STEM.csv and an audit record is written: the energy counters to compare with"},
    {"latency.csv, model_summary.json, omegawatt.csv",
     "read by inspect if they are beside a recording of AIPowerMeter: the seconds of each inference, the size of the model, and the power at the wall"},
    {"STEM_identity.csv, STEM_devices.json, STEM_identity.json",
     "read by multinode, the first that is beside the telemetry STEM.csv: the GPUs' UUIDs"},
    {"NODES/HOST/gpu_metrics.csv",
     "read by multinode --nodes NODES: the telemetry of each host; or the only other CSV there"},
    {"LOGS/power",
     "read by multinode, and by agentic --power-dir: a dcgm-power package with manifest.json, samples.csv, windows/*.json and optionally cpu/samples.csv; its windows name their original results below LOGS"},
    {"LOGS/native_power",
     "read by multinode: a native package with manifest.json, gpu_metrics.csv and the GPUs' identities from before and after the recording in node-0, node-1 ..."},
    {"the benchmark result", "read: what a load generator wrote, the window and the counts"},
    {"the file of measure --out",
     "written with the power keys, and power_validation_STEM.json beside it; if it exists, it must be such a file"},
    {"the file of plot --out",
     "written: the picture, or its points; an existing one is replaced, unless it is an input"},
    {"the file of export --out", "written in one step; a file that export reads is not replaced"},
    {"the report of backfill --report",
     "appended to, one line of JSON for each run; read by backfill --undo"},
    {"the aggregate result", "read, and rewritten with the power keys added"},
    {"power_validation_STEM.json",
     "written beside the benchmark result STEM.json under schema 2, or where --validation-result says, creating missing folders: the audit record"},
    {"aiperf_artifacts/profile_export_aiperf.json, profile_export.jsonl",
     "read by agentic, in the result folder, or in the first folder below aiperf_artifacts that has them: the window and the counts"},
    {"agentic_power_concurrency_N.json",
     "read by agentic --power-dir in the result folder: the window and the counts; of AIPerf's files only profile_export.jsonl is then read, for what failed requests used"},
    {"agentic_power_window.json, power_validation.json",
     "written by agentic into the result folder: the window and the counts as a benchmark result, and the audit record"},
    {"agg_NAME.json, NAME.json, gpu_metrics.csv",
     "files of past runs, which backfill finds as 'aggregate-power help stores' says; it writes power_validation_NAME.json beside the aggregate"},
    {".NAME.XXXXXXXX.aggregate-power.tmp",
     "written beside each file and renamed to it; one that a killed run left behind is removed by the next run"},
};

}  // namespace

std::span<const Surrounding> environment_variables() { return kEnvironment; }

std::span<const Surrounding> files() { return kFiles; }

// ---- What the program is, on one screen

namespace {

constexpr std::pair<CommandGroup, std::string_view> kGroups[] = {
    {CommandGroup::measure, "measure"},    {CommandGroup::look, "look"},
    {CommandGroup::decide, "decide"},      {CommandGroup::past, "past runs"},
    {CommandGroup::pipelines, "pipeline"},
};

constexpr std::string_view kBeginning =
    "Energy of GPU benchmark runs, from power recordings that are checked:\n"
    "  aggregate-power result.json power.csv           joules per token\n"
    "  aggregate-power compare before --with after     whether they changed\n"
    "  aggregate-power-monitor run -- COMMAND          record while it runs\n"
    "\n";

constexpr std::string_view kEnd =
    "\nOptions: COMMAND --help.  Pages: 'help topics', 'help WORD'.\n";

constexpr std::string_view kWhere =
    "\n"
    "Without a command, files are measured, and options are of patch:\n"
    "  aggregate-power --csv FILE --bench-result FILE --agg-result FILE\n";

constexpr std::string_view kTopics =
    "What they mean: COMMAND --help-all.  Their rules: 'help options'.\n"
    "\n"
    "good requests (--slo), correct answers         help good-work\n"
    "meters of a node: BMC, RAPL, Slurm (--witness) help windows\n"
    "recordings of W&B, MLflow, Prometheus, DCGM    help telemetry-formats\n"
    "a window that is unknown or estimated          help measure\n"
    "times without an offset (--timezone)           help time-zones\n"
    "intervals, sensors, power above idle           help uncertainty\n"
    "cost, carbon, PUE                              help cost\n"
    "runs for others, without names (--redact)      help bundle\n"
    "a code or a word that was printed              explain WORD\n";

}  // namespace

// Scripts have looked there for the names of options ever since.
std::string where_to_find() {
  constexpr std::size_t kColumns = 70;
  std::string names;
  const Command patch = make_command(*find_command("patch"));
  for (const Option& option : patch.options.all()) names += " " + option.long_name();
  return fmt::format("{}{}{}", kWhere, wrapped(names.substr(1), "  ", 2, kColumns), kTopics);
}

std::string overview() {
  std::string text(kBeginning);
  for (const auto& [group, heading] : kGroups) {
    std::string_view before = heading;
    for (const CommandRow& row : command_rows()) {
      if (row.group != group) continue;
      text += fmt::format("{:9} {:11} {}\n", before, row.name, row.summary);
      before = "";
    }
  }
  return text + std::string(kEnd);
}

}  // namespace aggregate_power
