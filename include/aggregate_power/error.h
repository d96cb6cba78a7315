// The error that ends a command.
#pragma once

#include <new>
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

// What to print of any exception: its own text, or what to do about a lack of memory.
inline std::string error_text(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) == nullptr) return error.what();
  return "needs more memory than there is; see 'aggregate-power help limits' for what is kept in memory";
}

}  // namespace aggregate_power
