// The order of configurations, and what tells them apart.
#pragma once

#include <string>
#include <vector>

#include "store/catalogue/published_runs.h"

namespace aggregate_power {

// Numbers by their value: "conc=8" is before "conc=16".
struct ConfigurationLess {
  bool operator()(const Configuration& a, const Configuration& b) const;
};

// The members that all of several configurations have with the same value. Empty for a single one.
Configuration shared_members(const std::vector<Configuration>& configurations);

// The members that are not shared, in the order in which they appear; all of a single one.
std::vector<std::string> distinguishing_keys(const std::vector<Configuration>& configurations);
// A configuration by such members: "tp=8 conc=16". One that lacks a member of others has "tp=?".
std::string distinguishing_text(const Configuration& configuration,
                                const std::vector<std::string>& keys);

}  // namespace aggregate_power
