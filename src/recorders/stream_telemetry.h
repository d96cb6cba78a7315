// Opens recordings in formats other than CSV tables: what they have in common.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "aggregate_power/provenance.h"
#include "base/files/byte_source.h"
#include "recorders/reading_sink.h"
#include "recorders/telemetry.h"
#include "recorders/telemetry_options.h"

namespace aggregate_power {

// Reads all of a recording into the sink. May throw TelemetryError, JsonError, and what the source
// throws.
using ReadInto = std::function<void(ByteSource& source, ReadingSink& sink)>;

// What a format says of a recording that begins with a text of at most 64 KiB.
using FactsOf = std::function<SeriesFacts(std::string_view head)>;

// A recording that `read` reads. It is also called with the beginning alone, to learn the first
// stamp, and that may be cut off anywhere. A last record that is cut off is counted as a torn tail
// if `has_lines`. `has_sensors` as in
// TelemetryHead.
Telemetry open_stream(std::unique_ptr<ByteSource> source, const TelemetryOptions& options,
                      const FactsOf& facts_of, ReadInto read, bool has_lines,
                      bool has_sensors = false);

// The facts of a format whose names are fixed: columns, unit, what `inspect` shows, and the reasons
// against a recording that lacks one. nullopt: there is none.
struct SeriesNames {
  std::string schema;
  std::optional<std::string> timestamp = {};
  std::optional<std::string> power = {};
  std::optional<std::string> device = {};
  PowerUnit::Size unit = PowerUnit::Size::watt;
  std::string power_why = {};  // for people: "the format's own", "named by --power-column"
};
SeriesFacts facts_of_names(const SeriesNames& names, const TelemetryOptions& options);

}  // namespace aggregate_power
