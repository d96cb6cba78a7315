// The names of window sources in records and reports.
#include "aggregate_power/load.h"

#include <array>
#include <cstddef>

namespace aggregate_power {

std::string_view window_source_name(WindowSource source) {
  constexpr std::array<std::string_view, 6> kNames = {"exact",   "tied",      "wrapped",
                                                      "session", "estimated", "given"};
  return kNames.at(static_cast<std::size_t>(source));
}

}  // namespace aggregate_power
