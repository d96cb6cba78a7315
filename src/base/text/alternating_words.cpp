// Looks at the words of rows that follow each other.
#include "base/text/alternating_words.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "base/text/characters.h"
#include "base/text/decimal.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostWords = 16;
constexpr std::size_t kFewestPairs = 3;

std::string_view cell_in(const std::vector<std::string>& row, std::size_t index) {
  return index < row.size() ? strip(row[index]) : std::string_view();
}

std::string thing_of(const std::vector<std::string>& row, const MeasuredColumns& columns) {
  std::string thing;
  for (const std::size_t column : columns.thing) (thing += '\n') += cell_in(row, column);
  return thing;
}

// Not a measured value such as "98 %".
bool is_unmeasured(std::string_view cell) {
  return !cell.starts_with("0x") && !python_float(cell.substr(0, cell.find(' ')));
}

// The rows of one thing, by the words of one column.
struct WordTurns {
  std::string_view last_word = {};
  std::string_view last_value = {};
  std::string_view last_time = {};
  std::set<std::string_view> words = {};
};

// What rows that follow each other have.
struct Pairs {
  std::size_t all = 0;
  std::size_t same_word = 0;
  std::size_t turns = 0;  // to a word that was there before, or at the same time
  std::size_t other_value = 0;

  bool are_turns() const {
    return turns >= kFewestPairs && 20 * same_word <= all && 5 * turns >= 3 * all &&
           2 * other_value >= all;
  }
};

// Adds a row, and what it has with the one before.
void note_row(std::string_view time, std::string_view value, std::string_view word,
              WordTurns& thing, Pairs& pairs) {
  if (!thing.words.empty()) {
    ++pairs.all;
    const bool is_same = word == thing.last_word;
    pairs.same_word += is_same ? 1 : 0;
    pairs.turns += !is_same && (time == thing.last_time || thing.words.contains(word)) ? 1 : 0;
    pairs.other_value += value != thing.last_value ? 1 : 0;
  }
  thing.words.insert(word);
  thing.last_word = word;
  thing.last_value = value;
  thing.last_time = time;
}

std::optional<AlternatingWords> words_of_column(std::span<const std::vector<std::string>> rows,
                                                std::size_t column,
                                                const MeasuredColumns& columns) {
  std::map<std::string, WordTurns> things;
  std::set<std::string_view> words;
  Pairs pairs;
  for (const auto& row : rows) {
    const std::string_view value = cell_in(row, columns.value);
    const std::string_view word = cell_in(row, column);
    if (value.empty()) continue;
    if (word.empty() || !is_unmeasured(word)) return std::nullopt;
    words.insert(word);
    if (words.size() > kMostWords) return std::nullopt;
    note_row(cell_in(row, columns.time), value, word, things[thing_of(row, columns)], pairs);
  }
  if (words.size() < 2 || !pairs.are_turns()) return std::nullopt;
  return AlternatingWords{column, std::string(*words.begin()),
                          std::string(*std::next(words.begin()))};
}

// ---- Numbers

constexpr std::size_t kFewestTurns = 8;
constexpr std::size_t kSureRounds = 9;
constexpr std::size_t kSureRows = 32;

// What rows of one thing that follow each other have in a column of numbers.
struct NumberPairs {
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> turns = {};
  std::size_t all = 0;
  std::size_t same = 0;
  std::size_t other_value = 0;

  // Most of them, in one order.
  bool go_round() const {
    std::map<std::string_view, std::size_t> most;
    for (const auto& [turn, count] : turns) {
      most[turn.first] = std::max(most[turn.first], count);
    }
    std::size_t in_order = 0;
    for (const auto& [number, count] : most) in_order += count;
    return all >= kFewestTurns && 20 * same <= all && 10 * in_order >= 9 * all &&
           2 * other_value >= all;
  }
};

std::optional<NumbersInTurn> turns_of_column(std::span<const std::vector<std::string>> rows,
                                             std::size_t column, const MeasuredColumns& columns) {
  std::map<std::string, std::pair<std::string_view, std::string_view>> last;  // number and value
  std::set<std::string_view> numbers;
  NumberPairs pairs;
  for (const auto& row : rows) {
    const std::string_view value = cell_in(row, columns.value);
    const std::string_view number = cell_in(row, column);
    if (value.empty()) continue;
    if (!is_ascii_digits(number)) return std::nullopt;
    numbers.insert(number);
    if (numbers.size() > kMostWords) return std::nullopt;
    const auto [thing, is_new] = last.try_emplace(thing_of(row, columns), number, value);
    if (is_new) continue;
    ++pairs.all;
    ++pairs.turns[{thing->second.first, number}];
    pairs.same += number == thing->second.first ? 1 : 0;
    pairs.other_value += value != thing->second.second ? 1 : 0;
    thing->second = {number, value};
  }
  if (numbers.size() < 2 || !pairs.go_round()) return std::nullopt;
  const std::size_t rounds = (pairs.all + last.size()) / (last.size() * numbers.size());
  return NumbersInTurn{
      {column, std::string(*numbers.begin()), std::string(*std::next(numbers.begin()))},
      rounds >= kSureRounds && pairs.all >= kSureRows};
}

// Calls `find` for each column that is not known to be something else.
template <typename Find>
auto first_found(std::size_t column_count, const MeasuredColumns& columns, Find find)
    -> decltype(find(std::size_t{})) {
  for (std::size_t i = 0; i < column_count; ++i) {
    if (i == columns.time || i == columns.value || columns.others.contains(i)) continue;
    if (std::ranges::find(columns.thing, i) != columns.thing.end()) continue;
    if (auto found = find(i)) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<AlternatingWords> alternating_words(std::span<const std::vector<std::string>> rows,
                                                  std::size_t column_count,
                                                  const MeasuredColumns& columns) {
  return first_found(column_count, columns,
                     [&](std::size_t i) { return words_of_column(rows, i, columns); });
}

std::optional<NumbersInTurn> numbers_in_turn(std::span<const std::vector<std::string>> rows,
                                             std::size_t column_count,
                                             const MeasuredColumns& columns) {
  return first_found(column_count, columns,
                     [&](std::size_t i) { return turns_of_column(rows, i, columns); });
}

}  // namespace aggregate_power
