// Compares two files of one JSON object a line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aggregate_power {

struct DifferentLine {
  std::size_t number = 0;  // from 1
  std::string key;         // the first member that differs; empty: one of the lines has none
  std::string expected;
  std::string found;
};

// Of texts that are not the same.
DifferentLine first_difference(std::string_view expected, std::string_view found);

}  // namespace aggregate_power
