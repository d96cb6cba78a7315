// Compares files by their identity, whatever they are called.
#include "runs/repeated_recordings.h"

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"

namespace aggregate_power {

void refuse_repeated_recordings(std::span<const std::string> paths) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool is_same =
          paths[i] == paths[j] || (is_regular_file(paths[i]) && is_regular_file(paths[j]) &&
                                   file_identity(paths[i]) == file_identity(paths[j]));
      if (!is_same) continue;
      throw Error(fmt::format("{} and {} are one recording: give it once", printable_path(paths[j]),
                              printable_path(paths[i])));
    }
  }
}

}  // namespace aggregate_power
