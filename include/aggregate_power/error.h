// The error that ends a command.
#pragma once

#include <stdexcept>
#include <string>

namespace aggregate_power {

// Wrong use, or a failure that the run itself cannot record. Caught by the command, or in main.
// `what()` is ready to print: where, what, and what to do. Problems with a file are a FileError
// (base/files/file.h), in a CSV a CsvError, in JSON a JsonError: those are usually recorded.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace aggregate_power
