// The forms of files of node sensors: one row for each.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/text/timestamp.h"
#include "recorders/node_sensors.h"

namespace aggregate_power {

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
};

extern const WitnessForm kSacctForm;
extern const WitnessForm kDcmiForm;
extern const WitnessForm kPmCountersForm;
extern const WitnessForm kSensorFilesForm;
extern const WitnessForm kSensorTableForm;

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

// The witness of this name and kind, which is added if there is none. Throws Error if there are too
// many.
NodeWitness& witness_named(NodeWitnesses& found, std::string_view name, NodeWitness::Kind kind);

// The part of the machine that a RAPL domain such as "package-0" is.
std::string scope_of_rapl(std::string_view domain);
// Where the counter of a RAPL domain wraps, unless the recording says it.
void assume_rapl_wraps(NodeWitness& witness);

}  // namespace aggregate_power
