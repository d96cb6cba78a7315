// Writes an energy that is not published.
#include "core/record/salvage_json.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/json.h"
#include "core/record/record_numbers.h"

namespace aggregate_power::results {
namespace {

constexpr const char* kSalvagedEnergy = "salvaged_total_gpu_energy_j";

// With the numbers of energy_metrics() that are energies divided by something exact.
constexpr std::string_view kSalvageKeys[] = {kSalvagedEnergy,
                                             "salvaged_total_gpu_energy_j_low",
                                             "salvaged_total_gpu_energy_j_high",
                                             "salvaged_covered_share",
                                             "salvaged_avg_power_w",
                                             "salvaged_avg_total_gpu_power_w",
                                             "salvaged_joules_per_successful_query",
                                             "salvaged_joules_per_input_token",
                                             "salvaged_joules_per_output_token",
                                             "salvaged_joules_per_total_token",
                                             "salvaged_prefill_gpu_energy_j",
                                             "salvaged_decode_gpu_energy_j",
                                             "salvaged_prefill_avg_power_w",
                                             "salvaged_decode_avg_power_w",
                                             "salvaged_prefill_joules_per_input_token",
                                             "salvaged_decode_joules_per_output_token"};

double audited(double value) { return rounded(value, kAuditDecimals); }

const SalvagedGpu* least_covered(const SalvagedEnergy& salvaged) {
  const auto least = std::ranges::min_element(salvaged.gpus, {}, &SalvagedGpu::covered_share);
  return least == salvaged.gpus.end() ? nullptr : &*least;
}

Json holes_json(const SalvagedGpu& gpu) {
  return {{"covered_share", audited(gpu.covered_share)},
          {"missing_cells", gpu.missing_cells},
          {"gaps", list_of(gpu.holes, [&](const Window& hole) -> Json {
             return {{"start_unix", hole.start_unix_s},
                     {"end_unix", hole.end_unix_s},
                     {"duration_s", audited(hole.duration_s())}};
           })}};
}

bool is_of_gaps(std::string_view code) {
  return code == "sample_gap_exceeded" || code == "sample_loss_exceeded";
}

bool only_has(const Reasons& reasons, std::initializer_list<Reason> allowed) {
  return std::ranges::all_of(reasons.entries(), [&](const Reasons::Entry& entry) {
    return std::ranges::find(allowed, entry.reason) != allowed.end();
  });
}

// The window that is the run's own has gaps, and nothing else is wrong with the package.
bool is_refused_for_gaps(const PackageFacts& package) {
  if (!package.lacks_only_samples || !package.window) return false;
  const auto own = std::ranges::find_if(package.windows, [&](const WindowFinding& window) {
    return window.benchmark_type == package.window->benchmark_type &&
           window.concurrency == package.window->concurrency;
  });
  return own != package.windows.end() && std::ranges::all_of(own->codes, is_of_gaps);
}

// The energy, if the run still lacks nothing but samples; null: there is none.
const SalvagedEnergy* salvaged_of(const Result& result) {
  const bool is_there =
      result.salvaged && result.salvaged->refusal.empty() && lacks_only_samples(result);
  return is_there ? &*result.salvaged : nullptr;
}

}  // namespace

bool lacks_only_samples(const Result& result) {
  if (result.is_valid() || !result.load) return false;
  if (result.package) {
    return only_has(result.reasons, {Reason::package_recompute_invalid}) &&
           is_refused_for_gaps(*result.package);
  }
  if (result.way == Way::sample_mean) return false;
  if (!result.salvaged || result.salvaged->sparse_period_s == 0) {
    return are_of_samples(result.reasons);
  }
  return only_has(result.reasons, {Reason::sampling_gap_exceeded, Reason::invalid_power_sample,
                                   Reason::benchmark_window_not_bracketed});
}

bool are_of_samples(const Reasons& reasons) {
  return only_has(reasons, {Reason::sampling_gap_exceeded, Reason::invalid_power_sample});
}

Json salvage_json(const SalvagedEnergy& salvaged, bool lacks_only) {
  const bool is_available = salvaged.refusal.empty() && lacks_only;
  Json json = {{"available", is_available},
               {"refusal", lacks_only ? text_or_null(salvaged.refusal)
                                      : Json("the run is not valid for other reasons, too")}};
  if (is_available) {
    const Estimate& total = salvaged.energy.total;
    json["method"] = salvaged.energy.method;
    json["level"] = 0.95;
    json["boundary"] = "gpu_boards_as_reported";
    json["total_gpu_energy_j"] = {
        {"estimate", number_or_null(total.joules)},
        {"standard_uncertainty", number_or_null(total.standard_uncertainty_j())},
        {"low", number_or_null(total.low_j())},
        {"high", number_or_null(total.high_j())},
        {"repeatability",
         {{"low", number_or_null(total.repeatability_low_j())},
          {"high", number_or_null(total.repeatability_high_j())}}},
        {"components", components_json(total)}};
    for (const Metric& metric : salvaged.metrics) {
      json["metrics"][std::string(metric.key)] = audited(metric.value);
    }
  }
  if (const SalvagedGpu* const least = least_covered(salvaged)) {
    json["least_covered_share"] = audited(least->covered_share);
  }
  json["needed_share"] = kLeastCoveredShare;
  JsonObject gpus;
  for (const SalvagedGpu& gpu : salvaged.gpus) gpus.set(gpu.name, holes_json(gpu));
  json["per_gpu"] = std::move(gpus).take();
  return json;
}

std::optional<std::string> salvage_text(const Result& result) {
  const SalvagedEnergy* const salvaged = salvaged_of(result);
  if (salvaged == nullptr) return std::nullopt;
  const Estimate& total = salvaged->energy.total;
  const SalvagedGpu& least = *least_covered(*salvaged);
  if (salvaged->sparse_period_s > 0) {
    return fmt::format(
        "{:.1f} J, 95 % interval {:.1f} J to {:.1f} J, not valid; a reading comes every {:.3g} s, and the interval bounds what the power did in between, unless the load is in step with the readings",
        total.joules, total.low_j(), total.high_j(), salvaged->sparse_period_s);
  }
  return fmt::format(
      "{:.1f} J, 95 % interval {:.1f} J to {:.1f} J, not valid; samples cover {:.1f} % of the window of GPU {}, and no less of any other",
      total.joules, total.low_j(), total.high_j(), 100 * least.covered_share,
      printable(least.name));
}

std::vector<JsonEdit> salvage_edits(const Result& result) {
  std::vector<JsonEdit> edits;
  const SalvagedEnergy* const salvaged = salvaged_of(result);
  if (salvaged == nullptr) return edits;
  const auto set = [&](const std::string& key, double value) {
    if (std::isfinite(value)) edits.push_back({key, json_number(value)});
  };
  const Estimate& total = salvaged->energy.total;
  for (const Metric& metric : salvaged->metrics) {
    const std::string key = fmt::format("salvaged_{}", metric.key);
    if (std::ranges::find(kSalvageKeys, key) != std::end(kSalvageKeys)) {
      set(key, rounded(metric.value, metric.decimals));
    }
  }
  set(fmt::format("{}_low", kSalvagedEnergy), rounded(std::floor(100 * total.low_j()) / 100, 2));
  set(fmt::format("{}_high", kSalvagedEnergy), rounded(std::ceil(100 * total.high_j()) / 100, 2));
  set("salvaged_covered_share", audited(least_covered(*salvaged)->covered_share));
  return edits;
}

std::vector<std::string_view> salvage_keys() {
  return {std::begin(kSalvageKeys), std::end(kSalvageKeys)};
}

}  // namespace aggregate_power::results
