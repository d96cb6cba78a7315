// Generates the man page and the bash completion.
#include "commands/manual.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/reason.h"
#include "commands/commands.h"
#include "commands/surroundings.h"

namespace aggregate_power {
namespace {

// Text with everything escaped that troff would take for a request or an escape.
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

std::string entry(const Surrounding& one) {
  return fmt::format(".TP\n\\fB{}\\fR\n{}\n", troff(one.name), troff(one.text));
}

std::string entries(std::span<const Surrounding> all) {
  std::string text;
  for (const Surrounding& one : all) text += entry(one);
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
    if (option.words.empty()) continue;
    // A positional value follows the command's name.
    words[option.is_positional() ? name : option.name] =
        fmt::format("{}", fmt::join(option.words, " "));
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
      ".TH AGGREGATE\\-POWER 1 \"\" \"aggregate\\-power {}\"\n.SH NAME\naggregate\\-power \\- energy of a GPU benchmark run, from its power telemetry\n.SH SYNOPSIS\n",
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
  page += ".SH ENVIRONMENT\n" + entries(environment_variables());
  page += ".SH FILES\n" + entries(files());
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
      "  if [ \"$word\" = = ]; then\n"  // --option=, with nothing after it yet
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
      "  if [ -n \"$words\" ]; then mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\"); fi\n"
      "}}\n"
      "# If nothing matches, the shell completes file names and quotes them as needed.\n"
      "complete -o bashdefault -o default -F _aggregate_power aggregate-power\n",
      cases, names);
}

}  // namespace aggregate_power
