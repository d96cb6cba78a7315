// Formats a command's options and its other texts.
#include "commands/help_pages/help_pages.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

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

}  // namespace aggregate_power
