// Which keys of power a run writes into its aggregate, the row that is published.
// Contract-october.md 9.2.
#pragma once

#include <iterator>
#include <string_view>

namespace aggregate_power {

enum class RowKeys {
  seed,        // the keys of the original script
  row,         // those that the original's collector accepts
  agentx_row,  // the same of a run of agents
  all,         // those for dashboards, too
};
inline constexpr std::string_view kRowKeys[] = {"seed", "row", "agentx-row", "all"};

constexpr std::string_view name(RowKeys keys) { return kRowKeys[static_cast<int>(keys)]; }
// Any other text is the first one's.
constexpr RowKeys row_keys_named(std::string_view text) {
  RowKeys keys = RowKeys::seed;
  for (std::size_t i = 0; i < std::size(kRowKeys); ++i) {
    if (kRowKeys[i] == text) keys = static_cast<RowKeys>(i);
  }
  return keys;
}

// Whether the power of all GPUs at every instant is needed, and their states.
constexpr bool has_percentiles(RowKeys keys) { return keys != RowKeys::seed; }
constexpr bool has_states(RowKeys keys) { return keys == RowKeys::all; }
// Whether the row has reasons and an audit, and keys of CPUs and of salvaged energy.
constexpr bool has_audit(RowKeys keys) { return keys == RowKeys::row || keys == RowKeys::all; }
constexpr bool has_cpus(RowKeys keys) { return keys == RowKeys::seed || keys == RowKeys::all; }
constexpr bool has_salvage(RowKeys keys) { return has_cpus(keys); }

}  // namespace aggregate_power
