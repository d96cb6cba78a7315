// Lists of short texts, written as one text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aggregate_power::test {

// The texts between the bars of "a|b c||d".
inline std::vector<std::string> between_bars(std::string_view text) {
  std::vector<std::string> texts;
  for (std::size_t bar = text.find('|'); bar != text.npos; bar = text.find('|')) {
    texts.emplace_back(text.substr(0, bar));
    text.remove_prefix(bar + 1);
  }
  texts.emplace_back(text);
  return texts;
}

}  // namespace aggregate_power::test
