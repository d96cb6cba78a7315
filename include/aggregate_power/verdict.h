// The words that judge a run's power curve and its sensors, beside an uncertainty: what each means,
// by a rule that a person can check.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace aggregate_power {

// Half sentences, with code in backticks.
struct VerdictWord {
  std::string_view code;
  std::string_view rule;
  std::string_view remedy;
};

// In the order of the help page: of the load, of the sensor, of faults, of the number.
std::span<const VerdictWord> verdict_words();
const VerdictWord* verdict_word(std::string_view code);  // null: there is no such word

}  // namespace aggregate_power
