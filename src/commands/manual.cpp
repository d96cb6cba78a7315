// A man page and a bash completion, made from the options.
#include "commands/manual.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/reason.h"
#include "commands/commands.h"

namespace aggregate_power {
namespace {

struct Entry {
  std::string_view name;
  std::string_view text;
};

constexpr Entry kEnvironment[] = {
    {"GPU_METRICS_CSV",
     "the telemetry, when there is no --csv; no other file is taken when that one is absent"},
    {"POWER_ARTIFACT_DIR, POWER_RESULT_ROOT, POWER_PRODUCER_SHA",
     "of multinode: what --power-dir, --logs-root and --expected-producer-sha are when they are "
     "not given; of agentic --power-dir the last two"},
    {"REQUIRE_POWER", "1, true or yes, in capitals or not: the same as --require-power"},
    {"TZ",
     "the zone 'local': that of stamps without an offset where nothing else says theirs, and of "
     "those that synthesize writes"},
    {"TZDIR", "the folder of named time zones, instead of /usr/share/zoneinfo"},
};

constexpr Entry kFiles[] = {
    {"gpu_metrics.csv, /workspace/gpu_metrics.csv",
     "read: the telemetry when neither --csv nor GPU_METRICS_CSV names one; the first that exists"},
    {"STEM_context.json",
     "read, when it stands beside the telemetry STEM.csv and there is no --timezone: its "
     "timestamp_timezone is the zone of stamps without an offset; a run whose stamps need it is "
     "refused when it cannot be used"},
    {"agentic_power_timezone_offset.txt",
     "read, when it stands beside the telemetry and the file above is not there: the UTC offset of "
     "stamps without one, such as +0900; by agentic also for the profile's times"},
    {"STEM_energy_start.csv, STEM_energy_end.csv",
     "read, when they stand beside the telemetry STEM.csv and an audit record is written: the "
     "energy counters to compare with"},
    {"STEM_identity.csv, STEM_devices.json, STEM_identity.json",
     "read by multinode, the first that stands beside the telemetry STEM.csv: the GPUs' UUIDs"},
    {"NODES/HOST/gpu_metrics.csv",
     "read by multinode --nodes NODES: the telemetry of each host; or the only other CSV there"},
    {"LOGS/power",
     "read by multinode, and by agentic --power-dir: a dcgm-power package with manifest.json, "
     "samples.csv, windows/*.json and perhaps cpu/samples.csv; its windows name their original "
     "results below LOGS"},
    {"the benchmark result", "read: the window and the counts"},
    {"the aggregate result", "read, and replaced by itself with our members in it"},
    {"power_validation_STEM.json",
     "written beside the benchmark result STEM.json under schema 2, or where --validation-result "
     "says, with the folders that are missing: the audit record"},
    {"aiperf_artifacts/profile_export_aiperf.json, profile_export.jsonl",
     "read by agentic, in the result folder, or in the first folder below aiperf_artifacts that "
     "has "
     "them: the window and the counts"},
    {"agentic_power_concurrency_N.json",
     "read by agentic --power-dir in the result folder: the window and the counts; of AIPerf's "
     "files then only profile_export.jsonl, for what failed requests used"},
    {"agentic_power_window.json, power_validation.json",
     "written by agentic into the result folder: the window and the counts as a benchmark result, "
     "and the audit record"},
    {"agg_NAME.json, NAME.json, gpu_metrics.csv",
     "of past runs, looked for by backfill as README.md says; it writes power_validation_NAME.json "
     "beside the aggregate"},
    {".NAME.XXXXXXXX.aggregate-power.tmp",
     "written beside each file and renamed to it; one that a killed run left is removed by the "
     "next"},
};

// Text that troff does not take for a request or an escape.
std::string troff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  if (result.starts_with('.') || result.starts_with('\'')) result.insert(0, "\\&");
  return result;
}

std::string option_entry(const Option& option) {
  std::string names = option.name;
  std::ranges::replace(names, ',', ' ');
  const std::string value = option.takes_value() ? " \\fI" + troff(option.value_name) + "\\fR" : "";
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", troff(names), value, troff(option.help));
}

std::string entry(const Entry& one) {
  return fmt::format(".TP\n\\fB{}\\fR\n{}\n", troff(one.name), troff(one.text));
}

std::string entries(std::span<const Entry> all) {
  std::string text;
  for (const Entry& one : all) text += entry(one);
  return text;
}

std::string reason_codes() {
  std::string text = "What an audit record or a message names, and what to do about it.\n";
  for (const Reason reason : all_reasons()) {
    text += entry({code(reason), remedy(reason)});
  }
  return text;
}

std::string command_section(const Command& command) {
  std::string section = fmt::format(".SS {}\n{}\n", troff(command.name), troff(command.sentence));
  for (const Option& option : command.options.all()) section += option_entry(option);
  return command.notes.empty() ? section : section + ".PP\n" + troff(command.notes) + "\n";
}

std::string last_word(const std::string& name) { return name.substr(name.rfind(' ') + 1); }

std::string all_long_options(const Command& command) {
  std::vector<std::string> names;
  for (const Option& option : command.options.all()) {
    if (!option.is_positional()) names.push_back(option.long_name());
  }
  return fmt::format("{}", fmt::join(names, " "));
}

// The words that can follow each option, and the options themselves.
std::string completion_cases(const Command& command, const std::string& name) {
  std::map<std::string, std::string> words;  // by option
  for (const Option& option : command.options.all()) {
    if (!option.words.empty()) words[option.name] = fmt::format("{}", fmt::join(option.words, " "));
  }
  std::string cases;
  for (const auto& [option, offered] : words) {
    cases += fmt::format("    {}:{}) words=\"{}\" ;;\n", name, option, offered);
  }
  return cases + fmt::format("    {}:*) options=\"{}\" ;;\n", name, all_long_options(command));
}

}  // namespace

std::string man_page() {
  std::string page = fmt::format(
      ".TH AGGREGATE\\-POWER 1 \"\" \"aggregate\\-power {}\"\n.SH NAME\naggregate\\-power \\- "
      "energy of a "
      "GPU benchmark run, from its power telemetry\n.SH SYNOPSIS\n",
      AGGREGATE_POWER_VERSION);
  const std::vector<Command> commands = all_commands();
  for (const Command& command : commands) {
    page += fmt::format(".PP\n\\fB{}\\fR {}\n", troff(command.name), troff(command.forms[0]));
  }
  page += ".SH COMMANDS\n";
  for (const Command& command : commands) page += command_section(command);
  page += ".SH EXIT STATUS\n";
  for (const Command& command : commands) {
    page += entry({command.name, command.exit_statuses});
  }
  page += ".SH ENVIRONMENT\n" + entries(kEnvironment);
  page += ".SH FILES\n" + entries(kFiles);
  page += ".SH REASON CODES\n" + reason_codes();
  page += ".SH EXAMPLES\n.nf\n";
  for (const Command& command : commands) page += troff(command.examples) + "\n";
  return page + ".fi\n";
}

std::string bash_completion() {
  std::string cases;
  std::string names;
  const std::vector<Command> commands = all_commands();
  for (std::size_t i = 1; i < commands.size(); ++i) {
    const std::string name = last_word(commands[i].name);
    names += name + " ";
    cases += completion_cases(commands[i], name);
  }
  cases += completion_cases(commands[0], "*");
  return fmt::format(
      "# bash completion for aggregate-power, made from its options\n"
      "_aggregate_power() {{\n"
      "  local word=\"${{COMP_WORDS[COMP_CWORD]}}\" option=\"${{COMP_WORDS[COMP_CWORD - 1]}}\"\n"
      "  local command=\"${{COMP_WORDS[1]}}\" options= words=\n"
      "  if [ \"$word\" = = ]; then\n"  // --option=, and nothing behind it yet
      "    word=\n"
      "  elif [ \"$option\" = = ]; then\n"
      "    option=\"${{COMP_WORDS[COMP_CWORD - 2]}}\"\n"
      "  fi\n"
      "  [ \"$COMP_CWORD\" -gt 1 ] || command=\n"
      "  case \"$command:$option\" in\n{}"
      "  esac\n"
      "  case \"$COMP_CWORD:$word\" in\n"
      "    1:*) words=\"{}$options\" ;;\n"
      "    *:-*) words=\"$words $options\" ;;\n"
      "  esac\n"
      "  COMPREPLY=()\n"
      "  if [ -n \"$words\" ]; then mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\"); "
      "fi\n"
      "}}\n"
      "# Where it finds nothing the shell completes file names, and quotes them as they need.\n"
      "complete -o bashdefault -o default -F _aggregate_power aggregate-power\n",
      cases, names);
}

}  // namespace aggregate_power
