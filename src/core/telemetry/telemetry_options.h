// What every recorder's row takes, and what it says of itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "aggregate_power/column_names.h"
#include "base/text/time_zone.h"
#include "core/telemetry/gpu_identity.h"

namespace aggregate_power {

// How the user wants a recording to be read.
// What a file is that is not read.
struct ForeignFormat {
  std::string sentence;  // what it is, and what to do: "this is JSON: ..."; lower case
  bool is_binary = false;
  bool may_be_result = false;  // rather a load generator's result than telemetry
};

// The format of a file that begins so; nullopt: none that is known.
using NameFormat = std::optional<ForeignFormat> (*)(std::string_view head);

struct TelemetryOptions {
  std::optional<Zone> zone = {};  // for stamps without an offset; nullopt: the recorder's habit or
                                  // the process's zone
  ColumnNames columns = {};
  GpuSelection gpus = {};  // rows of others are left out; their devices are still named
  std::string path = {};   // of the file, for a device that only its name states; may be empty
  // Reads the energy counters of the GPUs instead of their power: the watts of each reading are
  // joules, if Telemetry::counter() says in the end that there is one; else they mean nothing.
  bool counters = false;
  NameFormat name_format = nullptr;  // for what is said of a file that cannot be read
};

// A schema as the help page shows it; code in backticks.
struct SchemaRow {
  std::string_view name;
  std::string_view power;
  std::string_view devices;
};

}  // namespace aggregate_power
