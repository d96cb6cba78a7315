// A libarchive reader, freed at the end of its scope.
#pragma once

#include <archive.h>

#include <memory>

namespace aggregate_power {

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

using ArchiveHandle = std::unique_ptr<archive, FreeArchive>;

}  // namespace aggregate_power
