// Asks the environment and the terminal.
#include "commands/options/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text/characters.h"

namespace aggregate_power {
namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

}  // namespace

std::size_t terminal_columns(std::FILE* stream) {
  const std::string_view given = variable("COLUMNS");
  std::size_t wanted = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), wanted);
  if (error == std::errc() && end == given.data() + given.size() && wanted > 0) return wanted;
  constexpr std::size_t kUsual = 80;
  winsize size{};
  return ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                              : kUsual;
}

std::size_t text_width() {
  constexpr std::size_t kLeast = 40;
  constexpr std::size_t kMost = 100;
  return std::clamp(terminal_columns(stdout), kLeast, kMost);
}

bool is_utf8_locale() {
  std::string_view locale = variable("LC_ALL");
  if (locale.empty()) locale = variable("LC_CTYPE");
  if (locale.empty()) locale = variable("LANG");
  const std::string lower = lower_ascii(locale);
  return lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
}

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) == 1; }

bool has_colour(std::FILE* stream) {
  return is_terminal(stream) && variable("NO_COLOR").empty() && !variable("TERM").empty() &&
         variable("TERM") != "dumb";
}

}  // namespace aggregate_power
