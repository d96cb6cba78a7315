// The formats that recorders write: one row for each. A new one is a source that defines its row,
// and the name of that row below and in the table.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/system/byte_source.h"
#include "core/telemetry/telemetry.h"

namespace aggregate_power {

struct Recorder {
  const char* name;
  // How certain it is that a file beginning with `head` (at most 64 KiB, expanded) has this format,
  // from 0 (not at all) to 1.
  double (*fits)(std::string_view head);
  // Reads the beginning. If the file is unusable, the facts contain the reason, and nothing is
  // thrown. Throws TelemetryError if the beginning cannot be read, and what `source` throws.
  Telemetry (*open)(std::unique_ptr<ByteSource> source, const TelemetryOptions& options);
  std::vector<SchemaRow> schemas;  // in the order in which they are tried
  bool is_table = false;           // a CSV, which may also be written in another dialect
};

template <typename Forms>
std::vector<SchemaRow> schemas_of(const Forms& forms) {
  return mapped<SchemaRow>(forms, [](const auto& form) { return form.schema; });
}

// Each is in the source that reads its format.
extern const Recorder kCsvRecorder, kAipowermeterRecorder, kZeusTimelineRecorder,
    kPrometheusMatrixRecorder, kVictoriaExportRecorder, kWideRecorder, kWandbTableRecorder,
    kGrafanaRowsRecorder, kInfluxRecorder, kScrapesRecorder, kDcgmiDmonRecorder,
    kNvidiaDmonRecorder, kRocmSmiLoopRecorder, kTextFormsRecorder, kJsonFormsRecorder,
    kOmegawattRecorder;

std::span<const Recorder> recorders();

// Whether a file that begins with `head` is a recording by its format, rather than a CSV or
// anything else.
bool is_known_recording(std::string_view head);

// Opens the recording in `source` with the row that fits best. Throws what that row's open()
// throws.
Telemetry open_telemetry(std::unique_ptr<ByteSource> source, const TelemetryOptions& options = {},
                         std::span<const Recorder> rows = recorders());

}  // namespace aggregate_power
