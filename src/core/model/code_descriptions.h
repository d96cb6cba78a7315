// Words that stand in records beside reasons: verdicts, assumptions, and why numbers are missing.
#pragma once

#include <cassert>
#include <span>
#include <string>
#include <string_view>

#include "base/text/lists.h"

namespace aggregate_power {

// ---- What was assumed where no file says it: the words of `assumptions`.

// A word of a record that says how or why, for people.

// Half sentences, with code in backticks.
struct ExplainedWord {
  std::string_view code;
  std::string_view rule;    // when, and what it is
  std::string_view remedy;  // what to do
};

// Null: it is none of these.
inline const ExplainedWord* word_in(std::span<const ExplainedWord> words, std::string_view code) {
  return find_item(words, code, &ExplainedWord::code);
}

// The code itself, which must be one of these.
inline std::string word_of([[maybe_unused]] std::span<const ExplainedWord> words,
                           std::string_view code) {
  assert(word_in(words, code) != nullptr);
  return std::string(code);
}

std::span<const ExplainedWord> assumption_words();

// ---- Where a window, a time zone and an estimate come from.

std::span<const ExplainedWord> window_words();      // the classes: window_source_name()
std::span<const ExplainedWord> zone_words();        // witnesses and levels of a zone
std::span<const ExplainedWord> correction_words();  // of an estimate

inline std::string assumption(std::string_view code) { return word_of(assumption_words(), code); }

// ---- Why an object of the record has no numbers: the words of its `reasons`, or `refused`.

std::span<const ExplainedWord> interval_refusals();  // of `uncertainty`
std::span<const ExplainedWord> idle_refusals();      // of `idle`
std::span<const ExplainedWord> request_refusals();   // of `request_energy` and `phase_energy`

inline std::string no_interval(std::string_view code) { return word_of(interval_refusals(), code); }
inline std::string no_idle(std::string_view code) { return word_of(idle_refusals(), code); }
inline std::string no_request_energy(std::string_view code) {
  return word_of(request_refusals(), code);
}

// ---- The words that judge a run's power curve and its sensors, beside an uncertainty: what each
// means, by a rule that a person can check.

// In the order of the help page: of the load, of the sensor, of faults, of the number.
std::span<const ExplainedWord> verdict_words();

inline std::string verdict_word(std::string_view code) { return word_of(verdict_words(), code); }

}  // namespace aggregate_power
