// Stores as they were named to those that are to be walked, so that each run is met once.
#pragma once

#include <string>
#include <vector>

namespace aggregate_power {

struct StorePath {
  std::string named;
  std::string real;  // where that leads
};

// In their order, without those that are another one by a second name or that another one's walk
// comes by. All of them exist. Throws FileError.
std::vector<StorePath> distinct_stores(const std::vector<std::string>& names);

}  // namespace aggregate_power
