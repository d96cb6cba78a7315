// The files of a stored package: all that a verdict on it depends on.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/provenance.h"
#include "packages/windows.h"
#include "store/multinode_logs.h"
#include "store/store_path.h"

namespace aggregate_power {

// In the package; says which producer made it.
inline constexpr const char* kPinFile = "power-producer-sha.txt";

// Each by its role.
using PackageFiles = std::vector<std::pair<std::string, StorePath>>;

// All of these are given logs with a package.

PackagePlace package_place(const MultinodeLogs& package);

// In one order. Throws FileError when a folder cannot be listed.
PackageFiles package_files(const MultinodeLogs& package, const StorePath& benchmark);

// What no file contains, hashed: the names in the folder of windows, whatever they are; the files
// that links lead to outside of the logs root, which count as missing. May throw FileError.
std::array<InputFile, 2> package_listings(const MultinodeLogs& package, const PackageFiles& files);

// The profile of agents only informs: what is wrong with it does not fail their run.
bool is_records_role(std::string_view role);

}  // namespace aggregate_power
