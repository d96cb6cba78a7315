// Reads the CSV of OmegaWatt's wall meter, as `wattmetre-read` writes it and AIPowerMeter keeps it
// next to its records: a frame each 10 ms, with the active power of each socket.
//
// A socket is that of a whole machine, not of a GPU. Frames that the meter marks as not read have
// no values. Lines before the header are what the program printed on its standard error.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/text/csv.h"
#include "base/text/pattern.h"
#include "base/text/characters.h"
#include "core/telemetry/lines.h"
#include "recorders/recorder_table.h"
#include "recorders/stream_telemetry.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kHeaderStart = "#timestamp,#frame_is_ok,";

struct SocketColumn {
  std::size_t index;
  std::string socket;
};

// Where a frame has what is read of it: its time first, whether it was read second.
struct FrameColumns {
  std::vector<SocketColumn> sockets;
  std::size_t cells = 0;
};

FrameColumns frame_columns(std::string_view header) {
  static constexpr Pattern power("#activepow[0-9]+");
  FrameColumns columns;
  const std::vector<std::string> cells = cells_of_line(header);
  columns.cells = cells.size();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view name = strip(cells[i]);
    if (!power.matches(name)) continue;
    constexpr std::size_t kBeforeNumber = std::string_view("#activepow").size();
    columns.sockets.push_back({i, "socket" + std::string(name.substr(kBeforeNumber))});
  }
  return columns;
}

void take_frame(const FrameColumns& columns, const std::vector<std::string>& cells,
                ReadingSink& sink) {
  if (!sink.start_row(cells[0])) return;
  const auto cell = [&](std::size_t i) {
    return i < cells.size() ? strip(cells[i]) : std::string_view();
  };
  if (lower_ascii(cell(1)) != "true") return sink.skip(&Skipped::no_reading);
  for (const SocketColumn& column : columns.sockets) sink.add(column.socket, cell(column.index));
}

// The last line may be cut off inside a number, so it counts only with its line break.
void read_frames(ByteSource& source, ReadingSink& sink) {
  std::optional<FrameColumns> columns;
  for_each_line(source, [&](std::string_view line, bool is_whole) {
    if (strip(line).empty()) return sink.skip(&Skipped::blank);
    if (line.starts_with(kHeaderStart)) {
      if (columns) sink.skip(&Skipped::repeated_header);  // its sockets may be others
      columns = frame_columns(line);
      return;
    }
    if (!columns) return sink.skip(&Skipped::preamble);
    if (!is_whole) return sink.skip(&Skipped::torn_tail);
    const std::vector<std::string> cells = cells_of_line(line);
    if (cells.empty()) return sink.skip(&Skipped::blank);  // NUL bytes
    take_frame(*columns, cells, sink);
  });
}

SeriesFacts omegawatt_facts(const TelemetryOptions& options) {
  SeriesNames names = {.schema = "omegawatt", .timestamp = "#timestamp"};
  names.power = "#activepow*";
  names.device = "the socket";
  SeriesFacts facts = facts_of_names(names, options);
  facts.sensor = {"OmegaWatt", "activepow", "wall", "unknown"};
  return facts;
}

double fits_omegawatt(std::string_view head) {
  constexpr int kMostLinesBefore = 16;
  for (int i = 0; i < kMostLinesBefore && !head.empty(); ++i) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    if (head.starts_with(kHeaderStart)) {
      return head.substr(0, end).find("#activepow") != head.npos ? 0.95 : 0;
    }
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return 0;
}

Telemetry open_omegawatt(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  return open_stream(std::move(source), options,
                     {.facts_of = [&](std::string_view) { return omegawatt_facts(options); },
                      .read =
                          [](ByteSource& bytes, ReadingSink& sink) {
                            try {
                              read_frames(bytes, sink);
                            } catch (const CsvError& error) {
                              throw TelemetryError(error.what());
                            }
                          }});
}

std::vector<SchemaRow> omegawatt_schemas() {
  return {{"omegawatt", "`#activepow1` and so on, in W at the wall", "the socket"}};
}

}  // namespace

const Recorder kOmegawattRecorder = {.name = "OmegaWatt",
                                     .fits = fits_omegawatt,
                                     .open = open_omegawatt,
                                     .schemas = omegawatt_schemas};

}  // namespace aggregate_power
