// Why the work cannot go on.
#pragma once

#include <stdexcept>
#include <string>

namespace aggregate_power {

// Wrong use, or something that the run itself cannot record. Caught by the command, or in main.
// `what()` is ready to print: where, what, and what to do. What goes wrong with a file is a
// FileError (base/file.h), in a CSV a CsvError, in JSON a JsonError: those are mostly recorded.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace aggregate_power
