// Reads the rows of a telemetry file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/text/csv.h"
#include "base/text/timestamp.h"
#include "base/text/time_zone.h"
#include "core/telemetry/device_names.h"
#include "core/telemetry/gpu_identity.h"
#include "core/telemetry/gpu_state.h"
#include "core/telemetry/schema.h"
#include "core/telemetry/telemetry.h"

namespace aggregate_power {

// Counts over consecutive rows.
struct RowCounts {
  std::uint64_t rows = 0;
  std::uint64_t stamps = 0;
  std::uint64_t naive_stamps = 0;
  Skipped skipped;
  std::string first_bad_stamp;
  std::uint64_t first_bad_row = 0;  // counted from 1 among these rows; 0: no stamp was bad
  // What the first row has that has too many cells, or a power with a comma: "has 6 cells, ...".
  std::string first_misfit;
  std::uint64_t first_misfit_row = 0;  // 0: no row has
  // The last of these rows, if it is a header with other columns than the file's; 0: none is.
  std::uint64_t other_header_row = 0;
  // The counter in other rows of a long table; null: none was seen.
  const EnergyCounter* other_counter = nullptr;
  // The last number in the column of `counter_resolution`.
  std::optional<double> resolution = {};

  // Adds the counts of rows that follow these.
  void add(const RowCounts& later);
};

// Readings of rows, and if requested the states of their GPUs. Readings [0] to [count - 1] are
// valid; there may be room for more.
struct RowReadings {
  std::vector<Reading> readings;
  std::vector<GpuState> states;  // RowStates::states
  std::vector<std::uint32_t> states_of_rows;
  std::size_t count = 0;

  void clear();
  // Empty if none were requested.
  RowStates row_states() const;
};

class RowReader {
 public:
  RowReader(Columns columns, const Zone& zone, std::size_t header_cells, GpuSelection gpus = {});

  // The file's columns; its rows may determine which metric is the power.
  const Columns& columns() const { return columns_; }
  // The cells up to the last one with a name in the header.
  std::size_t named_cells() const { return named_cells_; }
  const GpuSelection& gpus() const { return gpus_; }
  void use_zone(const Zone& zone) { stamps_ = StampParser(zone); }
  // The names of the selected columns, in the order of the cells; then a header with other names
  // is found among the rows.
  void use_names(std::vector<std::string> names);
  const std::vector<std::string>& names() const { return names_; }

  // The columns whose cells are needed to read a row, in this order.
  std::vector<std::size_t> columns_to_select() const;
  // Adds the readings of those of `rows` that mean something. `states` says which of the cells
  // contain the GPU's states; if it is null, none is read. Ends at a header with other columns:
  // what is below it is not in the places that are read.
  void read(std::span<const CsvRow> rows, const GpuStateColumns* states, RowReadings& into);

  // Indexed by Reading::device. Without a device column it is empty, and each reading is of device
  // 0. With Columns::key they are texts for read_key(), and several may be of one GPU.
  DeviceNames& devices() { return devices_; }
  const DeviceNames& devices() const { return devices_; }
  RowCounts& counts() { return counts_; }
  const RowCounts& counts() const { return counts_; }

 private:
  bool read_row(const CsvRow& row, Reading& reading);
  void note_bad_stamp(std::string_view text);
  void note_misfit(std::string text);
  bool is_power_cut_off(const CsvRow& row) const;
  bool is_repeated_header(const CsvRow& row) const;
  bool is_other_header(const CsvRow& row) const;
  bool is_wanted_metric(std::string_view name);
  std::uint32_t find_device(const CsvRow& row);
  std::uint32_t find_by_key(const CsvRow& row);
  std::vector<std::size_t> power_columns() const;
  bool is_left_out(const CsvRow& row);
  bool is_selected(const std::string& name) const;
  double find_watts(const CsvRow& row) const;
  double find_joules(const CsvRow& row);

  Columns columns_;
  StampParser stamps_;
  DeviceNames devices_;
  std::size_t header_cells_ = 0;
  std::size_t named_cells_ = 0;
  std::vector<std::string> names_;
  GpuSelection gpus_;
  std::vector<bool> selected_;  // by device, as far as it was asked
  std::size_t key_at_ = 0;      // the first cell of Columns::key
  std::string key_;             // of the row
  std::vector<bool> named_;     // by device: whether its key names a GPU
  RowCounts counts_;
};

}  // namespace aggregate_power
