// Prints to the standard streams.
#include "commands/output.h"

#include <tuple>

#include <fmt/format.h>

namespace aggregate_power {

void print(std::FILE* stream, const std::string& text) {
  std::ignore = std::fwrite(text.data(), 1, text.size(), stream);
}

void print_message(const std::string& line) {
  print(stderr, fmt::format("aggregate-power: {}\n", line));
}

int report(bool require_power, const std::function<CommandOutput()>& job) {
  CommandOutput output;
  try {
    output = job();
  } catch (const std::exception& error) {
    output.err.push_back(fmt::format("error: {}", error.what()));
    output.exit_status = require_power ? 1 : 0;
  }
  for (const std::string& line : output.err) print_message(line);
  for (const std::string& line : output.out) {
    print(stdout, fmt::format("aggregate-power: {}\n", line));
  }
  return output.exit_status;
}

}  // namespace aggregate_power
