// Finds a column of words or numbers that alternate from row to row of one thing.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace aggregate_power {

// Which columns of a table hold what, by their places.
struct MeasuredColumns {
  std::size_t time = 0;
  std::size_t value = 0;
  std::vector<std::size_t> thing = {};  // that together name what is measured
  std::set<std::size_t> others = {};    // that are not looked at
};

struct AlternatingWords {
  std::size_t column = 0;
  std::string first;
  std::string second;
};

// Rows of two things with one name: in some column the rows of one name go round between a few
// words, which are not measured values, and their values differ. Returns nullopt if there is none.
std::optional<AlternatingWords> alternating_words(std::span<const std::vector<std::string>> rows,
                                                  std::size_t column_count,
                                                  const MeasuredColumns& columns);

// The same of a column of whole numbers, which may be measured: they go round in one order, as
// the numbers of hosts do. `is_sure`: through 9 rounds and 32 rows.
struct NumbersInTurn {
  AlternatingWords numbers;
  bool is_sure = false;
};
std::optional<NumbersInTurn> numbers_in_turn(std::span<const std::vector<std::string>> rows,
                                             std::size_t column_count,
                                             const MeasuredColumns& columns);

}  // namespace aggregate_power
