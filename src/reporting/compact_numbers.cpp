// The 64 characters of links, in their order.
#include "reporting/compact_numbers.h"

#include <algorithm>

namespace aggregate_power {

std::string compact_numbers(std::span<const std::optional<int>> levels) {
  std::string text;
  text.reserve(levels.size());
  for (const std::optional<int>& level : levels) {
    text += level ? kCompactCharacters[static_cast<std::size_t>(
                        std::clamp(*level, 0, kCompactLevels - 1))]
                  : kCompactMissing;
  }
  return text;
}

std::optional<int> compact_level(char character) {
  const std::size_t level = kCompactCharacters.find(character);
  if (level == std::string_view::npos) return std::nullopt;
  return static_cast<int>(level);
}

}  // namespace aggregate_power
