// Names of zone witnesses and levels.
#include "aggregate_power/zone_report.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include <fmt/format.h>

#include "aggregate_power/error.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kWitnesses[] = {"stamps", "zone_file", "option",
                                           "edges",  "consensus", "file_time"};
constexpr std::string_view kLevels[] = {"stated", "two_witnesses", "one_witness"};

std::size_t index_of(std::string_view name, std::span<const std::string_view> names) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw Error(fmt::format("unknown word '{}'", name));
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

std::string_view name_of(ZoneWitness witness) {
  return kWitnesses[static_cast<std::size_t>(witness)];
}
std::string_view name_of(ZoneLevel level) { return kLevels[static_cast<std::size_t>(level)]; }

ZoneWitness witness_of(std::string_view name) {
  return static_cast<ZoneWitness>(index_of(name, kWitnesses));
}
ZoneLevel level_of(std::string_view name) {
  return static_cast<ZoneLevel>(index_of(name, kLevels));
}

}  // namespace aggregate_power
