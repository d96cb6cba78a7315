// Why the work cannot go on: what, in which file, where in it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace aggregate_power {

// Caught in main (and once per run where many runs are done). `what()` is ready to print:
// "FILE:LINE:COLUMN: message", with the parts that are known.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  Error(const std::string& file, const std::string& message)
      : std::runtime_error(fmt::format("{}: {}", file, message)) {}
  Error(const std::string& file, std::uint64_t line, std::uint64_t column,
        const std::string& message)
      : std::runtime_error(fmt::format("{}:{}:{}: {}", file, line, column, message)) {}
};

}  // namespace aggregate_power
