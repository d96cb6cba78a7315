// The files that one pairing reads, for its record and its plan.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/provenance.h"
#include "base/files/file.h"
#include "base/files/whole_file.h"
#include "store/store_path.h"

namespace aggregate_power {

struct PairInputs {
  std::vector<InputFile> files;                           // by role, with their hashes
  std::vector<std::pair<std::string, FileFacts>> opened;  // on disk, as they were then

  // These throw FileError. The second one also hashes the file, which must not be larger than its
  // kind may be.
  OpenedFile open(const StorePath& place);
  OpenedFile open_and_hash(const StorePath& place, const std::string& role,
                           const FileKind& kind = kContextFile);
};

}  // namespace aggregate_power
