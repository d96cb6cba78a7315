// Opens files and notes what they were.
#include "store/pair_inputs.h"

#include "base/files/hash.h"

namespace aggregate_power {

OpenedFile PairInputs::open(const StorePath& place) {
  OpenedFile file = place.tree->open(place.path);
  // A file in an archive is as old as the archive.
  opened.emplace_back(path_on_disk(place), place.tree->is_archive()
                                               ? FileFacts{0, file.facts().modified_ns}
                                               : file.facts());
  return file;
}

OpenedFile PairInputs::open_and_hash(const StorePath& place, const std::string& role,
                                     const FileKind& kind) {
  OpenedFile file = open(place);
  if (file.size() > kind.most_bytes) throw FileError(file.name(), too_large(kind));
  files.push_back({role, file.size(), hash_of(file)});
  return file;
}

}  // namespace aggregate_power
