// Reads what sensors beside the GPUs recorded of a node, in any of the forms below.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/node_witness.h"
#include "base/text/time_zone.h"

namespace aggregate_power {

struct NodeWitnesses {
  std::vector<NodeWitness> witnesses;  // at least one; no two of one kind have the same name
  std::vector<std::string> warnings;
  bool has_several_hosts = false;  // which of them has the GPUs is not known
  // While the file is read, the places of the witnesses of each kind, by name.
  std::array<std::map<std::string, std::size_t, std::less<>>, 3> places = {};
};

// Forms, recognized by the content:
//   sacct        `sacct -P` with JobID, Start, End and ConsumedEnergyRaw
//   ipmi-dcmi    `ipmitool dcmi power reading`, again and again
//   pm_counters  what was read of /sys/cray/pm_counters, a file or a folder with one for each
//   counter sysfs        `grep .` of powercap and hwmon files, each time after a line with the time
//   csv          a table with a time and columns of RAPL domains or of a node's power
// `zone` is that of times without an offset, which are refused without one. Throws FileError if a
// file cannot be opened, and Error for what is none of these or has no reading.
NodeWitnesses read_node_witnesses(const std::string& path, const std::optional<Zone>& zone);

// The same for a text. `path` is for messages and for names.
NodeWitnesses read_node_witnesses(std::string_view text, const std::string& path,
                                  const std::optional<Zone>& zone);

// Whether a file that begins with `head` is one of these forms, except for a table, which may be
// anything.
bool is_sensor_log(std::string_view head);

// Whether it is a table with a counter of a RAPL domain, such as package-0.
bool is_rapl_table(std::string_view head);

}  // namespace aggregate_power
