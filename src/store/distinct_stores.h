// Determines the stores to walk from the ones named, so that each run is found exactly once.
#pragma once

#include <string>
#include <vector>

namespace aggregate_power {

struct NamedStore {
  std::string named;
  std::string real;  // the path it leads to
};

// The stores in their order, without second names of a store and without stores that the walk of an
// outer one reaches. Throws FileError for a missing one.
std::vector<NamedStore> distinct_stores(const std::vector<std::string>& names);

}  // namespace aggregate_power
