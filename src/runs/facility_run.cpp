// Reads the power of each hour of a run, and prices it.
#include "runs/facility_run.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "energy/facility_energy.h"
#include "energy/fleet_power.h"
#include "recorders/energy_rate.h"
#include "results/facility_report.h"

namespace aggregate_power {
namespace {

// The energies of the recordings in parts of their window, read when they are first asked for.
class EnergyAgain {
 public:
  EnergyAgain(const std::list<Recording>& recordings, Window window, double max_sample_gap_s)
      : recordings_(recordings), window_(window), max_sample_gap_s_(max_sample_gap_s) {}

  std::optional<double> operator()(Window part) {
    if (curves_.empty()) read();
    double sum_j = 0;
    for (const std::optional<FleetPower>& curve : curves_) {
      if (!curve) return std::nullopt;
      sum_j += curve->energy_j(part.start_unix_s, part.end_unix_s);
    }
    return sum_j;
  }

 private:
  void read() {
    for (const Recording& recording : recordings_) {
      FleetPowerGatherer gatherer(window_, max_sample_gap_s_);
      recording.open().read([&](std::span<const Reading> readings) {
        for (Reading reading : readings) {
          // Rows without a name are those of the only GPU.
          if (reading.kind == Reading::Kind::no_device) reading.device = 0;
          if (!states_power(reading, window_)) continue;
          gatherer.add(reading.device, {reading.unix_s, reading.watts});
        }
      });
      curves_.push_back(gatherer.finish());
    }
  }

  const std::list<Recording>& recordings_;
  Window window_;
  double max_sample_gap_s_;
  std::vector<std::optional<FleetPower>> curves_;
};

}  // namespace

void add_facility(const FacilityRates& rates, const std::list<Recording>& recordings,
                  double max_sample_gap_s, RunReport& run) {
  Result& result = run.result;
  FacilityReport& report = run.facility.emplace(FacilityReport{.rates = rates});
  if (result.telemetry) report.measured = measured_boundary(result.telemetry->series.sensor.scope);
  const auto energy_j = value_of(result.metrics, "total_gpu_energy_j");
  if (!result.is_valid() || !result.load || !energy_j) {
    report.figures = no_facility_figures("power_not_valid");
    return;
  }
  const Window window = result.load->window;
  EnergyAgain again(recordings, window, max_sample_gap_s);
  report.figures =
      facility_figures(rates, window, *energy_j, [&](Window part) { return again(part); });
  std::ranges::move(facility_doubts(rates), std::back_inserter(result.warnings));
  std::ranges::move(facility_faults(rates, report.figures), std::back_inserter(result.warnings));
}

}  // namespace aggregate_power
