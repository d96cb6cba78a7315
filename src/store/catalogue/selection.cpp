// Matches runs against the glob and the shard.
#include "store/catalogue/selection.h"

#include <fnmatch.h>

#include <string_view>

#include "base/files/hash.h"
#include "store/catalogue/artifact_names.h"

namespace aggregate_power {

bool Selection::has_artifact(const std::string& artifact) const {
  const std::string_view label = recorder_label(artifact);
  return text_hash(label.empty() ? artifact : label) % shards == shard;
}

bool Selection::has_run(const std::string& name, const std::string& artifact) const {
  if (!has_artifact(artifact)) return false;
  return only.empty() || ::fnmatch(only.c_str(), name.c_str(), 0) == 0;
}

}  // namespace aggregate_power
