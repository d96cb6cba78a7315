// Takes what a format's rows say, and passes readings on in batches.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/text/characters.h"
#include "base/text/time_zone.h"
#include "base/text/timestamp.h"
#include "core/telemetry/device_names.h"
#include "core/telemetry/energy_counter.h"
#include "core/telemetry/gpu_identity.h"
#include "core/telemetry/power_cell.h"
#include "core/telemetry/telemetry.h"
#include "recorders/metric_labels.h"

namespace aggregate_power {

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
  // The power limit of a device from here on, in W, for readings that are added next; NaN or 0: it
  // is not known.
  void state_limit(std::uint32_t device, double limit_w);
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
  std::size_t count_ = 0;                    // of readings in it
  std::vector<GpuState> states_;             // each once; empty: no limit was stated so far
  std::vector<std::uint32_t> state_of_;      // by device, its place there
  std::vector<std::uint32_t> state_of_row_;  // of the batch
  std::optional<Stamp> first_stamp_;
  double unix_s_ = 0;
  double last_unix_s_ = 0;  // of the segment
  bool segment_has_ended_ = false;
};

}  // namespace aggregate_power
