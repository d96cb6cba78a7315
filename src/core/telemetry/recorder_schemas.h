// The recorders whose columns are known by name. A new one is a row of the table.
#pragma once

#include <string>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/text/pattern.h"

namespace aggregate_power {

// A way to name a device. An index repeats on every host, so it is combined with the host's name if
// there is such a column; a UUID is unique by itself.
struct DevicePattern {
  Pattern pattern;
  bool with_host;
};

struct Schema {
  const char* name;
  const char* power_words;  // describes the two lists below, for the help page
  const char* device_words;
  std::vector<Pattern> required = {};      // all must be present, and one of `power`
  std::vector<Pattern> power = {};         // the first one present wins
  std::vector<DevicePattern> device = {};  // the first one present wins; empty: contract.md part 0
                                           // row 14
  bool has_device = true;
  bool naive_is_utc = false;
  bool power_may_move = false;  // in some rows another one of `power` may hold the number
  bool has_nanoseconds = false;
  PowerUnit::Size unit = PowerUnit::Size::watt;  // of numbers without one
  // Whether the first row is as this recorder writes it, where names do not tell enough.
  bool (*fits_row)(const std::vector<std::string>& cells) = nullptr;
  const char* collector = "unknown";  // this and the rest: Sensor's
  const char* scope = "unknown";
  const char* averaging = "unknown";
  const char* only_device = "";  // the name of the device, if there is only one
  const char* warning = "";      // what a reader of the energy should know
};

// In order: the first that fits a header is its schema. Patterns match a whole name in any case,
// trimmed and without its unit.
const std::vector<Schema>& schemas();

}  // namespace aggregate_power
