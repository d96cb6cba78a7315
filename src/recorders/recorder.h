// The formats that recorders write: one row for each. A new one is a file that opens it, and a row.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "aggregate_power/column_names.h"
#include "base/files/byte_source.h"
#include "base/text/zone.h"
#include "recorders/telemetry.h"

namespace aggregate_power {

// How the user wants a recording to be read.
struct TelemetryOptions {
  std::optional<Zone> zone = {};  // of stamps without an offset; nothing: the recorder's habit or
                                  // the process's zone
  ColumnNames columns = {};
};

// A schema as the help page shows it; code in backticks.
struct SchemaRow {
  std::string_view name;
  std::string_view power;
  std::string_view devices;
};

struct Recorder {
  const char* name;
  // How surely a file that begins with `head` (at most 64 KiB, expanded) is this format, from 0
  // (not at all) to 1.
  double (*fits)(std::string_view head);
  // Reads the beginning. What makes the file unusable is a reason in the facts, never an exception;
  // throws TelemetryError for a beginning that cannot be read, and what `source` throws.
  Telemetry (*open)(std::unique_ptr<ByteSource> source, const TelemetryOptions& options);
  std::vector<SchemaRow> (*schemas)();  // in the order in which they are tried
};

std::span<const Recorder> recorders();

// The recording in `source`, opened by the row that fits best. Throws what that row's open() does.
Telemetry open_telemetry(std::unique_ptr<ByteSource> source, const TelemetryOptions& options = {},
                         std::span<const Recorder> rows = recorders());

}  // namespace aggregate_power
