// The table of recorders.
#include "recorders/recorder_table.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/sample.h"
#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/csv_dialect.h"
#include "base/text/encoding.h"
#include "core/telemetry/csv_telemetry.h"
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

// A cell of a row of units: "W", "[mW]", "s", "%", or nothing.
bool is_unit(std::string_view cell) {
  cell = strip(cell);
  constexpr std::size_t kLongest = 12;
  return cell.size() <= kLongest && std::ranges::none_of(cell, is_ascii_digit);
}

std::size_t end_of_blank_lines(std::string_view head) {
  return std::min(head.find_first_not_of("\r\n"), head.size());
}

// A unit of power in a row below the header goes into the names: "power" and "mW" are "power [mW]".
void add_units_to_names(std::string& head) {
  const std::size_t first = end_of_blank_lines(head);
  std::vector<CsvTextRow> rows;
  try {
    split_csv(std::string_view(head).substr(first), 2, false, rows);
  } catch (const CsvError&) {  // reported when it is read
  }
  if (rows.size() < 2 || rows[0].cells.size() != rows[1].cells.size()) return;
  const auto is_power = [](const std::string& cell) {
    std::string_view unit = strip(cell);
    if (unit.size() > 2 && (unit[0] == '[' || unit[0] == '('))
      unit = unit.substr(1, unit.size() - 2);
    return power_unit(unit).has_value();
  };
  const std::vector<std::string>& units = rows[1].cells;
  if (!std::ranges::all_of(units, is_unit) || std::ranges::none_of(units, is_power)) return;
  std::string names;
  for (std::size_t i = 0; i < units.size(); ++i) {
    std::string name = rows[0].cells[i];
    std::string_view unit = strip(units[i]);
    if (is_power(units[i]) && unit[0] != '[' && unit[0] != '(') name += fmt::format(" [{}]", unit);
    if (is_power(units[i]) && (unit[0] == '[' || unit[0] == '(')) name += fmt::format(" {}", unit);
    names += fmt::format("{}{}", i == 0 ? "" : ",", csv_cell(name));
  }
  head.replace(first + rows[0].begin, rows[1].end - rows[0].begin, names + "\n");
}

// A table of another dialect, as CSV; any other file as it is.
Opened in_usual_dialect(Opened file) {
  Opened text(as_utf8(std::move(file).whole()));
  if (text.head.starts_with("sep=")) {  // for spreadsheets
    text.head.erase(0, std::min(text.head.find('\n'), text.head.size() - 1) + 1);
  }
  const std::size_t first = end_of_blank_lines(text.head);
  const CsvDialect dialect =
      csv_dialect(std::string_view(text.head).substr(first), text.head.size() < kHeadBytes);
  if (!dialect.is_usual()) text.head.erase(0, first);
  if (!dialect.is_usual()) text = Opened(as_usual_csv(std::move(text).whole(), dialect));
  add_units_to_names(text.head);
  return text;
}

// Any file may be a CSV, so this fits a little whatever it is.
double fits_csv(std::string_view) { return 0.1; }

}  // namespace

// It also takes files that fit nothing else, and says what they lack.
const Recorder kCsvRecorder = {
    .name = "CSV", .fits = fits_csv, .open = open_csv, .schemas = csv_schemas(), .is_table = true};

std::span<const Recorder> recorders() {
  static const Recorder all[] = {kCsvRecorder,
                                 kAipowermeterRecorder,
                                 kZeusTimelineRecorder,
                                 kPrometheusMatrixRecorder,
                                 kVictoriaExportRecorder,
                                 kWideRecorder,
                                 kWandbTableRecorder,
                                 kGrafanaRowsRecorder,
                                 kInfluxRecorder,
                                 kScrapesRecorder,
                                 kDcgmiDmonRecorder,
                                 kNvidiaDmonRecorder,
                                 kRocmSmiLoopRecorder,
                                 kTextFormsRecorder,
                                 kJsonFormsRecorder,
                                 kOmegawattRecorder};
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
