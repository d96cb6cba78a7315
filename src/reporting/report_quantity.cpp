// Finds each quantity among our keys, the benchmark's own, and what the record says of the window.
#include "reporting/report_runs.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "model/beyond_measure.h"

namespace aggregate_power {
namespace {

constexpr std::array<EnergyMetric, 4> kEnergyMetrics = {{
    {"joules_per_output_token", "J/output token", "energy / output tokens"},
    {"joules_per_total_token", "J/token", "energy / (input + output tokens)"},
    {"joules_per_successful_query", "J/request", "energy / completed requests"},
    {"total_gpu_energy_j", "J", "energy of all GPUs in the window"},
}};

std::optional<double> positive_member(const PublishedRun& run, std::string_view key) {
  const JsonValue& member = run.members.at(key);
  if (!member.is_finite_number() || !(member.as_double() > 0)) return std::nullopt;
  return is_beyond_measure(member.as_double()) ? std::nullopt : std::optional(member.as_double());
}

// Nullptr: it has none, or is not valid.
const PublishedNumber* number_in(const PublishedRun& run, std::string_view key) {
  const auto found = std::ranges::find(run.numbers, key, &PublishedNumber::key);
  return found == run.numbers.end() ? nullptr : &*found;
}

std::optional<double> number_of_ours(const PublishedRun& run, std::string_view key) {
  const PublishedNumber* const number = number_in(run, key);
  return number == nullptr ? std::nullopt : std::optional(number->value);
}

// Of our metric; empty for what the benchmark itself says.
std::string_view metric_key(ReportQuantity quantity, const EnergyMetric& metric) {
  switch (quantity) {
    case ReportQuantity::energy_per_token:
      return metric.key;
    case ReportQuantity::gpu_power:
      return "avg_power_w";
    case ReportQuantity::energy:
      return "total_gpu_energy_j";
    case ReportQuantity::temperature:
      return "avg_temp_c";
    case ReportQuantity::utilization:
      return "avg_util_pct";
    default:
      return {};
  }
}

// As many as shared the energy.
std::optional<double> gpus_of(const PublishedRun& run) {
  if (!run.gpu_ids.empty()) return static_cast<double>(run.gpu_ids.size());
  const auto one = run.number("avg_power_w");
  const auto all = run.number("avg_total_gpu_power_w");
  if (!one || !all || !(one->value > 0)) return std::nullopt;
  return std::round(all->value / one->value);
}

std::optional<double> throughput_of(const PublishedRun& run) {
  if (const auto stated = positive_member(run, "output_tput_per_gpu")) return stated;
  const auto gpus = gpus_of(run);
  if (!gpus || !(*gpus > 0) || !(run.duration_s > 0) || run.output_tokens <= 0) {
    return std::nullopt;
  }
  return static_cast<double>(run.output_tokens) / run.duration_s / *gpus;
}

std::optional<double> interactivity_of(const PublishedRun& run) {
  for (const std::string_view key : {"median_intvty", "mean_intvty"}) {
    if (const auto stated = positive_member(run, key)) return stated;
  }
  const auto per_token_ms = positive_member(run, "median_tpot_ms");
  return per_token_ms ? std::optional(1000 / *per_token_ms) : std::nullopt;
}

}  // namespace

const EnergyMetric& energy_metric_of(const std::function<bool(std::string_view key)>& has) {
  const auto* const found = std::ranges::find_if(
      kEnergyMetrics, [&](const EnergyMetric& metric) { return has(metric.key); });
  return found == kEnergyMetrics.end() ? kEnergyMetrics[0] : *found;
}

QuantityFacts facts_of(ReportQuantity quantity, const EnergyMetric& metric) {
  switch (quantity) {
    case ReportQuantity::energy_per_token:
      return {.key = std::string(metric.key),
              .title = fmt::format("energy ({})", metric.unit),
              .column = std::string(metric.unit),
              .unit = std::string(metric.unit),
              .formula = std::string(metric.formula)};
    case ReportQuantity::gpu_power:
      return {.key = "avg_power_w",
              .title = "mean power of a GPU (W)",
              .column = "mean W/GPU",
              .unit = "W/GPU",
              .formula = "energy / time / GPUs"};
    case ReportQuantity::energy:
      return {.key = "total_gpu_energy_j",
              .title = "energy (J)",
              .column = "energy (kJ)",
              .column_unit = 1000,
              .unit = "J",
              .formula = "energy of all GPUs in the window"};
    case ReportQuantity::duration:
      return {.key = "duration_s",
              .title = "time (s)",
              .column = "time (s)",
              .unit = "s",
              .formula = "length of the benchmark's window"};
    case ReportQuantity::throughput:
      return {.key = "output_tput_per_gpu",
              .title = "throughput (output tokens/s/GPU)",
              .column = "output tokens/s/GPU",
              .unit = "tokens/s/GPU",
              .formula = "output tokens / time / GPUs"};
    case ReportQuantity::interactivity:
      return {
          .key = "median_intvty",
          .title = "interactivity (tokens/s/user)",
          .column = "tokens/s/user",
          .unit = "tokens/s/user",
          .formula = "1 / time per output token of a median request, as the benchmark reports it"};
    case ReportQuantity::temperature:
      return {.key = "avg_temp_c",
              .title = "temperature (\u00B0C)",
              .column = "\u00B0C",
              .unit = "\u00B0C",
              .formula = "mean of the GPUs in the window"};
    default:
      return {.key = "avg_util_pct",
              .title = "utilization (%)",
              .column = "utilization (%)",
              .unit = "%",
              .formula = "mean of the GPUs in the window"};
  }
}

std::optional<double> quantity_of(const PublishedRun& run, ReportQuantity quantity,
                                  const EnergyMetric& metric) {
  switch (quantity) {
    case ReportQuantity::duration:
      return run.duration_s > 0 ? std::optional(run.duration_s) : std::nullopt;
    case ReportQuantity::throughput:
      return throughput_of(run);
    case ReportQuantity::interactivity:
      return interactivity_of(run);
    default:
      return number_of_ours(run, metric_key(quantity, metric));
  }
}

std::optional<Spread> repeatability_of(const PublishedRun& run, ReportQuantity quantity,
                                       const EnergyMetric& metric) {
  const PublishedNumber* const number = number_in(run, metric_key(quantity, metric));
  return number == nullptr ? std::nullopt : number->repeatability;
}

std::optional<MeasuredValue> measured_quantity(const PublishedRun& run, ReportQuantity quantity,
                                               const EnergyMetric& metric) {
  const auto value = quantity_of(run, quantity, metric);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  MeasuredValue measured{.value = *value};
  const auto spread = repeatability_of(run, quantity, metric);
  if (spread && *value > 0) {
    measured.repeatability = spread->standard_uncertainty / *value;
    // The bounds of an estimate may not hold what was published.
    if (spread->low < *value && *value < spread->high) {
      measured.bounds = {{spread->low, spread->high}};
    }
  }
  return measured;
}

double half_digit_of(ReportQuantity quantity) {
  switch (quantity) {
    case ReportQuantity::energy_per_token:
      return 5e-7;
    case ReportQuantity::gpu_power:
    case ReportQuantity::energy:
    case ReportQuantity::temperature:
    case ReportQuantity::utilization:
      return 5e-4;
    default:
      return 0;
  }
}

}  // namespace aggregate_power
