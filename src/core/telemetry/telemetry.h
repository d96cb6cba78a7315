// A recording while it is read, in any format: facts from its beginning, then its readings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/column_names.h"
#include "aggregate_power/gpu.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/record_facts.h"
#include "aggregate_power/sample.h"
#include "base/text/csv.h"
#include "base/text/time_zone.h"
#include "base/text/timestamp.h"
#include "core/telemetry/device_names.h"
#include "core/telemetry/gpu_identity.h"
#include "core/telemetry/parallel_read.h"
#include "core/telemetry/repeated_hours.h"

namespace aggregate_power {

// The content of a recording cannot be read to its end. `what()` says why, without the file's name.
struct TelemetryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Rows that gave no reading, by cause. `preamble` and `comment` are rows before the header. A
// format without rows counts what corresponds best.
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
  Skipped& operator+=(const Skipped& more);
};

// The causes by name, in the order above.
std::vector<std::pair<std::string_view, std::uint64_t>> by_cause(const Skipped& skipped);

// A stamp that states how far its clock is east of UTC.
struct OffsetStamp {
  double unix_s = 0;
  std::int32_t offset_s = 0;
};

// One of a recording's sensors, from its first to its last reading within each segment.
struct SensorEnergy {
  std::string name;
  double total_j = 0;  // by the trapezoid
  // The same of each segment; empty if the sensors have too many segments to tell.
  std::vector<double> segments_j = {};
  // With each reading held back over the period before it, of which it is the mean. The first
  // reading of a segment has no such period.
  double held_back_j = 0;
  double first_unix_s = 0;
  double last_unix_s = 0;
  double duration_s = 0;  // of the segments together
  double max_w = 0;
};

// A sum that a recorder's documentation states of its sensors.
struct SensorSum {
  std::string text;  // "intel = psys + uncore + cpu"
  bool holds = false;
  std::string detail;  // "317.574 J and 782.220 J"
};

// Counts and names seen in a recording.
struct TelemetryCounts {
  std::vector<std::string> devices;  // indexed by Reading::device
  std::vector<GpuKey> keys = {};     // of these; those that are missing are as their names say
  std::vector<std::string> identity_conflicts = {};  // GpuNames'
  std::vector<std::string> identity_notes = {};
  Skipped skipped;
  std::uint64_t rows = 0;  // including blank ones
  std::uint64_t stamps = 0;
  std::uint64_t naive_stamps = 0;  // read in the zone
  std::uint64_t dropped_nuls = 0;
  std::string first_bad_stamp;      // "'yesterday' in row 3 after the header"; empty: none was bad
  std::uint64_t first_bad_row = 0;  // if the text does not say it yet
  std::string first_misfit = {};    // what the first row has that does not fit; empty: each fits
  // Between the last stamp of one segment and the first of the next one the recorder was stopped,
  // and says so: nothing may be interpolated there.
  std::vector<Window> pauses = {};
  // Of a format whose recordings have more sensors than those whose power is read.
  std::vector<SensorEnergy> sensors = {};
  std::vector<SensorSum> sums = {};
  std::vector<std::string> silent_series = {};  // of power, without a single value
  std::optional<EnergyCounter> counter = {};    // if it was seen after the beginning
  std::vector<AmbiguousHour> ambiguous_hours = {};

  // Adds the counts of the rows that follow these, but not their devices.
  void add_rows(TelemetryCounts later);
};

// What the beginning of a recording says.
struct TelemetryHead {
  SeriesFacts facts;
  // The time that the clock showed in the first row, if its stamp has no offset.
  std::optional<double> first_wall_s = {};
  // The stamp in the first row, if it has an offset.
  std::optional<OffsetStamp> first_offset = {};
  TelemetryCounts counts = {};  // up to the first reading
  bool has_sensors = false;     // reading it tells of sensors, even if it has no power
};

// The energy counters of a recording, read along with its power.
struct CounterStream {
  std::function<void(std::span<const Reading>)> take;  // joules, as Recording::open_counters() has
  // Of the rows with a counter. Without `counter` the format cannot read both at once.
  TelemetryCounts counts = {};
};

// One recording, read once from front to back.
class Telemetry {
 public:
  using Take = std::function<void(std::span<const Reading>)>;
  using TakeStates = std::function<void(std::span<const Reading>, const RowStates&)>;
  struct Wants {
    Zone zone;  // for stamps without an offset
    GpuQuantitySet states = {};
    Workers workers = {};  // that may read at the same time; take() is called by one at a time
    CounterStream* counters = nullptr;  // to be read too, if the format can
  };
  // What a format implements: passes all readings to `take` in batches, in the file's order, with
  // as many states or with none, and updates `counts` up to the end or to the exception it throws:
  // TelemetryError, or what the bytes' source throws.
  using Read =
      std::function<void(const Wants& wants, const TakeStates& take, TelemetryCounts& counts)>;

  Telemetry(TelemetryHead head, Zone zone, Read read);

  const SeriesFacts& facts() const { return head_.facts; }
  const Zone& zone() const { return zone_; }
  const std::optional<double>& first_wall_s() const { return head_.first_wall_s; }
  const std::optional<OffsetStamp>& first_offset() const { return head_.first_offset; }
  // Before read(): sets another zone for stamps without an offset.
  void use_zone(const Zone& zone) { zone_ = zone; }
  // Before read(): adds seconds to the times of all readings, also of counters.
  void add_clock_offset(double seconds) { clock_offset_s_ += seconds; }
  // Before read(): lets several workers read the rows, each on a thread if one can be started. They
  // give out the same readings in the same order, one worker at a time, in other batches.
  void use_workers(const Workers& workers) { workers_ = workers; }
  // Before read(): reads the energy counters too, if the format can. `counters` must outlive
  // read().
  void read_counters_too(CounterStream& counters) { counters_ = &counters; }

  // Passes all meaningful rows to `take`, in the file's order, in batches. Call it once, and only
  // if facts() has times and power; without devices every row is of device 0, named "0". Throws
  // TelemetryError, or what the bytes' source throws, after giving out the readings before the
  // fault.
  void read(const Take& take);
  // The same, with the states of the rows' GPUs if the recorder is known.
  void read_with_states(const TakeStates& take, GpuQuantitySet states = kAllGpuQuantities);

  // Seen so far; complete after read().
  const std::vector<std::string>& devices() const { return head_.counts.devices; }
  // Of the same: all that the recording says about who they are.
  std::vector<GpuKey> keys() const;
  // For people: what cannot be true of any GPUs, and GPUs in two spellings.
  std::vector<std::string> identity_conflicts() const;
  const std::vector<std::string>& identity_notes() const { return head_.counts.identity_notes; }
  const Skipped& skipped() const { return head_.counts.skipped; }
  std::uint64_t rows() const { return head_.counts.rows; }
  std::uint64_t stamps() const { return head_.counts.stamps; }
  std::uint64_t naive_stamps() const { return head_.counts.naive_stamps; }
  const std::string& first_bad_stamp() const { return head_.counts.first_bad_stamp; }
  const std::string& first_misfit() const { return head_.counts.first_misfit; }
  std::uint64_t dropped_nuls() const { return head_.counts.dropped_nuls; }
  // Complete after read().
  const std::optional<EnergyCounter>& counter() const {
    return head_.counts.counter ? head_.counts.counter : head_.facts.counter;
  }
  bool has_sensors() const { return head_.has_sensors; }
  const std::vector<std::string>& silent_series() const { return head_.counts.silent_series; }
  const std::vector<SensorEnergy>& sensors() const { return head_.counts.sensors; }
  const std::vector<SensorSum>& sums() const { return head_.counts.sums; }
  const std::vector<Window>& pauses() const { return head_.counts.pauses; }
  const std::vector<AmbiguousHour>& ambiguous_hours() const { return head_.counts.ambiguous_hours; }

 private:
  void read_rows(const TakeStates& take, GpuQuantitySet states);
  void read_sorted_out(const Wants& wants, const TakeStates& take);

  TelemetryHead head_;
  Zone zone_;
  Read read_;
  double clock_offset_s_ = 0;
  Workers workers_;
  CounterStream* counters_ = nullptr;
};

// ---- What a telemetry file reports about a GPU besides its power.

// A column that says "Active" or "Not Active" of one of NVML's clocks event reasons.
inline constexpr std::size_t kReasonColumns = 5;

struct GpuStateColumns {
  std::array<std::optional<std::size_t>, kGpuQuantities> quantities = {};
  std::array<std::optional<std::size_t>, kReasonColumns> reasons = {};
  // Of the power limit too: it counts in rows where the first column states none.
  std::optional<std::size_t> other_limit = {};
  // What a number of both is in watts; nullopt: its name does not state it.
  std::optional<double> limit_unit_w = {};
  std::optional<double> other_limit_unit_w = {};

  bool operator==(const GpuStateColumns&) const = default;
};

// The columns of `header` that contain the quantities, by the names that the recorder of `schema`
// (Columns::schema) gives them. Duplicate names mean the last column of that name.
GpuStateColumns choose_state_columns(std::span<const std::string> header, std::string_view schema);

// Parses "45", "45.5 %", "1234 MiB", "61 C", "700.00 W": a finite number >= 0 with the unit of one
// of the quantities; "Active" and "Not Active" are 1 and 0, and "0x4" is a number, too. Returns NaN
// for any other text.
double parse_state(std::string_view cell);

// NVML's bit of a reason column.
std::uint64_t clock_reason(std::size_t reason_column);

// ---- What every recorder's row takes, and how it is described.

// How the user wants a recording to be read.
// What a file is that is not read.
struct ForeignFormat {
  std::string sentence;  // what it is, and what to do: "this is JSON: ..."; lower case
  bool is_binary = false;
  bool may_be_result = false;  // rather a load generator's result than telemetry
};

// The format of a file that begins so; nullopt: none that is known.
using NameFormat = std::optional<ForeignFormat> (*)(std::string_view head);

struct TelemetryOptions {
  std::optional<Zone> zone = {};  // for stamps without an offset; nullopt: the recorder's habit or
                                  // the process's zone
  ColumnNames columns = {};
  GpuSelection gpus = {};  // rows of others are left out; their devices are still named
  std::string path = {};   // of the file, for a device that only its name states; may be empty
  // Reads the energy counters of the GPUs instead of their power: the watts of each reading are
  // joules, if Telemetry::counter() says in the end that there is one; else they mean nothing.
  bool counters = false;
  NameFormat name_format = nullptr;  // names the format of a file that cannot be read
};

// A schema as the help page shows it; code in backticks.
struct SchemaRow {
  std::string_view name;
  std::string_view power;
  std::string_view devices;
};

// ---- Finds the columns of a telemetry CSV that contain the time, the power and the device.
//
// A table, one row per recorder (formats.md section 9): header patterns, tried in order; then a
// strict generic row; then the original's loose rule, except for names that are known not to be a
// power draw or a timestamp (formats.md 5.1, 5.2).

struct Column {
  std::size_t index = 0;
  std::string name;  // as in the header, trimmed
  std::string why;   // for people: "the schema's own column", "named by --power-column"
};

// How the numbers in the first rows' power cells are written, all of them.
struct PowerForm {
  std::string unit;        // after the number, without blanks; empty: none, or not one for all
  std::size_t places = 0;  // the fewest digits after a point
  std::size_t digits = 0;  // the fewest before it
};

// Whether a cell ends before the unit or the digits that all others have: "6" after "652.17 W".
bool is_cut_off(std::string_view cell, const PowerForm& form);

struct Columns {
  std::string schema;  // "nvidia-smi", ..., "generic", "loose"; empty: not recognized
  std::optional<Column> timestamp;
  std::optional<Column> power;
  std::optional<Column> device;
  std::string device_doubt;    // why a column named as a device's is not `device`
  std::optional<Column> host;  // part of a device's name, if there is one
  // Further columns that say which GPU a row is of.
  struct Key {
    std::vector<std::size_t> places = {};  // hosts, pods, ranks
    std::optional<std::size_t> index = {};
    std::optional<std::size_t> uuid = {};
    std::optional<std::size_t> pci = {};
    bool by_id = false;  // `device` is one of the last two
  };
  std::optional<Key> key;             // absent if `device` and `host` say it all
  std::string identity_doubt;         // rows that seem to be of one GPU, and are not; empty: none
  bool may_take_turns = false;        // more rows would show whether hosts do
  bool shows_places = false;          // in the first rows one index is of several places
  std::optional<Column> metric_name;  // long format: only rows whose metric is `metric` are power
  std::string metric;                 // empty: the first power metric in the file
  std::vector<std::size_t> other_power;  // tried in turn if `power` contains no number
  double counter_unit_j = 0;             // not 0: `power` is a counter of energy, in this unit
  std::vector<SeriesFacts::OtherNames> other_names;  // of the devices
  std::optional<std::size_t> counter_resolution;     // a column whose number multiplies it
  PowerUnit unit;
  bool unit_is_recorders = false;  // it is not stated, but that is what the recorder writes
  bool naive_is_utc = false;       // the recorder writes UTC without saying so
  bool has_nanoseconds = false;    // the last three digits of each stamp count, too
  bool time_of_day = false;        // the timestamp column contains times without a date
  std::string only_device;         // the device of all rows, if the recorder has only one
  std::size_t unnamed_cells = 0;   // at the header's end, as after a trailing comma
  PowerForm power_form;
  Sensor sensor;
  std::vector<std::string> gpu_models;  // that the first rows name, each once
  std::vector<std::pair<std::string, std::string>> settings = {};  // of SeriesFacts
  bool has_average_power = false;            // there is a column power.draw.average
  std::vector<std::string> same_power = {};  // of SeriesFacts
  // Why the file cannot be used; the contract's codes first. With power_column_missing there may be
  // a `power` nevertheless: a part of the GPU draws it, and only schema 1 takes it.
  Reasons reasons;
  std::vector<std::string> warnings;
};

// The cells of a file's first rows, for choices that a header alone does not settle. `cells` are
// data rows; the reader pads short rows with empty cells.
using Rows = std::span<const std::vector<std::string>>;
using IsAbsoluteTime = std::function<bool(std::string_view)>;

// Chooses the columns of `header` (names not yet trimmed). Never throws because of the header:
// `reasons` say what is missing. Duplicate names mean the last column of that name, as in Python.
Columns choose_columns(std::span<const std::string> header, Rows rows,
                       const IsAbsoluteTime& is_absolute_time, const ColumnNames& wanted = {});

// The part that other areas see.
SeriesFacts series_facts(const Columns& columns, const ColumnNames& wanted);

// The table as the help page shows it.
std::vector<SchemaRow> csv_schemas();

// Whether this DCGM metric is a GPU's power, averaged or instant.
bool is_power_metric(std::string_view name);

// How a row would do as the header: a schema fits it (a recorder's own or the generic one), or only
// the loose rule does.
enum class HeaderKind { none, loose, of_schema };
HeaderKind header_kind(std::span<const std::string> header, Rows rows,
                       const IsAbsoluteTime& is_absolute_time);

// ---- Reads the rows of a telemetry file.

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
