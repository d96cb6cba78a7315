// Numbers of 64 levels as a text of one character each, for what a page holds by the thousand.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace aggregate_power {

inline constexpr int kCompactLevels = 64;
inline constexpr std::string_view kCompactCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
// Stands for a number that is missing: that is no level.
inline constexpr char kCompactMissing = '.';

// `levels` are limited to 0 to 63.
std::string compact_numbers(std::span<const std::optional<int>> levels);
// What a character stands for; nullopt: a missing number, or not one of ours.
std::optional<int> compact_level(char character);

}  // namespace aggregate_power
