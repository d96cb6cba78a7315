// A man page and a bash completion, made from the options.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/commands/command.h"

namespace aggregate_power {
namespace {

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

std::string option_entry(const CLI::Option& option) {
  std::string names = option.get_name(option.get_positional(), true);
  std::ranges::replace(names, ',', ' ');
  std::string value;
  if (option.get_items_expected_max() > 0 && !option.get_positional()) {
    value = " \\fI" + troff(option.get_type_name()) + "\\fR";
  }
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", troff(names), value,
                     troff(option.get_description()));
}

std::string command_section(const Command& command) {
  const std::string& name = command.options->get_name();
  std::string section =
      fmt::format(".SS {}\n{}\n", troff(name), troff(command.options->get_description()));
  for (const CLI::Option* option : command.options->get_options()) section += option_entry(*option);
  return section + ".PP\n" + troff(command.notes) + "\n";
}

std::string last_word(const std::string& name) { return name.substr(name.rfind(' ') + 1); }

std::string all_long_options(const Command& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.options->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return fmt::format("{}", fmt::join(names, " "));
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
    const std::string first_line = command.usage.substr(0, command.usage.find('\n'));
    page +=
        fmt::format(".PP\n\\fB{}\\fR {}\n", troff(command.options->get_name()), troff(first_line));
  }
  page += ".SH COMMANDS\n";
  for (const Command& command : commands) page += command_section(command);
  page += ".SH EXAMPLES\n.nf\n";
  for (const Command& command : commands) page += troff(command.examples) + "\n";
  return page + ".fi\n";
}

std::string bash_completion() {
  std::string cases;
  std::string names;
  std::string first;
  for (const Command& command : all_commands()) {
    const std::string name = last_word(command.options->get_name());
    if (first.empty()) {
      first = all_long_options(command);
      continue;
    }
    names += name + " ";
    cases += fmt::format("    {}) words=\"{}\" ;;\n", name, all_long_options(command));
  }
  return fmt::format(
      "# bash completion for aggregate-power, made from its options\n"
      "_aggregate_power() {{\n"
      "  local word=\"${{COMP_WORDS[COMP_CWORD]}}\" words\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n{}"
      "    *) words=\"{}\"; [ \"$COMP_CWORD\" -eq 1 ] && words=\"{}$words\" ;;\n"
      "  esac\n"
      "  case \"$word\" in\n"
      "    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
      "    *) COMPREPLY=($(compgen -W \"$words\" -- \"$word\") $(compgen -f -- \"$word\")) ;;\n"
      "  esac\n"
      "}}\n"
      "complete -o filenames -F _aggregate_power aggregate-power\n",
      cases, first, names);
}

}  // namespace aggregate_power
