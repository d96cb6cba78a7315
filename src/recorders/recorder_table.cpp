// The table of recorders.
#include "recorders/recorder_table.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "base/text/csv.h"
#include "base/text/csv_dialect.h"
#include "base/text/encoding.h"
#include "core/telemetry/csv_telemetry.h"
#include "core/telemetry/telemetry.h"
#include "recorders/foreign_format.h"

namespace aggregate_power {
namespace {

const Recorder& best_for(std::string_view head, std::span<const Recorder> rows) {
  return *std::ranges::max_element(rows, {},
                                   [&](const Recorder& recorder) { return recorder.fits(head); });
}

// A source and what it begins with.
struct Opened {
  std::string head;
  std::unique_ptr<ByteSource> rest;

  explicit Opened(std::unique_ptr<ByteSource> source)
      : head(read_up_to(*source, kHeadBytes)), rest(std::move(source)) {}
  std::unique_ptr<ByteSource> whole() && {
    return std::make_unique<ResumedSource>(std::move(head), std::move(rest));
  }
};

// A table of another dialect, as CSV; any other file as it is.
Opened in_usual_dialect(Opened file) {
  Opened text(as_utf8(std::move(file).whole()));
  const CsvDialect dialect = csv_dialect(text.head, text.head.size() < kHeadBytes);
  if (dialect.is_usual()) return text;
  return Opened(as_usual_csv(std::move(text).whole(), dialect));
}

// Any file may be a CSV, so this fits a little whatever it is.
double fits_csv(std::string_view) { return 0.1; }

}  // namespace

// It also takes files that fit nothing else, and says what they lack.
const Recorder kCsvRecorder = {
    .name = "CSV", .fits = fits_csv, .open = open_csv, .schemas = csv_schemas, .is_table = true};

std::span<const Recorder> recorders() {
  static const Recorder all[] = {kCsvRecorder,
                                 kAipowermeterRecorder,
                                 kZeusTimelineRecorder,
                                 kPrometheusMatrixRecorder,
                                 kVictoriaExportRecorder,
                                 kGrafanaWideRecorder,
                                 kGrafanaRowsRecorder,
                                 kScrapesRecorder,
                                 kDcgmiDmonRecorder,
                                 kNvidiaDmonRecorder,
                                 kRocmSmiLoopRecorder,
                                 kAiperfTelemetryRecorder,
                                 kEnergibridgeRecorder,
                                 kOmegawattRecorder,
                                 kAllSmiRecorder};
  return all;
}

bool is_known_recording(std::string_view head) {
  constexpr double kRatherSo = 0.5;
  return std::ranges::any_of(
      recorders(), [&](const Recorder& recorder) { return recorder.fits(head) >= kRatherSo; });
}

Telemetry open_telemetry(std::unique_ptr<ByteSource> source, const TelemetryOptions& options,
                         std::span<const Recorder> rows) {
  assert(!rows.empty());
  Opened file(std::move(source));
  const Recorder& best = best_for(file.head, rows);
  TelemetryOptions with_names = options;
  with_names.name_format = foreign_format;
  if (!best.is_table) return best.open(std::move(file).whole(), with_names);
  try {
    file = in_usual_dialect(std::move(file));
    return best_for(file.head, rows).open(std::move(file).whole(), with_names);
  } catch (const CsvError& error) {
    throw TelemetryError(error.what());
  }
}

}  // namespace aggregate_power
