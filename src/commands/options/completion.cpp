// Generates the completions.
#include "commands/options/completion.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands/commands.h"

namespace aggregate_power {
namespace {

std::string last_word(const std::string& name) { return name.substr(name.rfind(' ') + 1); }

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// What an option's value is.
enum class ValueKind { words, file, folder, other };

ValueKind value_kind(const Option& option) {
  const std::string& name = option.is_positional() ? option.name : option.value_name;
  if (!option.words.empty()) return ValueKind::words;
  if (name == "FOLDER") return ValueKind::folder;
  return option.names_path() ? ValueKind::file : ValueKind::other;
}

// The "h" of "-h,--help"; empty: there is none.
std::string short_letter(const Option& option) {
  return option.name.starts_with("--") || option.is_positional() ? "" : option.name.substr(1, 1);
}

// The first part of a help text, which is enough in a menu.
std::string brief(std::string_view text) {
  const std::size_t end =
      std::min({text.find("; "), text.find(". "), text.find(" (default"), text.size()});
  return std::string(text.substr(0, end));
}

std::string escaped(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

// In single quotes, for bash and zsh.
std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) c == '\'' ? result += "'\\''" : result += c;
  return result + '\'';
}

// ---- bash

std::string all_long_options(const Command& command) {
  std::vector<std::string> names;
  for (const Option& option : command.options.all()) {
    if (!option.is_positional()) names.push_back(option.long_name());
  }
  return joined(names);
}

// The words that can follow each option, and the options themselves.
std::string bash_cases(const Command& command, const std::string& name) {
  std::map<std::string, std::string> words;  // by option
  std::string anywhere;                      // for positional values that may be many
  for (const Option& option : command.options.all()) {
    if (option.words.empty()) continue;
    if (option.kind == Option::Kind::positionals) {
      anywhere = fmt::format(" words=\"{}\"", joined(option.words));
    } else {
      // A positional value follows the command's name.
      words[option.is_positional() ? name : option.long_name()] = joined(option.words);
    }
  }
  std::string cases;
  for (const auto& [option, offered] : words) {
    cases += fmt::format("    {}:{}) words=\"{}\" ;;\n", name, option, offered);
  }
  return cases +
         fmt::format("    {}:*) options=\"{}\"{} ;;\n", name, all_long_options(command), anywhere);
}

// ---- zsh

std::string zsh_action(const Option& option) {
  switch (value_kind(option)) {
    case ValueKind::words:
      return fmt::format("({})", joined(option.words));
    case ValueKind::file:
      return "_files";
    case ValueKind::folder:
      return "_files -/";
    case ValueKind::other:
      return " ";
  }
  return {};
}

// One argument of _arguments.
std::string zsh_spec(const Option& option) {
  constexpr std::string_view kSpecial = "\\[]:";
  const std::string action = zsh_action(option);
  if (option.is_positional()) {
    const bool is_many = option.kind == Option::Kind::positionals;
    return shell_quoted(fmt::format("{}:{}:{}", is_many ? "*" : "1", option.name, action));
  }
  std::string rest = fmt::format("[{}]", escaped(brief(option.help), kSpecial));
  if (option.takes_value()) {
    rest = fmt::format("={}:{}:{}", rest, escaped(option.value_name, kSpecial), action);
  }
  const std::string many = option.kind == Option::Kind::list ? "*" : "";
  std::string specs = shell_quoted(many + option.long_name() + rest);
  if (const std::string letter = short_letter(option); !letter.empty()) {
    specs += " " + shell_quoted("-" + letter + rest);
  }
  return specs;
}

std::string zsh_case(const Command& command, const std::string& pattern, const char* before) {
  std::string specs;
  for (const Option& option : command.options.all()) {
    specs += " \\\n        " + zsh_spec(option);
  }
  return fmt::format("    {})\n{}      _arguments -S{} ;;\n", pattern, before, specs);
}

// ---- fish

// In single quotes for fish, which knows two escapes there.
std::string fish_quoted(std::string_view text) { return fmt::format("'{}'", escaped(text, "\\'")); }

std::string fish_value(const Option& option) {
  switch (value_kind(option)) {
    case ValueKind::words:
      return fmt::format(" -x -a {}", fish_quoted(joined(option.words)));
    case ValueKind::file:
      return " -r -F";
    case ValueKind::folder:
      return " -x -a '(__fish_complete_directories (commandline -ct))'";
    case ValueKind::other:
      return " -x";
  }
  return {};
}

std::string fish_line(const Option& option, const std::string& condition) {
  std::string line = fmt::format("complete -c aggregate-power -n '{}'", condition);
  if (option.is_positional()) {
    return line + (value_kind(option) == ValueKind::file
                       ? " -F\n"
                       : fmt::format(" -a {}\n", fish_quoted(joined(option.words))));
  }
  if (const std::string letter = short_letter(option); !letter.empty()) line += " -s " + letter;
  line += " -l " + option.long_name().substr(2);
  if (option.takes_value()) line += fish_value(option);
  return fmt::format("{} -d {}\n", line, fish_quoted(brief(option.help)));
}

}  // namespace

std::string bash_completion() {
  std::string cases;
  std::string names;
  const std::vector<Command> commands = all_commands();
  for (const Command& command : commands) {
    const std::string name = last_word(command.name);
    names += name + " ";
    cases += bash_cases(command, name);
  }
  cases += bash_cases(make_command(*find_command("patch")), "*");
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

std::string zsh_completion() {
  std::string names;
  std::string cases;
  const std::vector<Command> commands = all_commands();
  for (const Command& command : commands) {
    const std::string name = last_word(command.name);
    names += fmt::format("\n    {}", shell_quoted(name + ":" + brief(command.sentence)));
    cases += zsh_case(command, name, "      shift words; (( CURRENT-- ))\n");
  }
  cases += zsh_case(make_command(*find_command("patch")), "*", "");
  return fmt::format(
      "#compdef aggregate-power\n"
      "# zsh completion for aggregate-power, made from its options\n"
      "_aggregate_power() {{\n"
      "  local -a commands\n"
      "  commands=({})\n"
      "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
      "    _describe -t commands command commands\n"
      "    return\n"
      "  fi\n"
      "  case $words[2] in\n{}"
      "  esac\n"
      "}}\n"
      "_aggregate_power \"$@\"\n",
      names, cases);
}

std::string fish_completion() {
  std::string lines;
  const std::vector<Command> commands = all_commands();
  for (const Command& command : commands) {
    lines += fmt::format("complete -c aggregate-power -n '__aggregate_power_in' -a {} -d {}\n",
                         last_word(command.name), fish_quoted(brief(command.sentence)));
  }
  for (const Command& command : commands) {
    const std::string name = last_word(command.name);
    const std::string condition = fmt::format("__aggregate_power_in {}", name);
    for (const Option& option : command.options.all()) lines += fish_line(option, condition);
  }
  return fmt::format(
      "# fish completion for aggregate-power, made from its options\n"
      "# Whether the first word is the given command, or an option, which means patch; nothing: there is none yet.\n"
      "function __aggregate_power_in\n"
      "    set -l words (commandline -opc)\n"
      "    switch \"$argv[1]\"\n"
      "        case ''\n"
      "            test (count $words) -eq 1\n"
      "        case patch\n"
      "            test (count $words) -eq 1; or string match -q -r -- '^(-.*|patch)$' \"$words[2]\"\n"
      "        case '*'\n"
      "            test \"$words[2]\" = \"$argv[1]\"\n"
      "    end\n"
      "end\n"
      "complete -c aggregate-power -f\n{}",
      lines);
}

}  // namespace aggregate_power
