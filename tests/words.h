// Lists of short texts, written as one text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text/characters.h"

namespace aggregate_power::test {

// The texts between the bars of "a|b c||d".
inline std::vector<std::string> between_bars(std::string_view text) {
  const std::vector<std::string_view> texts = separated(text, '|');
  return {texts.begin(), texts.end()};
}

}  // namespace aggregate_power::test
