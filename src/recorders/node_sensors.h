// Reads what sensors beside the GPUs recorded of a node, in any of the forms below.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/record_facts.h"
#include "base/text/time_zone.h"
#include "base/text/timestamp.h"

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
//   meters       logs of PTDaemon, MLPerf Training, Redfish, Shelly, Tasmota, SNMP, iDRAC
//   metrics      scrapes of Kepler, node_exporter and ipmi_exporter, or what Prometheus answers
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

// What several meters of one node show together, such as its supplies, at the times of the one with
// the fewest readings; of one kind, at least one. Where one of several powers is dead, which is
// named in `warnings`, the sum has no readings: it shows 0 W and draws power at other times, or
// keeps a value for half a minute or longer while the others change by a quarter.
NodeWitness added_up(std::vector<NodeWitness> parts, std::vector<std::string>& warnings);

// ---- The forms of files of node sensors: one row for each.

// A file's text, and where messages say it is.
struct WitnessText {
  std::string_view text;
  const std::string& path;
  const std::optional<Zone>& zone;
};

struct WitnessForm {
  // Whether a text that begins with `head`, at most 64 KiB, has this form.
  bool (*fits)(std::string_view head);
  // Adds what the text says. Throws Error for what cannot be used.
  void (*read)(const WitnessText& file, NodeWitnesses& found);
  // What tells sensors apart is certain, and stamps may be coarser than readings. In other forms
  // two values at one time are refused.
  bool may_repeat_stamps = false;
};

extern const WitnessForm kPtdForm;
extern const WitnessForm kMllogForm;
extern const WitnessForm kJsonMeterForm;
extern const WitnessForm kPduForm;
extern const WitnessForm kMeterTableForm;
extern const WitnessForm kSacctForm;
extern const WitnessForm kDcmiForm;
extern const WitnessForm kPmCountersForm;
extern const WitnessForm kSensorFilesForm;
extern const WitnessForm kSensorTableForm;
extern const WitnessForm kScrapedMetersForm;
extern const WitnessForm kQueriedMetersForm;

// What a table that begins with `head` has, and what it needs to be kSensorTableForm, to follow a
// message. Empty: it is no table.
std::string what_a_table_needs(std::string_view head);

// Reads the times of one file.
class WitnessTimes {
 public:
  explicit WitnessTimes(const WitnessText& file);
  // Returns nullopt for what is not a time since 1973. Throws Error for one without an offset if no
  // zone was named.
  std::optional<double> unix_s(std::string_view text);

 private:
  const std::string& path_;
  bool has_zone_;
  StampParser stamps_;
};

// A finite number of at least 0. Returns nullopt for anything else.
std::optional<double> sensor_number(std::string_view text);

// Calls `take` for each line, stripped, with its number from 1.
void for_each_witness_line(
    std::string_view text,
    const std::function<void(std::string_view line, std::size_t number)>& take);

// Whether `is_one` holds for some line, stripped.
bool any_witness_line(std::string_view text,
                      const std::function<bool(std::string_view line)>& is_one);
// The text up to its last line break: a number without one after it may be cut off.
std::string_view whole_lines(std::string_view text);

// The witness of this name and kind, which is added if there is none. Throws Error if there are too
// many.
NodeWitness& witness_named(NodeWitnesses& found, std::string_view name, NodeWitness::Kind kind);

// The part of the machine that a RAPL domain such as "package-0" is.
std::string scope_of_rapl(std::string_view domain);
// Where the counter of a RAPL domain wraps, unless the recording says it.
void assume_rapl_wraps(NodeWitness& witness);

}  // namespace aggregate_power
