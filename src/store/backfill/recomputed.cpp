// Outcomes by name, and whether a run's inputs are still the same.
#include "store/backfill/recomputed.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/files/tree.h"

namespace aggregate_power {

std::string_view outcome_name(Outcome outcome) {
  constexpr std::array<std::string_view, kOutcomes> kNames = {
      "patched",      "unchanged", "not_valid", "not_recomputable",
      "not_writable", "ambiguous", "failed"};
  return kNames[static_cast<std::size_t>(outcome)];
}

bool inputs_are_unchanged(const Recomputed& recomputed) {
  return std::ranges::all_of(recomputed.inputs, [](const auto& input) {
    const auto& [path, facts] = input;
    const auto now = disk_tree()->find_file(path);
    return now && now->modified_ns == facts.modified_ns &&
           (facts.bytes == 0 || now->bytes == facts.bytes);
  });
}

}  // namespace aggregate_power
