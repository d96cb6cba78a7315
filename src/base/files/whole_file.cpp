// Reads whole files in pieces.
#include "base/files/whole_file.h"

#include <fmt/format.h>

namespace aggregate_power {

std::string too_large(const FileKind& kind) {
  return fmt::format("is larger than {} MiB, the most that {} may have", kind.most_bytes / kMiB,
                     kind.name);
}

std::string read_whole(ByteSource& source, const std::string& name, const FileKind& kind) {
  std::string bytes = read_up_to(source, kind.most_bytes + 1);
  if (bytes.size() > kind.most_bytes) throw FileError(name, too_large(kind));
  return bytes;
}

std::string read_whole(const OpenedFile& file, const FileKind& kind) {
  if (file.size() > kind.most_bytes) throw FileError(file.name(), too_large(kind));
  return read_whole(*file.source(), file.name(), kind);
}

std::string read_file(const std::string& path, const FileKind& kind) {
  return read_whole(*regular_source(path), path, kind);
}

}  // namespace aggregate_power
