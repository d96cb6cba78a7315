// Why an object of the record has no numbers: the words of its `reasons`, or `refused`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/model/explained_word.h"

namespace aggregate_power {

std::span<const ExplainedWord> interval_refusals();  // of `uncertainty`
std::span<const ExplainedWord> idle_refusals();      // of `idle`
std::span<const ExplainedWord> request_refusals();   // of `request_energy` and `phase_energy`

inline std::string no_interval(std::string_view code) { return word_of(interval_refusals(), code); }
inline std::string no_idle(std::string_view code) { return word_of(idle_refusals(), code); }
inline std::string no_request_energy(std::string_view code) {
  return word_of(request_refusals(), code);
}

}  // namespace aggregate_power
