// The beginning of a file, by which its format is recognized.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace aggregate_power {

struct ResultHead {
  std::string_view text;
  // The paths of its keys, as far as the text goes: "metadata.version", "benchmarks[].type_",
  // "[].n_gen". At most kMostKeyLevels keys deep.
  std::set<std::string, std::less<>> keys;

  bool has(std::string_view path) const { return keys.contains(path); }
};

inline constexpr int kMostKeyLevels = 4;

// Never fails: a text that is not JSON has the keys of what looks like JSON.
ResultHead result_head(std::string_view text);

}  // namespace aggregate_power
