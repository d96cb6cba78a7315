// Reads a telemetry CSV into readings.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/system/byte_source.h"
#include "base/text/csv.h"
#include "base/text/time_zone.h"
#include "core/telemetry/energy_counter.h"
#include "core/telemetry/gpu_identity.h"
#include "core/telemetry/gpu_names.h"
#include "core/telemetry/parallel_read.h"
#include "core/telemetry/telemetry.h"

namespace aggregate_power {

// One file, read once from front to back.
class CsvTelemetry {
 public:
  // Reads the beginning of `source` (at most 64 KiB) and chooses the columns. Accepts UTF-8, UTF-16
  // with a byte-order mark, NULs and bytes that are not text. Stamps without an offset are read in
  // `zone`; if that is empty, in the recorder's own zone (UTC for xpu-smi 2), else the process's.
  // Rows of GPUs that `gpus` does not have are left out, except those with more cells than the
  // header, or without a readable time unless they are whole: nobody knows whose they are.
  // `reads_counters`, `name_format`: TelemetryOptions'.
  // Throws what `source` throws; and if the very first row is faulty, CsvError, or for a file of a
  // foreign format TelemetryError.
  CsvTelemetry(std::unique_ptr<ByteSource> source, const std::optional<Zone>& zone,
               const ColumnNames& wanted = {}, const GpuSelection& gpus = {},
               bool reads_counters = false, NameFormat name_format = nullptr);

  const Columns& columns() const { return rows_.columns(); }
  // Complete after read().
  std::optional<EnergyCounter> counter() const;
  const Zone& zone() const { return zone_; }
  // SeriesFacts'.
  const std::string& foreign() const { return foreign_; }
  const std::vector<std::string>& first_lines() const { return first_lines_; }
  // The time that the clock showed in the first row, if its stamp has no offset.
  const std::optional<double>& first_wall_s() const { return first_wall_s_; }
  // The stamp in the first row, if it has an offset.
  const std::optional<OffsetStamp>& first_offset() const { return first_offset_; }
  // Before read(): sets another zone for stamps without an offset.
  void use_zone(const Zone& zone);
  // Before read(): as Telemetry's.
  void use_workers(const Workers& workers) { workers_ = workers; }
  // Before read(): the name of the device in a file without a device column.
  void use_only_device(std::string name) { only_device_ = std::move(name); }

  // Passes all meaningful rows to `take`, in the file's order, in batches. Call it once, and only
  // if columns() has a timestamp and a power column; without a device column every row is of device
  // 0, named "0". Throws CsvError, or what the source throws, after giving out the readings before
  // the fault.
  using Take = Telemetry::Take;
  void read(const Take& take);
  // The same, with the states of the rows' GPUs if the recorder is known.
  using TakeStates = Telemetry::TakeStates;
  void read_with_states(const TakeStates& take, GpuQuantitySet states = kAllGpuQuantities);

  // Counts so far; complete after read().
  std::vector<std::string> devices() const;
  const GpuNames& gpu_names() const { return gpu_names_; }
  const Skipped& skipped() const { return rows_.counts().skipped; }
  std::uint64_t rows() const { return rows_.counts().rows; }  // including blank ones
  std::uint64_t stamps() const { return rows_.counts().stamps; }
  // The number of stamps read in the zone.
  std::uint64_t naive_stamps() const { return rows_.counts().naive_stamps; }
  // "'yesterday' in row 3 after the header"; empty if no stamp was bad.
  std::string first_bad_stamp() const;
  // "row 3 after the header has 6 cells, ..."; empty if each row fits.
  std::string first_misfit() const;
  // Whether rows may state their GPU's power limit.
  bool has_power_limit() const;
  std::uint64_t dropped_nuls() const { return dropped_nuls_; }

 private:
  // The cells of a row to read.
  struct RowSelection {
    std::vector<std::size_t> columns;
    std::size_t header_cells = 0;
    const GpuStateColumns* states = nullptr;  // RowReader::read()'s
  };
  class RowWorker;

  void read_head(const ColumnNames& wanted, const GpuSelection& gpus);
  std::optional<ForeignFormat> format_of(std::string_view text) const;
  void note_format(std::string_view text, Columns& columns);
  void note_first_stamp(std::string_view text);
  void count_energy(Columns& columns) const;
  std::vector<std::string> names_of(const RowSelection& selection) const;
  // Throws TelemetryError if the last row that was read is a header with other columns.
  void fail_at_other_header() const;
  void read_rows(const RowSelection& selection, const TakeStates& take);
  std::size_t useful_workers() const;
  void give(RowReadings& found, const TakeStates& take);

  std::unique_ptr<ByteSource> source_;
  std::string ahead_;  // what was read of it after the header
  Zone zone_;
  std::optional<double> first_wall_s_;
  std::optional<OffsetStamp> first_offset_;
  std::vector<std::string> header_;
  std::string foreign_;
  std::vector<std::string> first_lines_;
  std::optional<CounterColumn> counter_;
  bool reads_counters_;
  NameFormat name_format_;
  std::uint64_t dropped_nuls_ = 0;
  RowReader rows_;
  std::string only_device_ = "0";
  GpuNames gpu_names_;                  // with Columns::key
  std::vector<std::uint32_t> numbers_;  // of the rows' devices, among these
  Workers workers_;
};

// The same as any other recording. Throws TelemetryError if the beginning cannot be read, and what
// `source` throws.
Telemetry open_csv(std::unique_ptr<ByteSource> source, const TelemetryOptions& options);

}  // namespace aggregate_power
