// The directory of a zip as it is written, for callers that must judge its names themselves:
// libarchive turns some backslashes into slashes, and takes other names from elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/files/file.h"

namespace aggregate_power {

struct ZipEntry {
  std::string name;  // byte for byte
  bool is_utf8 = false;
  std::uint32_t mode = 0;   // of Unix, as in stat(); 0: the zip does not say
  std::uint64_t bytes = 0;  // when unpacked
};

// In the order of the directory. Throws FileError for a file that is not a whole zip, or whose
// directory is larger than 64 MiB.
std::vector<ZipEntry> zip_directory(const OpenedFile& file);

}  // namespace aggregate_power
