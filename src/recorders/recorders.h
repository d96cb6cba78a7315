// The forms of telemetry beside CSVs of rows, each with a function that opens it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/gpu.h"
#include "aggregate_power/record_facts.h"
#include "aggregate_power/sample.h"
#include "base/system/byte_source.h"
#include "base/text/characters.h"
#include "base/text/time_zone.h"
#include "base/text/timestamp.h"
#include "core/telemetry/device_names.h"
#include "core/telemetry/energy_counter.h"
#include "core/telemetry/gpu_identity.h"
#include "core/telemetry/parallel_read.h"
#include "core/telemetry/power_cell.h"
#include "core/telemetry/telemetry.h"
#include "recorders/metric_labels.h"

namespace aggregate_power {

// ---- Takes what a format's rows say, and passes readings on in batches.

class ReadingSink {
 public:
  struct Options {
    Zone zone = Zone::fixed(0);
    GpuSelection gpus = {};
    bool names_hosts = false;
    PowerUnit::Size unit = PowerUnit::Size::watt;  // of bare numbers
  };
  ReadingSink(const Options& options, const Telemetry::TakeStates& take, TelemetryCounts& counts);

  // A row begins, and what is added next was measured at its time. Returns false if it is not a
  // time: then nothing may be added, unless to count it.
  [[gnu::always_inline]] bool start_row(std::string_view stamp) {
    Stamp time{};
    if (!read_stamp(stamp, time)) return start_bad_row(strip(stamp));
    start_row(time);
    return true;
  }
  void start_row(double unix_s) { start_row(Stamp{unix_s, false}); }
  [[gnu::always_inline]] void start_row(Stamp stamp) {
    ++counts_.rows;
    note_time(stamp);
  }
  // The power of a device, as written or as a number; a text that is not a power is counted. A
  // blank name is that of no device.
  void add(std::string_view device, std::string_view watts) { add_to(find(device), watts); }
  void add(std::string_view host, std::string_view device, std::string_view watts) {
    add_to(find(host, device), watts);
  }
  void add(std::string_view device, double watts) { add_to(find(device), watts); }
  // The two parts of which adding a row of text consists: its time, and its number in watts or, for
  // a counter, in joules; NaN if it is none.
  [[gnu::always_inline]] bool read_stamp(std::string_view text, Stamp& stamp) {
    return stamps_.read(strip(text), stamp);
  }
  [[gnu::always_inline]] double number(std::string_view text) const {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    text = strip(text);
    if (counter_unit_j_ > 0) return parse_counter(text, counter_unit_j_).value_or(kNone);
    const double watts = plain_watts(text, unit_);
    return std::isnan(watts) ? parse_watts(text, {unit_, false}).value_or(kNone) : watts;
  }
  // The same for a device that find() numbered.
  [[gnu::always_inline]] void add_to(std::uint32_t device, std::string_view watts) {
    add_to(device, number(watts));
  }
  [[gnu::always_inline]] void add_to(std::uint32_t device, double watts) {
    if (device == kLeftOut) return;
    const bool is_power = watts >= 0 && watts < std::numeric_limits<double>::infinity();
    if (!is_power || device == kNoDevice) return add_odd(device, watts);
    add(unix_s_, watts, device, Reading::Kind::power);
  }
  // What is known of a device from here on, for readings that are added next: its power limit in W,
  // or its utilization, to 1 %. NaN, or a limit of 0: it is not known.
  void state(std::uint32_t device, GpuQuantity quantity, double value);
  // Numbers a series, for which note_series() then notes each reading. Series of GPUs that were not
  // selected make no difference.
  std::size_t add_series(const MetricLabels& series) { return overlap_.add(series); }
  std::size_t find_series(const MetricLabels& series) { return overlap_.find(series); }
  void note_series(std::size_t series, std::uint32_t device) {
    note_series(series, device, unix_s_);
  }
  void note_series(std::size_t series, std::uint32_t device, double unix_s) {
    if (device < kLeftOut) overlap_.note(series, device, unix_s);
    if (device == kLeftOut) overlap_.leave_out(series);
  }
  const SeriesOverlap& series() const { return overlap_; }
  [[gnu::always_inline]] std::uint32_t find(std::string_view device) {
    const std::uint32_t found = devices_.find_character(device);
    return known(found == kNoDevice ? devices_.find(strip(device)) : found);
  }
  std::uint32_t find(std::string_view host, std::string_view device);
  // The same; without a host the device's name stands alone.
  std::uint32_t find_in(std::string_view host, std::string_view device) {
    return host.empty() ? find(device) : find(host, device);
  }
  // The same of a device with other names, by which --gpus may choose it.
  std::uint32_t find_in(std::string_view host, std::string_view device, GpuKey key) {
    key_of_next_ = std::move(key);
    const std::uint32_t found = find_in(host, device);
    key_of_next_ = {};
    return found;
  }
  // Rows before this one and rows after it are of different segments.
  void end_segment() { segment_has_ended_ = true; }
  // From here on what is added as text is an energy counter's number, in its unit.
  void count_energy(const EnergyCounter& counter);
  // Where energy counters go that are read along with the power; nullptr: nobody wants them.
  ReadingSink* counters() const { return counters_; }
  void set_counters(ReadingSink& counters) { counters_ = &counters; }
  // Notes the counter that `series` has seen, and counts its energy if that is what it reads.
  void note_counter(const PowerSeries& series);
  void skip(std::uint64_t Skipped::*cause) { ++(counts_.skipped.*cause); }
  void tell_sensors(std::vector<SensorEnergy> sensors, std::vector<SensorSum> sums);
  // Passes on what is left.
  void finish();

  double unix_s() const { return unix_s_; }  // of the row
  // What the first row's stamp was.
  const std::optional<Stamp>& first_stamp() const { return first_stamp_; }

 private:
  // ---- Once or several times a row: inlined into the loops of the formats.

  bool start_bad_row(std::string_view stamp);
  [[gnu::always_inline]] void note_time(Stamp stamp) {
    ++counts_.stamps;
    counts_.naive_stamps += stamp.naive ? 1 : 0;
    unix_s_ = stamp.unix_s;
    if (segment_has_ended_ || !first_stamp_) begin_segment(stamp);
    last_unix_s_ = unix_s_;
  }
  void begin_segment(Stamp stamp);

  std::uint32_t known(std::uint32_t device) {
    if (device == kNoDevice) return device;
    if (passed_on_.size() <= device) select_up_to(device);
    return passed_on_[device];
  }
  void select_up_to(std::uint32_t device);

  void add_odd(std::uint32_t device, double watts);
  void note_state(std::uint32_t device);
  std::uint32_t place_of(const GpuState& state);

  // Member by member: a reading that is made elsewhere and copied at once would wait until the
  // processor has it whole.
  [[gnu::always_inline]] static void fill(Reading& reading, double unix_s, double watts,
                                          std::uint32_t device, Reading::Kind kind) {
    reading.unix_s = unix_s;
    reading.watts = watts;
    reading.device = device;
    reading.kind = kind;
  }
  [[gnu::always_inline]] void add(double unix_s, double watts, std::uint32_t device,
                                  Reading::Kind kind) {
    fill(batch_[count_], unix_s, watts, device, kind);
    if (!states_.empty()) note_state(device);
    if (++count_ == kBatch) finish();
  }

  static constexpr std::size_t kBatch = 4096;               // readings that are passed on at once
  static constexpr std::uint32_t kLeftOut = kNoDevice - 1;  // a device that was not selected

  StampParser stamps_;
  GpuSelection gpus_;
  GpuKey key_of_next_;  // of a device that is new; empty: its name is all
  bool names_hosts_;
  PowerUnit::Size unit_;
  double counter_unit_j_ = 0;  // 0: power is read
  ReadingSink* counters_ = nullptr;
  const Telemetry::TakeStates& take_;
  TelemetryCounts& counts_;
  DeviceNames devices_;
  SeriesOverlap overlap_;
  std::vector<std::uint32_t> passed_on_;  // by device: its number, or kLeftOut
  std::vector<Reading> batch_ = std::vector<Reading>(kBatch);
  std::size_t count_ = 0;         // of readings in it
  std::vector<GpuState> states_;  // each once; empty: nothing was stated so far
  std::map<std::pair<double, double>, std::uint32_t> places_;  // of limit and utilization
  std::vector<std::uint32_t> state_of_;                        // by device, its place there
  std::vector<std::uint32_t> state_of_row_;                    // of the batch
  std::optional<Stamp> first_stamp_;
  double unix_s_ = 0;
  double last_unix_s_ = 0;  // of the segment
  bool segment_has_ended_ = false;
};

// ---- How processes shared GPUs, as AIPowerMeter's records say.

struct ProcessShares {
  struct Gpu {
    std::string name;
    std::vector<ShareRecord> records;  // in order of time
  };
  std::vector<std::string> processes;  // process ids, by number
  std::vector<Gpu> gpus;               // that have power
  bool has_processes = false;          // some record has some GPU's
  std::uint64_t attributed = 0;        // records that attribute power to the experiment
  std::uint64_t above_drawn = 0;       // those that attribute more than a GPU drew

  // nullptr: it has none.
  const Gpu* find(const std::string& gpu) const;
};

// Stamps without an offset are in `zone`. Of a text that is cut off, up to there. Throws what
// `source` throws.
ProcessShares read_process_shares(ByteSource& source, const Zone& zone);

// ---- All metrics of AIPowerMeter's records, and what each process used of them.

struct AipmMetrics {
  // A metric with a value for each process. "all" is the sum of the processes of each record.
  struct Use {
    std::string metric;
    std::string gpu;  // empty: it is not of a GPU
    std::string process;
    std::uint64_t records = 0;  // that have the process
    double sum = 0;
    double max = 0;
  };
  // The power of a process in a record, by the record's number in Power::total.
  struct Named {
    std::size_t record;
    double watts;
  };
  // The power of the processor ("cpu") or of its memory ("dram"), and of processes.
  struct Power {
    std::string name;
    std::string metric;
    std::vector<Sample> total;  // the recorder's own; where it has none, the sum of the processes
    std::vector<std::pair<std::string, std::vector<Named>>> processes;

    // Of a process: 0 W in records that do not name it, as far as they change its energy.
    std::vector<Sample> samples_of(const std::vector<Named>& process) const;
  };
  std::vector<std::string> cpu;  // names, in the order in which they come
  std::vector<std::string> gpu;
  std::vector<Use> uses;
  std::vector<Power> powers;  // that have processes
  std::vector<Window> pauses;
};

// As read_process_shares().
AipmMetrics read_aipm_metrics(ByteSource& source, const Zone& zone);

// ---- Opens recordings in formats other than CSV tables: what they have in common.

// Reads all of a recording into the sink. May throw TelemetryError, JsonError, OtherHeader, and
// what the source throws.
using ReadInto = std::function<void(ByteSource& source, ReadingSink& sink)>;

// A header that is not the recording's first, in line `line`, which counts from 1.
struct OtherHeader : std::exception {
  explicit OtherHeader(std::uint64_t at) : line(at) {}

  std::uint64_t line;
};

// What a format says of a recording that begins with a text of at most 64 KiB.
using FactsOf = std::function<SeriesFacts(std::string_view head)>;

struct StreamFormat {
  FactsOf facts_of;
  // It is also called with the beginning alone, to learn the first stamp, and that may be cut off
  // anywhere.
  ReadInto read;
  bool has_lines = true;     // a last record that is cut off is counted as a torn tail
  bool has_sensors = false;  // as in TelemetryHead
  // Where a recording that begins with `head` can be cut into parts. Workers may then read parts,
  // each after a beginning that has the power's column and the device's. Null, or a null CutOff: a
  // part cannot be read without all that is before it.
  CutOff (*cut_off_after)(std::string_view head) = nullptr;
};

Telemetry open_stream(std::unique_ptr<ByteSource> source, const TelemetryOptions& options,
                      const StreamFormat& format);

// Of recordings in which each line stands alone, or each JSON text on lines of its own.
std::size_t end_of_lines(std::string_view bytes);
CutOff at_any_line(std::string_view head);
CutOff at_any_json_line(std::string_view head);

// The facts of a format whose names are fixed: columns, unit, what `inspect` shows, and the reasons
// against a recording that lacks one. nullopt: there is none.
struct SeriesNames {
  std::string schema;
  std::optional<std::string> timestamp = {};
  std::optional<std::string> power = {};
  std::optional<std::string> device = {};
  PowerUnit::Size unit = PowerUnit::Size::watt;
  std::string power_why = {};  // for people: "the format's own", "named by --power-column"
  bool is_only_power = false;  // --power-column may name no other
};
SeriesFacts facts_of_names(const SeriesNames& names, const TelemetryOptions& options);
// The facts of series that carry labels. Those `names` that are not there are the series' metric
// and label. `no_power` says what to do if no series is power.
SeriesFacts facts_of_series(SeriesNames names, const PowerSeries& power,
                            const TelemetryOptions& options, std::string_view no_power);

// ---- Rows of tables with commas

using Cells = std::vector<std::string>;
using RowCells = std::vector<std::string_view>;

// Splits a row at its commas; one with quotes or control characters as a CSV, into `copies`. Throws
// CsvError.
void split_row(std::string_view line, RowCells& cells, Cells& copies);
// The cells of a line; none if its quotes are broken.
Cells cells_if_any(std::string_view line);
// Without the blanks around it; empty: the row is too short.
std::string_view cell_of(const RowCells& cells, std::size_t index);

}  // namespace aggregate_power
