// A word of a record that says how or why, for people.
#pragma once

#include <algorithm>
#include <cassert>
#include <span>
#include <string>
#include <string_view>

namespace aggregate_power {

// Half sentences, with code in backticks.
struct ExplainedWord {
  std::string_view code;
  std::string_view rule;    // when, and what it is
  std::string_view remedy;  // what to do
};

// Null: it is none of these.
inline const ExplainedWord* word_in(std::span<const ExplainedWord> words, std::string_view code) {
  const auto found = std::ranges::find(words, code, &ExplainedWord::code);
  return found == words.end() ? nullptr : &*found;
}

// The code itself, which must be one of these.
inline std::string word_of([[maybe_unused]] std::span<const ExplainedWord> words,
                           std::string_view code) {
  assert(word_in(words, code) != nullptr);
  return std::string(code);
}

}  // namespace aggregate_power
