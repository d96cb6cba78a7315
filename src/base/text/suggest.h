// The known word that a misspelt one probably means.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace aggregate_power {

// How many characters must be inserted, deleted, replaced or swapped with their neighbour to turn
// `a` into `b`, where no part is edited twice (optimal string alignment). Bytes count as
// characters.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The one of `known` that differs least from `word`, the first of several; letter case and leading
// dashes do not matter. Returns nullopt if more than a third of the shorter word would change.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

// ": did you mean NEAREST?"; empty if nothing is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace aggregate_power
