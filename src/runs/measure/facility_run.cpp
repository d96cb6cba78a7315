// Finds the energy of each hour of a run, and prices it.
#include "runs/measure/facility_run.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "energy/shares/facility.h"
#include "runs/measure/facility.h"

namespace aggregate_power {

void add_facility(const FacilityRates& rates, const std::list<SeenPower>& power, RunReport& run) {
  Result& result = run.result;
  FacilityReport& report = run.facility.emplace(FacilityReport{.rates = rates});
  if (result.telemetry) report.measured = measured_boundary(result.telemetry->series.sensor.scope);
  const auto energy_j = value_of(result.metrics, "total_gpu_energy_j");
  if (!result.is_valid() || !result.load || !energy_j) {
    report.figures = no_facility_figures("power_not_valid");
    return;
  }
  const Window window = result.load->window;
  std::vector<std::optional<FleetPower>> curves;
  for (const SeenPower& seen : power) curves.push_back(seen.curve());
  report.figures =
      facility_figures(rates, window, *energy_j, [&](Window part) -> std::optional<double> {
        double sum_j = 0;
        for (const std::optional<FleetPower>& curve : curves) {
          if (!curve) return std::nullopt;
          sum_j += curve->energy_j(part.start_unix_s, part.end_unix_s);
        }
        return sum_j;
      });
  std::ranges::move(facility_doubts(rates), std::back_inserter(result.warnings));
  std::ranges::move(facility_faults(rates, report.figures), std::back_inserter(result.warnings));
}

}  // namespace aggregate_power
