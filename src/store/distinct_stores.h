// Stores as they were named to those that are to be walked, so that each run is met once.
#pragma once

#include <string>
#include <vector>

namespace aggregate_power {

struct NamedStore {
  std::string named;
  std::string real;  // where that leads
};

// In their order, without second names of a store and without stores that the walk of an outer one
// comes by. Throws FileError for one that is not there.
std::vector<NamedStore> distinct_stores(const std::vector<std::string>& names);

}  // namespace aggregate_power
