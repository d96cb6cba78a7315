// The names in a header, as the choice of columns sees them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/text/alternating_words.h"
#include "base/text/pattern.h"

namespace aggregate_power::columns {

// A name as patterns match it: they are in lower case.
std::string for_patterns(std::string_view name);
bool matches(std::string_view name, const Pattern& pattern);

struct Name {
  std::size_t index;        // the last column with this name: the one whose cells count
  std::string full;         // trimmed
  std::string plain;        // without a unit in brackets, for patterns
  std::string no_brackets;  // without brackets at its end, whatever they contain, for patterns
  PowerUnit unit;
  bool repeated = false;
};

// The header's names in order, without duplicates.
std::vector<Name> read_names(std::span<const std::string> header);

using Found = std::vector<const Name*>;
Found find(const std::vector<Name>& names, const Pattern& pattern);
// The column that a user means by `wanted`: exactly, else in any case, else without its unit.
// Returns null if there is none.
const Name* find_named(const std::vector<Name>& names, std::string_view wanted);

// Rows of several hosts or sensors would be averaged: the column, of those that are not read,
// whose words or numbers tell them apart. Returns nullopt if there is none.
std::optional<NumbersInTurn> rows_in_turn(std::span<const std::string> header,
                                          std::span<const std::vector<std::string>> rows,
                                          MeasuredColumns read);
std::string turns_text(const AlternatingWords& turns, std::span<const std::string> header);

// Enough of the names to show what was found.
std::string quoted_list(const Found& found);

}  // namespace aggregate_power::columns
