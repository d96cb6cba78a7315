// The codes by which a recorder of packages says what is wrong with one.
#pragma once

#include <span>
#include <string_view>

#include "core/model/code_descriptions.h"

namespace aggregate_power::packages {

// What the files of a package show, to anybody who reads them.
std::span<const ExplainedWord> disk_codes();
// What only its recorder has seen.
std::span<const ExplainedWord> runtime_codes();

inline bool is_disk_code(std::string_view code) { return word_in(disk_codes(), code) != nullptr; }
inline bool is_runtime_code(std::string_view code) {
  return word_in(runtime_codes(), code) != nullptr;
}

}  // namespace aggregate_power::packages
