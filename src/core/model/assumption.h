// What was assumed where no file says it: the words of `assumptions`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/model/explained_word.h"

namespace aggregate_power {

std::span<const ExplainedWord> assumption_words();

inline std::string assumption(std::string_view code) { return word_of(assumption_words(), code); }

}  // namespace aggregate_power
