// Why the work cannot go on.
#pragma once

#include <stdexcept>
#include <string>

namespace aggregate_power {

// Caught in main (and once per run where many runs are done). `what()` is ready to print: where,
// what, and what to do.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace aggregate_power
