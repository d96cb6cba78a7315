// The table of recorders.
#include "recorders/recorder.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "base/text/csv.h"
#include "base/text/csv_dialect.h"
#include "base/text/encoding.h"
#include "recorders/aipowermeter.h"
#include "recorders/csv_telemetry.h"
#include "recorders/dmon.h"
#include "recorders/exposition.h"
#include "recorders/gpu_json_lines.h"
#include "recorders/grafana_rows.h"
#include "recorders/omegawatt.h"
#include "recorders/prometheus_json.h"
#include "recorders/rocm_smi_loop.h"
#include "recorders/wide_table.h"
#include "recorders/zeus_timeline.h"

namespace aggregate_power {
namespace {

constexpr Recorder kRecorders[] = {
    // It also takes files that fit nothing else, and says what they lack.
    {.name = "CSV", .fits = fits_csv, .open = open_csv, .schemas = csv_schemas, .is_table = true},
    {.name = "AIPowerMeter",
     .fits = fits_aipowermeter,
     .open = open_aipowermeter,
     .schemas = aipowermeter_schemas},
    {.name = "Zeus timeline",
     .fits = fits_zeus_timeline,
     .open = open_zeus_timeline,
     .schemas = zeus_timeline_schemas},
    {.name = "Prometheus matrix",
     .fits = fits_prometheus_matrix,
     .open = open_prometheus_matrix,
     .schemas = prometheus_matrix_schemas},
    {.name = "VictoriaMetrics export",
     .fits = fits_victoria_export,
     .open = open_victoria_export,
     .schemas = victoria_export_schemas},
    {.name = "Grafana, series joined by time",
     .fits = fits_grafana_wide,
     .open = open_grafana_wide,
     .schemas = grafana_wide_schemas,
     .is_table = true},
    {.name = "Grafana, a row for each sample",
     .fits = fits_grafana_rows,
     .open = open_grafana_rows,
     .schemas = grafana_rows_schemas},
    {.name = "exporter scrapes",
     .fits = fits_scrapes,
     .open = open_scrapes,
     .schemas = scrape_schemas},
    {.name = "dcgmi dmon",
     .fits = fits_dcgmi_dmon,
     .open = open_dcgmi_dmon,
     .schemas = dcgmi_dmon_schemas},
    {.name = "nvidia-smi dmon",
     .fits = fits_nvidia_dmon,
     .open = open_nvidia_dmon,
     .schemas = nvidia_dmon_schemas},
    {.name = "rocm-smi in a loop",
     .fits = fits_rocm_smi_loop,
     .open = open_rocm_smi_loop,
     .schemas = rocm_smi_loop_schemas},
    {.name = "AIPerf GPU telemetry",
     .fits = fits_aiperf_telemetry,
     .open = open_aiperf_telemetry,
     .schemas = aiperf_telemetry_schemas},
    {.name = "EnergiBridge",
     .fits = fits_energibridge,
     .open = open_energibridge,
     .schemas = energibridge_schemas},
    {.name = "OmegaWatt",
     .fits = fits_omegawatt,
     .open = open_omegawatt,
     .schemas = omegawatt_schemas},
    {.name = "all-smi", .fits = fits_all_smi, .open = open_all_smi, .schemas = all_smi_schemas},
};

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

}  // namespace

std::span<const Recorder> recorders() { return kRecorders; }

bool is_known_recording(std::string_view head) {
  constexpr double kRatherSo = 0.5;
  return std::ranges::any_of(
      kRecorders, [&](const Recorder& recorder) { return recorder.fits(head) >= kRatherSo; });
}

Telemetry open_telemetry(std::unique_ptr<ByteSource> source, const TelemetryOptions& options,
                         std::span<const Recorder> rows) {
  assert(!rows.empty());
  Opened file(std::move(source));
  const Recorder& best = best_for(file.head, rows);
  if (!best.is_table) return best.open(std::move(file).whole(), options);
  try {
    file = in_usual_dialect(std::move(file));
    return best_for(file.head, rows).open(std::move(file).whole(), options);
  } catch (const CsvError& error) {
    throw TelemetryError(error.what());
  }
}

}  // namespace aggregate_power
