// Bounds the energy of a run that lacks nothing but samples.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/characters.h"
#include "core/energy/curve.h"
#include "core/energy/integrate.h"
#include "core/energy/metrics.h"
#include "core/record/salvage_json.h"
#include "energy/uncertainty/random_walk.h"
#include "runs/measure/extras.h"

namespace aggregate_power::runs {
namespace {

// Shares and stamps are rounded: six seconds of sixty are 10 %.
constexpr double kRounding = 1e-6;

// Of readings that are regular, and all too far apart: 2.5 of their periods.
constexpr double kLongestGapPeriods = 2.5;

// The time between two readings of a GPU, if all GPUs have one only now and then; 0: they are not
// so far apart.
double sparse_period_s(const ExtraInput& input) {
  double shortest_s = std::numeric_limits<double>::infinity();
  for (const SensorReadings& recording : input.recordings) {
    for (const GatheredReadings& gpu : recording.gpus) {
      shortest_s = std::min(shortest_s, median_period_s(gpu.samples));
    }
  }
  const bool is_sparse = std::isfinite(shortest_s) && shortest_s > kDefaultMaxSampleGapS;
  return is_sparse ? shortest_s : 0;
}

// Why a GPU's energy cannot be bounded; empty: it can.
std::string unbounded(const std::string& name, const energy::SampleHoles& found,
                      std::size_t readings) {
  const std::string gpu = printable(name);
  if (!found.has_start || !found.has_end) {
    return fmt::format("GPU {} has no sample {} of the window", gpu,
                       found.has_start ? "from the end on" : "up to the start");
  }
  if (found.covered_share < kLeastCoveredShare - kRounding) {
    return fmt::format("{:.1f} % of the window of GPU {} is covered, and {:g} % are needed",
                       100 * found.covered_share, gpu, 100 * kLeastCoveredShare);
  }
  const std::size_t allowed = energy::allowed_missing_cells(readings, found.missing_cells);
  if (found.isolated_cells > allowed) {
    return fmt::format("{} cells of GPU {} have no reading, and {} may be without one",
                       found.isolated_cells, gpu, allowed);
  }
  return {};
}

// A recording's 0 W outside of the window is not a reading: it bounds no gap.
// Contract-october.md 1.2.
void drop_degenerate_rows(Window window, ExtraInput& input) {
  for (SensorReadings& recording : input.recordings) {
    for (GatheredReadings& gpu : recording.gpus) {
      std::erase_if(gpu.samples, [&](const Sample& sample) {
        return sample.watts <= 0 && !window.contains(sample.unix_s);
      });
    }
  }
}

// Every GPU with its holes, and how far they may put its energy off.
void describe_holes(const ExtraInput& input, Window window, Result& result) {
  SalvagedEnergy& salvaged = *result.salvaged;
  GapEnergyBound bound;
  const double longest_gap_s = salvaged.sparse_period_s > 0
                                   ? kLongestGapPeriods * salvaged.sparse_period_s
                                   : std::min(kDefaultMaxSampleGapS, input.run.max_sample_gap_s);
  for (const SensorReadings& recording : input.recordings) {
    GapBound gaps(window);
    std::size_t counted = 0;
    for (const GatheredReadings& gpu : recording.gpus) {
      const energy::SampleHoles found =
          energy::holes_of(gpu.samples, gpu.blanks_unix_s, window, longest_gap_s);
      salvaged.gpus.push_back({gpu.gpu, found.covered_share, found.holes, found.missing_cells});
      const std::size_t readings = samples_in(gpu.samples, window).size();
      if (salvaged.refusal.empty()) salvaged.refusal = unbounded(gpu.gpu, found, readings);
      const auto number = static_cast<std::uint32_t>(salvaged.gpus.size() - 1);
      for (const Sample& sample : gpu.samples) gaps.add(number, sample);
      bound.per_gpu_j.emplace_back(gpu.gpu, gaps.bound_j(number));
      bound.total_j += bound.per_gpu_j.back().second;
      counted += recording.published_j.count(gpu.gpu);
    }
    if (counted < recording.published_j.size() && salvaged.refusal.empty()) {
      salvaged.refusal = "a GPU has no samples around the window";
    }
  }
  if (salvaged.gpus.size() < result.observed_gpus && salvaged.refusal.empty()) {
    salvaged.refusal = "the samples of a GPU were not read";
  }
  if (salvaged.gpus.empty()) salvaged.refusal = "no samples around the window were read";
  if (salvaged.refusal.empty()) result.gap_bound = std::move(bound);
}

RoleEnergy energy_of_role(const Result& result, const EnergyEstimate& energy,
                          std::string_view role) {
  RoleEnergy sum;
  for (const GpuEstimate& gpu : energy.gpus) {
    const bool is_of_role = std::ranges::any_of(result.roles, [&](const auto& of_gpu) {
      return of_gpu.first == gpu.name && of_gpu.second == role;
    });
    if (!is_of_role) continue;
    ++sum.gpus;
    sum.energy_j += gpu.energy.joules;
  }
  return sum;
}

void bound_energy(ExtraInput& input, Result& result) {
  SalvagedEnergy& salvaged = *result.salvaged;
  std::size_t gpus = 0;
  for (const SensorReadings& recording : input.recordings) gpus += recording.published_j.size();
  Uncertainty found = uncertainty_of(input, result);
  if (!found.energy.is_available()) {
    salvaged.refusal = fmt::format("no interval: {}{}{}", fmt::join(found.energy.reasons, ", "),
                                   found.advice.empty() ? "" : ": ", fmt::join(found.advice, "; "));
    return;
  }
  salvaged.energy = std::move(found.energy);
  salvaged.metrics = energy_metrics({.energy_j = salvaged.energy.total.joules,
                                     .gpus = gpus,
                                     .load = *result.load,
                                     .prefill = energy_of_role(result, salvaged.energy, "prefill"),
                                     .decode = energy_of_role(result, salvaged.energy, "decode"),
                                     .contract = result.contract});
}

}  // namespace

void refuse_salvage(const RunOptions&, Result&) {}

void add_salvage(ExtraInput& input, Result& result) {
  // A tracker's readings always are so far apart: people get a number without asking.
  const double period_s = input.bounds_sparse ? sparse_period_s(input) : 0;
  if (!(input.run.salvage || period_s > 0) || !result.load || result.is_valid()) return;
  SalvagedEnergy& salvaged = result.salvaged.emplace();
  salvaged.sparse_period_s = period_s;
  if (!results::lacks_only_samples(result)) return result.salvaged.reset();
  if (result.way != Way::package) drop_degenerate_rows(result.load->window, input);
  describe_holes(input, result.load->window, result);
  if (salvaged.refusal.empty()) bound_energy(input, result);
  if (!salvaged.refusal.empty()) result.hints.push_back("nothing salvaged: " + salvaged.refusal);
}

}  // namespace aggregate_power::runs
