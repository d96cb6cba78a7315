// Takes what a format's rows say, and passes readings on in batches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/power_unit.h"
#include "aggregate_power/sample.h"
#include "base/text/stamp.h"
#include "base/text/zone.h"
#include "recorders/device_names.h"
#include "recorders/gpu_selection.h"
#include "recorders/metric_labels.h"
#include "recorders/telemetry.h"

namespace aggregate_power {

class ReadingSink {
 public:
  // `unit` is that of bare numbers.
  ReadingSink(const Zone& zone, GpuSelection gpus, bool names_hosts, PowerUnit::Size unit,
              const Telemetry::TakeStates& take, TelemetryCounts& counts);

  // A row begins, and what is added next was measured at its time. Returns false if it is not a
  // time: then nothing may be added, unless to count it.
  bool start_row(std::string_view stamp);
  void start_row(double unix_s);
  // The power of a device, as written or as a number; a text that is not a power is counted. A
  // blank name is that of no device.
  void add(std::string_view device, std::string_view watts) { add_to(find(device), watts); }
  void add(std::string_view host, std::string_view device, std::string_view watts) {
    add_to(find(host, device), watts);
  }
  void add(std::string_view device, double watts) { add_to(find(device), watts); }
  // Rows before this one and rows after it are of different segments.
  void end_segment() { segment_has_ended_ = true; }
  // From here on what is added as text is an energy counter's number, in its unit.
  void count_energy(const EnergyCounter& counter);
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
  std::uint32_t find(std::string_view device);
  std::uint32_t find(std::string_view host, std::string_view device);
  std::uint32_t known(std::uint32_t device);
  void add_to(std::uint32_t device, std::string_view watts);
  void add_to(std::uint32_t device, double watts);
  void add(Reading reading);
  void note_time(Stamp stamp);

  StampParser stamps_;
  GpuSelection gpus_;
  bool names_hosts_;
  PowerUnit::Size unit_;
  double counter_unit_j_ = 0;  // 0: power is read
  const Telemetry::TakeStates& take_;
  TelemetryCounts& counts_;
  DeviceNames devices_;
  std::vector<bool> selected_;  // by device
  std::vector<Reading> batch_;
  std::optional<Stamp> first_stamp_;
  double unix_s_ = 0;
  double last_unix_s_ = 0;  // of the segment
  bool segment_has_ended_ = false;
};

}  // namespace aggregate_power
