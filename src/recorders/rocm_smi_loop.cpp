// Reads `rocm-smi --showpower --csv` in a loop, whose lines have no time: a script puts one before
// each line, or in a line of its own before each round.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/decimal.h"
#include "base/text/pattern.h"
#include "core/telemetry/lines.h"
#include "recorders/recorder_table.h"
#include "recorders/recorders.h"

namespace aggregate_power {
namespace {

// A line that is no row of a table has none.
std::vector<std::string> rocm_cells(std::string_view line) {
  try {
    return cells_of_line(line);
  } catch (const CsvError&) {
    return {};
  }
}

struct RocmHeader {
  bool has_times = false;  // the first cell of each line
  std::string power;       // the name of the first of these columns
  std::vector<std::size_t> columns;
};

// "device,Average Graphics Package Power (W)", or the same after a cell with a time or its name. A
// table with another name there is a plain CSV.
std::optional<RocmHeader> rocm_header(std::string_view line) {
  static constexpr Pattern name_of_time = "epoch|unix|unix_?time|date\\+?%s";
  static constexpr Pattern power[] = {"current socket graphics package power \\((w|watts)\\)",
                                      "average graphics package power \\((w|watts)\\)"};
  const std::vector<std::string> cells = rocm_cells(line);
  const auto is_device = [&](std::size_t i) {
    return i < cells.size() && lower_ascii(strip(cells[i])) == "device";
  };
  RocmHeader header;
  header.has_times = is_device(1) && (!time_of_line(strip(cells[0])).empty() ||
                                      name_of_time.matches(lower_ascii(strip(cells[0]))));
  if (!header.has_times && !is_device(0)) return std::nullopt;
  for (const Pattern& pattern : power) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!pattern.matches(lower_ascii(strip(cells[i])))) continue;
      if (header.columns.empty()) header.power = strip(cells[i]);
      header.columns.push_back(i);
    }
  }
  return header.columns.empty() ? std::nullopt : std::optional(header);
}

class RocmLoop {
 public:
  explicit RocmLoop(ReadingSink* sink) : sink_(sink) {}

  void take(std::string_view line, bool is_whole) {
    line = strip(line);
    if (line.empty()) return skip(&Skipped::blank);
    if (const std::string_view time = time_of_line(line); !time.empty()) {
      time_ = time;
      return;
    }
    if (auto header = rocm_header(line)) {
      if (header_) skip(&Skipped::repeated_header);
      header_ = std::move(header);
      return;
    }
    if (!is_whole) return skip(&Skipped::torn_tail);
    if (!take_row(line)) skip(&Skipped::comment);  // "WARNING: ..."
  }

  const std::optional<RocmHeader>& header() const { return header_; }
  bool has_row_with_time() const { return has_row_with_time_; }

 private:
  bool take_row(std::string_view line) {
    static constexpr Pattern device = "(card|gpu)[0-9]+";
    if (!header_) return false;
    const std::vector<std::string> cells = rocm_cells(line);
    const std::size_t place = header_->has_times ? 1 : 0;
    if (place >= cells.size() || !device.matches(lower_ascii(strip(cells[place])))) return false;
    const std::string_view time = header_->has_times ? strip(cells[0]) : std::string_view(time_);
    has_row_with_time_ = has_row_with_time_ || !time_of_line(time).empty();
    if (sink_ == nullptr || !sink_->start_row(time)) return true;
    sink_->add(strip(cells[place]), power_in(cells));
    return true;
  }

  // Of the columns the first that has a number: a box may have GPUs of two kinds.
  std::string_view power_in(const std::vector<std::string>& cells) const {
    std::string_view power;
    for (const std::size_t column : header_->columns) {
      if (column >= cells.size()) continue;
      const std::string_view cell = strip(cells[column]);
      if (power.empty() || nearest_double(cell)) power = cell;
      if (nearest_double(cell)) break;
    }
    return power;
  }

  void skip(std::uint64_t Skipped::*cause) {
    if (sink_ != nullptr) sink_->skip(cause);
  }

  ReadingSink* sink_;
  std::optional<RocmHeader> header_;
  std::string time_;  // of the round
  bool has_row_with_time_ = false;
};

void read_rocm_loop(ByteSource& source, RocmLoop& loop) {
  for_each_line(source, [&](std::string_view line, bool is_whole) { loop.take(line, is_whole); });
}

SeriesFacts rocm_loop_facts(std::string_view head, const TelemetryOptions& options) {
  RocmLoop loop(nullptr);
  MemorySource source(head);
  read_rocm_loop(source, loop);
  SeriesNames names = {.schema = "rocm-smi-loop", .timestamp = "time before the line"};
  names.device = "device";
  if (loop.header()) names.power = loop.header()->power;
  SeriesFacts facts = facts_of_names(names, options);
  facts.sensor = {"rocm-smi", names.power.value_or("unknown"), "package", "unknown"};
  const std::string& wanted = options.columns.power;
  if (!wanted.empty() && wanted != names.power) {
    facts.reasons.add(Reason::named_column_missing, "--power-column: this format has its own");
  }
  return facts;
}

double fits_rocm_smi_loop(std::string_view head) {
  if (head.find("Graphics Package Power") == head.npos) return 0;
  RocmLoop loop(nullptr);
  MemorySource source(head);
  read_rocm_loop(source, loop);
  return loop.has_row_with_time() ? 0.9 : 0;
}

Telemetry open_rocm_smi_loop(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  return open_stream(
      std::move(source), options,
      {.facts_of = [&](std::string_view head) { return rocm_loop_facts(head, options); },
       .read =
           [](ByteSource& bytes, ReadingSink& sink) {
             RocmLoop loop(&sink);
             read_rocm_loop(bytes, loop);
           }});
}

std::vector<SchemaRow> rocm_smi_loop_schemas() {
  return {
      {"rocm-smi-loop",
       "as in `rocm-smi`, from a loop that puts the time before each line, or in a line of its own before each round, in W",
       "`device`"}};
}

}  // namespace

const Recorder kRocmSmiLoopRecorder = {.name = "rocm-smi in a loop",
                                       .fits = fits_rocm_smi_loop,
                                       .open = open_rocm_smi_loop,
                                       .schemas = rocm_smi_loop_schemas};

}  // namespace aggregate_power
