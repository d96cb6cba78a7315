// A folder with one folder for each host.
#pragma once

#include <string>
#include <vector>

namespace aggregate_power {

// A host's recording.
struct HostFile {
  std::string host;
  std::string csv;    // normal path
  std::string fault;  // why there is none, beyond that `csv` is not there
};

// The hosts whose folders lie in `nodes`, sorted by name; names that begin with a dot are none. The
// recording is gpu_metrics.csv, or that compressed; without it the only CSV that is neither an
// energy snapshot nor an identity file. Throws FileError.
std::vector<HostFile> hosts_in(const std::string& nodes);

}  // namespace aggregate_power
