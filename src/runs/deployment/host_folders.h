// A folder with one folder for each host.
#pragma once

#include <string>
#include <vector>

namespace aggregate_power {

// A host's recording.
struct HostFile {
  std::string host;
  std::string csv;    // normal path
  std::string fault;  // why there is none, beyond `csv` not existing
};

// The hosts whose folders are in `nodes`, sorted by name; names that begin with a dot are skipped.
// The recording is gpu_metrics.csv, possibly compressed; if that is missing, the only CSV that is
// neither an energy snapshot nor an identity file. Throws FileError.
std::vector<HostFile> hosts_in(const std::string& nodes);

}  // namespace aggregate_power
