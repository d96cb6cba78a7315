// What ends the reading of one node of a native package.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace aggregate_power {

// Scripts read both of its texts in the record.
struct NativeFault : std::runtime_error {
  NativeFault(std::string class_name, const std::string& detail)
      : std::runtime_error(detail), type(std::move(class_name)) {}

  std::string type;  // the class of the original's exception; `what()` is its text
};

// A value that is not what the format promises: one of the format's codes.
inline NativeFault native_value_fault(const char* code) { return {"ValueError", code}; }

}  // namespace aggregate_power
