// Any bytes to the two CSV readers, which must agree, then as telemetry to all that reads it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/characters.h"
#include "base/text/csv.h"
#include "core/energy/counter_check.h"
#include "core/energy/integrate.h"
#include "core/energy/mean_power.h"
#include "core/energy/recording_summary.h"
#include "fuzz/fuzz_util.h"
#include "recorders/recorder_table.h"

namespace {

using namespace aggregate_power;
using fuzz::PieceSource;
using fuzz::require;

// What the first bytes of an input decide.
struct Choices {
  std::vector<std::size_t> columns;
  std::size_t header_cells = 0;
  std::size_t piece = 0;
  std::size_t head = 0;     // bytes handed over before the source is read
  std::size_t repeats = 1;  // of the text: buffers are larger than what a fuzzer likes to write
};
constexpr std::size_t kChoiceBytes = 4;

Choices choices_of(const std::uint8_t* data, std::size_t text_size) {
  Choices choices;
  for (std::size_t column = 0; column < kMaxWantedColumns; ++column) {
    if ((data[0] >> column & 1) != 0) choices.columns.push_back(column);
  }
  if (choices.columns.empty()) choices.columns = {40, 0, 0};
  choices.header_cells = data[1] % 16U;
  choices.piece = data[2] < 128 ? data[2] + std::size_t{1} : std::size_t{data[2]} * 1021;
  choices.head = (data[3] & 15U) * text_size / 15;
  // Some hundred times as costly, so that it is one choice in 4096, and never in small pieces.
  if (data[3] >> 4 == 15 && data[2] % 8 == 0 && data[1] >> 3 == 0) {
    choices.repeats = 300000 / (text_size + 1) + 1;
    choices.piece = std::max<std::size_t>(choices.piece, 1021);
  }
  return choices;
}

// The reader of a stream joins lists without quotes where a row has more cells than the header.
CsvTextRow with_lists_joined(CsvTextRow row, std::size_t header_cells) {
  constexpr std::size_t kMostListCells = 4096;
  const std::size_t cells = row.cells.size();
  if (cells <= header_cells || cells > header_cells + kMostListCells) return row;
  std::vector<std::string> joined = row.cells;
  if (join_lists(joined, header_cells)) row.cells = std::move(joined);
  return row;
}

void require_same_row(const CsvRow& row, const CsvTextRow& whole, const Choices& choices) {
  for (std::size_t i = 0; i < choices.columns.size(); ++i) {
    const std::size_t column = choices.columns[i];
    require(row.cells[i] == (column < whole.cells.size() ? std::string_view(whole.cells[column])
                                                         : std::string_view()));
  }
  require(row.cell_count == whole.cells.size());
  std::size_t filled = whole.cells.size();
  while (whole.cells.size() > choices.header_cells && filled > 0 &&
         strip(whole.cells[filled - 1]).empty()) {
    --filled;
  }
  require(row.filled_count == filled);
  require(row.blank == whole.blank && row.terminated == whole.terminated);
}

void compare_readers(const std::string& text, const Choices& choices) {
  std::vector<CsvTextRow> rows;
  bool is_faulty = false;
  try {
    split_csv(text, text.size() + 1, true, rows);
  } catch (const CsvError&) {
    is_faulty = true;
  }

  PieceSource source(std::string_view(text).substr(choices.head), choices.piece);
  CsvReader reader(source, std::string_view(text).substr(0, choices.head));
  reader.select(choices.columns, choices.header_cells);
  std::size_t count = 0;
  try {
    while (true) {
      const std::span<const CsvRow> batch = reader.next_batch();
      if (batch.empty()) break;
      for (const CsvRow& row : batch) {
        require(count < rows.size());
        require_same_row(row, with_lists_joined(rows[count++], choices.header_cells), choices);
      }
    }
    require(!is_faulty);
    require(reader.dropped_nuls() ==
            static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\0')));
  } catch (const CsvError&) {
    require(is_faulty);
  }
  require(count == rows.size());
}

// A telemetry file as far as it can be read.
struct Recording {
  std::vector<Reading> readings;
  std::vector<std::string> devices;
  bool has_devices = false;
  bool is_faulty = false;
};

Recording read_recording(const std::string& text, std::size_t piece) {
  Recording recording;
  try {
    Telemetry telemetry =
        open_telemetry(std::make_unique<PieceSource>(text, piece), {Zone::fixed(3600)});
    const SeriesFacts& facts = telemetry.facts();
    if (facts.has_times() && facts.has_power()) {
      recording.has_devices = facts.has_devices();
      try {
        telemetry.read([&](std::span<const Reading> readings) {
          recording.readings.insert(recording.readings.end(), readings.begin(), readings.end());
        });
      } catch (const TelemetryError&) {
        recording.is_faulty = true;
      }
      recording.devices = telemetry.devices();
    }
  } catch (const TelemetryError&) {
    recording.is_faulty = true;
  }
  return recording;
}

bool has_power(const Reading& reading) {
  return reading.kind == Reading::Kind::power || reading.kind == Reading::Kind::negative_power;
}

void require_sound(const Recording& recording) {
  for (const Reading& reading : recording.readings) {
    require(std::isfinite(reading.unix_s));
    if (has_power(reading)) {
      require(std::isfinite(reading.watts) && reading.device < recording.devices.size());
      require((reading.watts < 0) == (reading.kind == Reading::Kind::negative_power));
    }
  }
}

void require_same(const Recording& a, const Recording& b) {
  require(a.is_faulty == b.is_faulty && a.devices == b.devices);
  require(std::ranges::equal(a.readings, b.readings, [](const Reading& x, const Reading& y) {
    const auto same = [](double v, double w) {
      return std::bit_cast<std::uint64_t>(v) == std::bit_cast<std::uint64_t>(w);
    };
    return x.kind == y.kind && same(x.unix_s, y.unix_s) &&
           (!has_power(x) || (same(x.watts, y.watts) && x.device == y.device));
  }));
}

// Between two of the stamps, where there are two.
std::optional<Window> window_within(const Recording& recording) {
  const std::vector<Reading>& readings = recording.readings;
  if (readings.empty()) return std::nullopt;
  const double first = readings[readings.size() / 4].unix_s;
  const double last = readings[readings.size() * 3 / 4].unix_s;
  if (first == last) return std::nullopt;
  return Window{std::min(first, last), std::max(first, last)};
}

// Rows in any order, in blocks, then again in two parts of the time, as a run takes them.
void integrate_in_order(const Recording& recording) {
  const std::optional<Window> window = window_within(recording);
  if (!window) return;
  constexpr std::size_t kBlock = 16;
  const IntegrationOptions options{*window, 1, 1e6};
  const std::span<const Reading> all = recording.readings;
  WindowRows rows(options);
  PowerIntegrator integrator(options);
  MeanPowerGatherer gatherer(*window, recording.has_devices);
  Samples samples(kAlways);
  const auto integrate = [&] {
    samples.sort();
    integrator.take(samples);
    samples.clear();
    gatherer.average();
  };
  for (std::size_t i = 0; i < all.size(); i += kBlock) {
    const auto block = all.subspan(i, std::min(kBlock, all.size() - i));
    rows.take(block);
    samples.take(block);
    gatherer.take(block);
    integrate();
  }
  const double middle = (window->start_unix_s + window->end_unix_s) / 2;
  integrator.start_over();
  gatherer.start_over();
  for (const Window part :
       {Window{kAlways.start_unix_s, middle},
        Window{std::nextafter(middle, kAlways.end_unix_s), kAlways.end_unix_s}}) {
    samples.clear(part);
    gatherer.begin(part);
    samples.take(all);
    gatherer.take(all);
    integrate();
  }
  require(!integrator.is_out_of_order() && !gatherer.is_out_of_order());
  std::ignore = integrator.finish(rows, recording.devices);
  std::ignore = gatherer.finish();
  Samples negative(kAlways, Reading::Kind::negative_power);
  samples.clear(kAlways);
  for (Samples* const some : {&samples, &negative}) {
    some->take(all);
    some->sort();
  }
  std::ignore = stream_energies(samples, negative);
}

void analyse(const Recording& recording) {
  Surveyor surveyor;
  surveyor.take(recording.readings);
  for (const DeviceSurvey& device : surveyor.devices(recording.devices)) {
    require(device.samples > 0 && device.min_w <= device.max_w);
  }
  std::ignore = surveyor.warnings(recording.devices);
  integrate_in_order(recording);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kChoiceBytes) return 0;
  const std::string_view once(reinterpret_cast<const char*>(data) + kChoiceBytes,
                              size - kChoiceBytes);
  Choices choices = choices_of(data, once.size());
  std::string text;
  for (std::size_t i = 0; i < choices.repeats; ++i) text += once;
  compare_readers(text, choices);

  const Recording recording = read_recording(text, choices.piece);
  require_sound(recording);
  require_same(recording, read_recording(text, text.size() + 1));
  analyse(recording);
  return 0;
}
