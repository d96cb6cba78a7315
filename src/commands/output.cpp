// Prints to the standard streams.
#include "commands/output.h"

#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "commands/terminal.h"

namespace aggregate_power {
namespace {

bool quiet = false;

struct Colour {
  std::string_view word;  // at the beginning of a line
  std::string_view code;
};
constexpr Colour kColours[] = {
    {"error:", "\x1B[31m"},            // red
    {"power not valid:", "\x1B[31m"},  // red
    {"warning:", "\x1B[33m"},          // yellow
};

std::string coloured(const std::string& line) {
  for (const Colour& colour : kColours) {
    if (line.starts_with(colour.word)) {
      return fmt::format("{}{}\x1B[0m{}", colour.code, colour.word,
                         line.substr(colour.word.size()));
    }
  }
  return line;
}

}  // namespace

void be_quiet() { quiet = true; }

bool is_quiet() { return quiet; }

void print(std::FILE* stream, const std::string& text) {
  std::ignore = std::fwrite(text.data(), 1, text.size(), stream);
}

void print_result(const std::string& text) {
  if (!quiet) print(stdout, text);
}

void print_message(const std::string& line) {
  print(stderr, fmt::format("aggregate-power: {}\n", has_colour(stderr) ? coloured(line) : line));
}

void print_note(const std::string& line) {
  if (!quiet) print_message(line);
}

int report(bool require_power, const std::function<CommandOutput()>& job) {
  CommandOutput output;
  try {
    output = job();
  } catch (const std::exception& error) {
    output.err.push_back(fmt::format("error: {}", error.what()));
    output.exit_status = require_power ? 1 : 0;
  }
  for (const std::string& line : output.original_err) print(stderr, line + '\n');
  for (const std::string& line : output.warnings) print_note(line);
  for (const std::string& line : output.err) print_message(line);
  if (!output.json.empty()) print(stdout, output.json);
  for (const std::string& line : output.out) {
    print_result(fmt::format("aggregate-power: {}\n", line));
  }
  return output.exit_status;
}

}  // namespace aggregate_power
