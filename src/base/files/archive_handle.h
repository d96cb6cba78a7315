// A reader of libarchive's, freed when it goes.
#pragma once

#include <archive.h>

#include <memory>

namespace aggregate_power {

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

using ArchiveHandle = std::unique_ptr<archive, FreeArchive>;

}  // namespace aggregate_power
