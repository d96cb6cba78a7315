// A telemetry CSV to readings.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/files/byte_source.h"
#include "base/text/csv.h"
#include "base/text/stamp.h"
#include "base/text/zone.h"
#include "recorders/device_names.h"
#include "recorders/gpu_state.h"
#include "recorders/schema.h"

namespace aggregate_power {

// Rows that gave no reading, by cause. `preamble` and `comment` stand before the header.
struct Skipped {
  std::uint64_t blank = 0;
  std::uint64_t repeated_header = 0;
  std::uint64_t preamble = 0;
  std::uint64_t comment = 0;
  std::uint64_t bad_timestamp = 0;
  std::uint64_t no_reading = 0;
  std::uint64_t too_many_cells = 0;
  std::uint64_t torn_tail = 0;

  bool operator==(const Skipped&) const = default;
};

// The causes by name, in the order above.
std::vector<std::pair<std::string_view, std::uint64_t>> by_cause(const Skipped& skipped);

// A stamp that says itself how far its clock is east of UTC.
struct OffsetStamp {
  double unix_s = 0;
  std::int32_t offset_s = 0;
};

// One file, read once from front to back.
class Telemetry {
 public:
  // Reads the beginning of `source` (at most 64 KiB) and chooses the columns. UTF-8, UTF-16 with a
  // byte-order mark, NULs and bytes that are no text are all taken. Stamps without an offset are
  // read in `zone`; without one, in the recorder's own (UTC for xpu-smi 2), else the process's.
  // Throws what `source` throws, and CsvError when the very first row is faulty.
  Telemetry(std::unique_ptr<ByteSource> source, const std::optional<Zone>& zone,
            const ColumnNames& wanted = {});

  const Columns& columns() const { return columns_; }
  const Zone& zone() const { return zone_; }
  // What the clock showed in the first row, if that has a stamp without an offset.
  const std::optional<double>& first_wall_s() const { return first_wall_s_; }
  // The stamp in the first row, if that has an offset.
  const std::optional<OffsetStamp>& first_offset() const { return first_offset_; }
  // Before read(): another zone for stamps without an offset.
  void use_zone(const Zone& zone);

  // Gives all rows that mean something to `take`, in the file's order, in batches. Call it once,
  // and only when columns() has a timestamp and a power column; without a device column every row
  // is of device 0, named "0". Throws CsvError, or what the source throws, after the readings
  // before the fault were given out.
  using Take = std::function<void(std::span<const Reading>)>;
  void read(const Take& take);
  // The same with what the rows say of their GPUs besides power, as far as the recorder is known.
  using TakeStates = std::function<void(std::span<const Reading>, std::span<const GpuState>)>;
  void read_with_states(const TakeStates& take);

  // What was met so far; complete after read().
  const std::vector<std::string>& devices() const { return devices_.names(); }
  const Skipped& skipped() const { return skipped_; }
  std::uint64_t rows() const { return rows_; }  // behind the header, blank ones too
  std::uint64_t stamps() const { return stamps_read_; }
  std::uint64_t naive_stamps() const { return naive_stamps_; }  // that the zone decided
  // "'yesterday' in row 3 behind the header"; empty when no stamp was bad.
  const std::string& first_bad_stamp() const { return first_bad_stamp_; }
  std::uint64_t dropped_nuls() const { return head_nuls_ + csv_->dropped_nuls(); }

 private:
  void read_head(const ColumnNames& wanted);
  void note_first_stamp(std::string_view text);
  bool read_row(const CsvRow& row, Reading& reading);
  void note_bad_stamp(std::string_view text);
  bool is_repeated_header(const CsvRow& row) const;
  bool is_wanted_metric(std::string_view name);
  std::uint32_t find_device(const CsvRow& row);
  double find_watts(const CsvRow& row) const;
  std::vector<std::size_t> select_columns() const;
  void read_rows(const std::vector<std::size_t>& selected, const TakeStates& take,
                 const GpuStateColumns* states);

  std::unique_ptr<ByteSource> source_;
  std::string head_;
  std::unique_ptr<CsvReader> csv_;
  Columns columns_;
  Zone zone_;
  std::optional<double> first_wall_s_;
  std::optional<OffsetStamp> first_offset_;
  StampParser stamps_;
  DeviceNames devices_;
  std::vector<std::string> header_;
  std::size_t header_cells_ = 0;
  Skipped skipped_;
  std::string first_bad_stamp_;
  std::uint64_t rows_ = 0;
  std::uint64_t stamps_read_ = 0;
  std::uint64_t naive_stamps_ = 0;
  std::uint64_t head_nuls_ = 0;  // up to the header's end
};

}  // namespace aggregate_power
