// Energy of GPUs over one window, and whether the samples suffice for it. Pure arithmetic: no
// files, no clock, no printing. Contract.md B.3 and B.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/contract.h"
#include "aggregate_power/gpu.h"
#include "aggregate_power/record_facts.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/sample.h"
#include "core/telemetry/samples.h"
#include "core/energy/device_integrator.h"
#include "core/energy/unplaced_rows.h"

namespace aggregate_power {

// Rows near the window, but outside it, that state no power above 0 W, counted by GPU.
class BoundaryRows {
 public:
  // `device` is Reading::device.
  void add(std::uint32_t device);
  std::uint64_t of(std::uint32_t device) const;

  // By GPU, in the order of first appearance; rows that name no GPU are counted as "unknown".
  // `devices` are the names by Reading::device.
  using ByName = std::vector<std::pair<std::string, std::uint64_t>>;
  ByName by_name(std::span<const std::string> devices) const;

 private:
  std::vector<std::uint64_t> counts_;  // first without a device, then by device
  std::vector<std::size_t> met_;       // indices into it, in the order of first appearance
};

struct IntegrationOptions {
  Window window;
  std::optional<std::int64_t> expected_num_gpus;
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  Contract contract = Contract::october;
  bool is_power = true;       // false: another quantity, which may be 0 outside the window too
  bool keeps_blanks = false;  // WindowRows::blanks() are wanted
};

struct Integration {
  Reasons reasons;
  std::optional<std::int64_t> expected_num_gpus;
  std::vector<std::string> gpu_ids;  // in the original's sort order, like all that follows
  std::vector<DeviceEnergy> gpus;
  std::vector<std::optional<Reason>> issues;
  BoundaryRows::ByName boundary_degenerate_rows;
  // Set if every GPU is bracketed.
  std::optional<double> total_gpu_energy_j;
  std::optional<double> avg_total_gpu_power_w;
  std::optional<double> avg_power_w;  // per GPU
};

// What the rows of a recording say beside the power, as far as it concerns a window. A bad stamp
// counts unless it is clearly elsewhere; in August it counts wherever it is.
class WindowRows {
 public:
  explicit WindowRows(const IntegrationOptions& options);

  // The next rows, in the file's order.
  void take(std::span<const Reading> readings);

  // Devices, in the order of their first sample that counts.
  std::span<const std::uint32_t> met() const { return met_; }
  const BoundaryRows& boundary_rows() const { return boundary_rows_; }
  // The rows inside the window that state no power: their device, kNoDevice if they name none, and
  // their stamp.
  using Blank = std::pair<std::uint32_t, double>;
  std::span<const Blank> blanks() const { return blanks_; }
  // Of the rows that were taken. Once there are no more, `is_end` adds what they leave open.
  Reasons reasons(bool is_end) const;

 private:
  void take_bad_stamp();
  void take_row(const Reading& reading);
  void take_no_power(const Reading& reading);

  IntegrationOptions options_;
  Window band_;
  std::vector<char> is_met_;  // by device
  std::vector<std::uint32_t> met_;
  BoundaryRows boundary_rows_;
  UnplacedRows unplaced_rows_;
  Reasons reasons_;
  std::vector<Blank> blanks_;
  bool missing_identity_ = false;
};

// Integrates all devices of a recording. Only samples up to `max_sample_gap_s` before and after the
// window count, outside the window only those above 0 W.
class PowerIntegrator {
 public:
  explicit PowerIntegrator(const IntegrationOptions& options) : options_(options) {}

  // The next samples, in time order.
  void take(const Samples& samples);
  // Samples were earlier than those taken before, so nothing here is right. After start_over(),
  // take them again in time order.
  bool is_out_of_order() const { return is_out_of_order_; }
  void start_over() { *this = PowerIntegrator(options_); }
  // Sorts the devices by name and judges them. `names`: by Reading::device.
  Integration finish(const WindowRows& rows, std::span<const std::string> names);

 private:
  IntegrationOptions options_;
  std::vector<DeviceIntegrator> integrators_;  // by device
  bool is_out_of_order_ = false;
};

// For a recording that breaks off: what was found until then, and why it ended.
Integration abandoned(const IntegrationOptions& options, const WindowRows& rows, Reason reason,
                      std::string detail, std::span<const std::string> names);

}  // namespace aggregate_power
