// The files of a stored package: everything that a verdict on it depends on.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/record_facts.h"
#include "packages/srt_slurm/windows.h"
#include "store/catalogue/multinode_logs.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

// In the package; names the producer that made it.
inline constexpr const char* kPinFile = "power-producer-sha.txt";

// Files by role.
using PackageFiles = std::vector<std::pair<std::string, StorePath>>;

// All of these require logs with a package.

PackagePlace package_place(const MultinodeLogs& package);

// Always in the same order. Throws FileError if a folder cannot be listed.
PackageFiles package_files(const MultinodeLogs& package, const StorePath& benchmark);

// Hashes of what no file contains: the names of everything in the windows folder, and the files
// outside the logs root that links lead to, which count as missing. May throw FileError.
std::array<InputFile, 2> package_listings(const MultinodeLogs& package, const PackageFiles& files);

// The profile of agents is only informative: its faults do not fail their run.
bool is_records_role(std::string_view role);

}  // namespace aggregate_power
