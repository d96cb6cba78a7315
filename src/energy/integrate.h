// Energy of GPUs over one window, and whether the samples suffice for it. Pure arithmetic: no
// files, no clock, no printing. Contract.md B.3 and B.4.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/contract.h"
#include "aggregate_power/gpu.h"
#include "aggregate_power/provenance.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/sample.h"
#include "energy/analysis.h"
#include "energy/boundary_rows.h"
#include "energy/device_integrator.h"
#include "energy/steady_rounds.h"
#include "energy/unplaced_rows.h"

namespace aggregate_power {

struct IntegrationOptions {
  Window window;
  std::optional<std::int64_t> expected_num_gpus;
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  Contract contract = Contract::october;
  bool is_power = true;  // false: another quantity, which may be 0 outside the window too
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

// All devices of one telemetry file. Only readings up to `max_sample_gap_s` before and after the
// window count, outside the window only those above 0 W. A bad stamp counts unless it is clearly
// elsewhere; in August it counts wherever it is.
class PowerIntegrator final : public Analysis {
 public:
  explicit PowerIntegrator(const IntegrationOptions& options);

  Wants wants() const override { return {.order = Order::by_time, .window = band_}; }
  void take(std::span<const Reading> readings) override;
  // A device's stamps went backwards, so its energy is not right. After start_over(), which keeps
  // the other findings, take the readings of the band again, sorted.
  bool out_of_order() const override { return out_of_order_; }
  void start_over() override;
  // For a reading that broke off: what was found until then, and why it ended.
  Integration abandon(Reason reason, std::string detail,
                      std::span<const std::string> devices) const;
  // Sorts the devices by name and judges them. `devices` are the names by Reading::device.
  Integration finish(std::span<const std::string> devices);

 private:
  bool take_one(const Reading& reading);
  std::size_t take_rounds(std::span<const Reading> readings);
  void take_singly(std::span<const Reading> readings);
  void note_place(const Reading& reading);
  void take_bad_stamp();
  void take_power(const Reading& reading);
  void meet(std::uint32_t device);
  void take_no_power(const Reading& reading);
  Integration unfinished(std::span<const std::string> devices) const;

  IntegrationOptions options_;
  Window band_;
  std::vector<std::optional<DeviceIntegrator>> integrators_;  // by device
  SteadyRounds rounds_;
  std::vector<std::uint32_t> met_;  // devices, in the order of their first sample in the file
  BoundaryRows boundary_rows_;
  UnplacedRows unplaced_rows_;
  Reasons reasons_;
  bool missing_identity_ = false;
  bool out_of_order_ = false;
  bool is_second_pass_ = false;
};

}  // namespace aggregate_power
