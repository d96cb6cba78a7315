// Breaks text at blanks.
#include "base/text/wrap.h"

#include <algorithm>
#include <utility>

#include "base/text/characters.h"

namespace aggregate_power {

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string wrapped(std::string_view text, std::string first, std::size_t indent,
                    std::size_t width) {
  std::string result;
  std::string line = std::move(first);
  bool is_empty = true;
  for (const std::string_view word : separated(text)) {
    if (word.empty()) continue;
    if (!is_empty && columns(line) + 1 + columns(word) > width) {
      result += line + "\n";
      line.assign(indent, ' ');
      is_empty = true;
    }
    if (!is_empty) line += ' ';
    line += word;
    is_empty = false;
  }
  return result + line + "\n";
}

std::string wrapped_command(std::string_view command, std::size_t indent, std::size_t width) {
  constexpr std::string_view kContinued = " \\";
  std::string result;
  std::string line(indent, ' ');
  bool is_empty = true;
  while (!command.empty()) {
    // An option with its value, or the words before the first option.
    const std::size_t end = std::min(command.find(" --", 1), command.size());
    const std::string_view part = command.substr(0, end);
    command.remove_prefix(end);
    const std::size_t tail = command.empty() ? 0 : kContinued.size();
    if (!is_empty && columns(line) + columns(part) + tail > width) {
      result += line.append(kContinued) + "\n";
      line.assign(indent + 3, ' ');
    }
    line += part;
    is_empty = false;
  }
  return result + line + "\n";
}

}  // namespace aggregate_power
