// Generates the man page.
#include "commands/help_pages/manual.h"

#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "aggregate_power/reason.h"
#include "commands/commands.h"
#include "commands/help_pages/surroundings.h"

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

}  // namespace aggregate_power
