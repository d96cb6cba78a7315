// Rows of a telemetry file to readings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/text/csv.h"
#include "base/text/stamp.h"
#include "base/text/zone.h"
#include "recorders/device_names.h"
#include "recorders/gpu_state.h"
#include "recorders/schema.h"
#include "recorders/telemetry.h"

namespace aggregate_power {

// What was met in rows that follow each other.
struct RowCounts {
  std::uint64_t rows = 0;
  std::uint64_t stamps = 0;
  std::uint64_t naive_stamps = 0;
  Skipped skipped;
  std::string first_bad_stamp;
  std::uint64_t first_bad_row = 0;  // of these rows, the first being 1; 0: no stamp was bad

  // Those of rows that follow.
  void add(const RowCounts& later);
};

// Readings of rows, and what the rows say of their GPUs besides power, if that was asked for.
// [0] to [count - 1] are good; there may be room for more.
struct RowReadings {
  std::vector<Reading> readings;
  std::vector<GpuState> states;
  std::size_t count = 0;
};

class RowReader {
 public:
  RowReader(Columns columns, const Zone& zone, std::size_t header_cells);

  // Of the file; which metric is the power's may be found out by its rows.
  const Columns& columns() const { return columns_; }
  void use_zone(const Zone& zone) { stamps_ = StampParser(zone); }

  // The columns whose cells rows must have, in this order, to be read.
  std::vector<std::size_t> columns_to_select() const;
  // Adds the readings of those of `rows` that mean something. `states` says which of the cells hold
  // the GPU's state; without it none is read.
  void read(std::span<const CsvRow> rows, const GpuStateColumns* states, RowReadings& into);

  // By Reading::device. Without a device column there is none, and each reading is of device 0.
  DeviceNames& devices() { return devices_; }
  const DeviceNames& devices() const { return devices_; }
  RowCounts& counts() { return counts_; }
  const RowCounts& counts() const { return counts_; }

 private:
  bool read_row(const CsvRow& row, Reading& reading);
  void note_bad_stamp(std::string_view text);
  bool is_repeated_header(const CsvRow& row) const;
  bool is_wanted_metric(std::string_view name);
  std::uint32_t find_device(const CsvRow& row);
  double find_watts(const CsvRow& row) const;

  Columns columns_;
  StampParser stamps_;
  DeviceNames devices_;
  std::size_t header_cells_ = 0;
  RowCounts counts_;
};

}  // namespace aggregate_power
