// Parses command lines by the rules of Python's argparse.
#include "commands/options/command.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files/file.h"
#include "base/files/nameless_file.h"
#include "base/text/decimal.h"
#include "base/text/suggest.h"
#include "commands/commands.h"
#include "commands/help_pages/help_pages.h"
#include "commands/options/terminal.h"
#include "store/catalogue/run_record.h"

namespace aggregate_power {
namespace {

// The long names of the options that every command has, or of the others.
std::vector<std::string> long_names(const Options& options, bool of_every_command) {
  std::vector<std::string> names;
  for (const Option& option : options.all()) {
    if (option.is_positional() || option.is_of_every_command != of_every_command) continue;
    names.push_back(option.long_name());
  }
  return names;
}

bool may_abbreviate(const Command& command, const std::string& name) {
  return !std::ranges::find(command.options.all(), name, &Option::long_name)->is_whole_word;
}

// ": an option of measure, plan": the commands that have this whole name; empty if none has.
std::string elsewhere(const std::string& word) {
  std::vector<std::string_view> names;
  for (const CommandRow& row : command_rows()) {
    const Command command = make_command(row);
    if (std::ranges::any_of(command.options.all(), [&](const Option& option) {
          return option.long_name() == word || option.former == word;
        }))
      names.push_back(row.name);
  }
  return names.empty() ? std::string() : fmt::format(": an option of {}", fmt::join(names, ", "));
}

UsageError unknown_option(const Command& command, const std::string& word) {
  for (const auto& [elsewhere, here] : command.called_here) {
    if (word != elsewhere) continue;
    return UsageError(fmt::format("unknown option '{}': did you mean {}?", word, here));
  }
  std::vector<std::string> names = long_names(command.options, false);
  std::ranges::copy(long_names(command.options, true), std::back_inserter(names));
  const std::string near = did_you_mean(word, names);
  return UsageError(
      fmt::format("unknown option '{}'{}", word, near.empty() ? elsewhere(word) : near));
}

// The option that `word` names or abbreviates.
const Option& option_of(const Command& command, const std::string& word) {
  const std::vector<std::string> names = long_names(command.options, false);
  const std::vector<std::string> others = long_names(command.options, true);
  const auto named = [&](const std::string& name) -> const Option& {
    return *std::ranges::find(command.options.all(), name, &Option::long_name);
  };
  for (const auto* const among : {&names, &others}) {
    if (std::ranges::find(*among, word) != among->end()) return named(word);
  }
  for (const Option& option : command.options.all()) {
    if (option.former == word) return option;
  }
  const auto matching = [&](const std::vector<std::string>& among) {
    std::vector<std::string> found;
    std::ranges::copy_if(among, std::back_inserter(found), [&](const std::string& name) {
      return name.starts_with(word) && may_abbreviate(command, name);
    });
    return found;
  };
  const std::vector<std::string> preferred = matching(command.first_choice);
  if (preferred.size() == 1) return named(preferred[0]);
  std::vector<std::string> found = matching(names);
  if (found.empty()) found = matching(others);
  if (found.empty()) throw unknown_option(command, word);
  // Only its whole name: --out of another command is not --output-tokens.
  const bool is_elsewhere = !elsewhere(word).empty();
  if (found.size() == 1 && !is_elsewhere) return named(found[0]);
  throw UsageError(fmt::format("ambiguous option '{}': {}it could be {}", word,
                               is_elsewhere ? "another command has it, and here " : "",
                               fmt::join(found, ", ")));
}

// Whether `word`, such as "-h", is an option's short name.
bool has_short(const Command& command, const std::string& word) {
  return std::ranges::any_of(command.options.all(), [&](const Option& option) {
    return option.name.starts_with(word + ",");
  });
}

// "-" is a value, and so are numbers, offsets such as -07:00, and words that contain blanks.
bool looks_like_an_option(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return false;
  const bool is_number = (word[1] >= '0' && word[1] <= '9') || word[1] == '.';
  return !is_number && word.find(' ') == std::string::npos;
}

// The arguments with full option names and each value in a word of its own.
std::vector<std::string> spell_out(const Command& command, const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      result.insert(result.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    if (looks_like_an_option(word) && !word.starts_with("--") && !has_short(command, word)) {
      throw unknown_option(command, word);
    }
    if (!word.starts_with("--")) {
      result.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const Option& option = option_of(command, word.substr(0, equals));
    const std::string name = option.long_name();
    result.push_back(name);
    if (!option.takes_value()) {
      if (equals != std::string::npos) throw UsageError(name + ": takes no value");
    } else if (equals != std::string::npos) {
      result.push_back(word.substr(equals + 1));
    } else if (i + 1 < words.size() && !looks_like_an_option(words[i + 1])) {
      result.push_back(words[++i]);
      while (option.gathers_words && i + 1 < words.size() && !looks_like_an_option(words[i + 1])) {
        result.insert(result.end(), {name, words[++i]});
      }
    } else {
      throw UsageError(name + ": expected a value");
    }
  }
  return result;
}

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// The path, or what is there of it: a typing error is explained by the names next to it, and a path
// may lead into an archive.
std::string nearest_there(std::filesystem::path path) {
  while (!is_there(path) && path.has_relative_path()) path = path.parent_path();
  return path.empty() ? "." : path.string();
}

void add_input(const std::string& path, Reach& reach) {
  const std::string there = nearest_there(path);
  reach.reads.insert(reach.reads.end(), {there, root_of_store(there)});
}

// Adds the places that the options name. A number, or "-", is no path.
void add_named_places(const Options& options, Reach& reach) {
  for (const Option& option : options.all()) {
    if (!option.names_path()) continue;
    for (const std::string& path : option.given) {
      if (path == "-" || (!is_there(path) && python_float(path))) continue;
      // A file is a StreamedFile, or is opened by its command.
      const bool is_open = option.is_output && option.value_name != "FOLDER" &&
                           (!is_there(path) || is_regular_file(path));
      if (option.is_output && !is_open) reach.writes.push_back(path);
      if (!option.is_output) add_input(path, reach);
    }
  }
}

void confine_to_named_places(const Command& command) {
  if (!command.reach || command.options.is_given("--no-sandbox")) return;
  Reach reach;
  command.reach(reach);
  add_named_places(command.options, reach);
  make_own_folder();
  reach.writes.push_back(folder_for_temporaries());
  std::ignore = confine(reach);  // what the kernel has of it; 'doctor' shows that
}

}  // namespace

std::string version_line() { return "aggregate-power " AGGREGATE_POWER_VERSION "\n"; }

int usage_fault(const std::string& name, const std::string& message) {
  print_message(
      fmt::format("error: {}{} see '{} --help'", message, message.ends_with('?') ? "" : ";", name));
  return 2;
}

bool takes_files(Command command, const std::vector<std::string>& arguments) {
  try {
    if (command.options.parse(spell_out(command, arguments)) != Options::Outcome::values)
      return false;
  } catch (const std::runtime_error&) {
    return false;
  }
  return std::ranges::any_of(command.options.all(), [](const Option& option) {
    return option.is_positional() && !option.given.empty();
  });
}

int run_command(Command command, const std::vector<std::string>& arguments,
                const std::function<int(const std::string&)>& explain_fault) {
  try {
    switch (command.options.parse(spell_out(command, arguments))) {
      case Options::Outcome::help:
        print(stdout, help_of(command, text_width()));
        return 0;
      case Options::Outcome::help_all:
        print(stdout, help_with_all_options(command, text_width()));
        return 0;
      case Options::Outcome::version:
        print(stdout, version_line());
        return 0;
      default:
        break;
    }
  } catch (const UsageError& error) {
    return explain_fault ? explain_fault(error.what()) : usage_fault(command.name, error.what());
  }
  if (command.options.is_quiet()) be_quiet();
  for (const Option& option : command.options.all()) {
    if (!option.doubt.empty() && option.given.empty()) print_note("warning: " + option.doubt);
  }
  if (command.settle) command.settle(command.options);
  command.options.take_late_values();
  confine_to_named_places(command);
  return command.run();
}

}  // namespace aggregate_power
