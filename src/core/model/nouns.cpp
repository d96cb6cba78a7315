// What the nouns in include/aggregate_power compute: names, rounding and intervals.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <tuple>

#include "aggregate_power/energy_estimate.h"
#include "aggregate_power/gpu.h"
#include "aggregate_power/load.h"
#include "aggregate_power/metric.h"
#include "aggregate_power/request.h"
#include "aggregate_power/result.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kRoleNames[] = {"prefill", "decode", "agg"};

}  // namespace

std::string_view role_name(Role role) { return kRoleNames[static_cast<std::size_t>(role)]; }

std::optional<Role> role_of(std::string_view name) {
  const auto found = std::ranges::find(kRoleNames, name);
  if (found == std::end(kRoleNames)) return std::nullopt;
  return static_cast<Role>(found - std::begin(kRoleNames));
}

bool device_name_less(const std::string& a, const std::string& b) {
  const auto key = [](const std::string& name) {
    const auto number = is_digit_string(name) ? decimal_numeral(name) : std::nullopt;
    // Numerals without leading zeros sort by length, then as text.
    return number ? std::tuple(0, number->size(), *number) : std::tuple(1, std::size_t{0}, name);
  };
  const auto key_a = key(a);
  const auto key_b = key(b);
  return key_a < key_b;
}

std::string gpus_option(std::span<const std::string> devices) {
  constexpr std::size_t kMostNames = 128;
  const auto is_range = [](std::string_view name) {
    const std::size_t dash = name.find('-');
    return dash != name.npos && is_ascii_digits(name.substr(0, dash)) &&
           is_ascii_digits(name.substr(dash + 1));
  };
  const auto cannot_be_given = [&](const std::string& name) {
    return name.empty() || name.find(',') != name.npos || is_range(name) || printable(name) != name;
  };
  if (devices.empty() || devices.size() > kMostNames ||
      std::ranges::any_of(devices, cannot_be_given)) {
    return "--gpus";
  }
  return "--gpus " + shell_word(joined_text(devices, ","));
}

std::string_view name(CpuSensor sensor) {
  constexpr std::string_view kNames[kCpuSensors] = {"module", "grace_socket", "dcgm_cpu_rail",
                                                    "cpu_rail", "cpu_sysio"};
  return kNames[static_cast<std::size_t>(sensor)];
}

std::string_view window_source_name(WindowSource source) {
  constexpr std::array<std::string_view, 6> kNames = {"exact",   "tied",      "wrapped",
                                                      "session", "estimated", "given"};
  return kNames.at(static_cast<std::size_t>(source));
}

// ---- The interval of an estimate, and how energy is shared among requests

namespace {

double root_of_squares(const Estimate& estimate, bool accuracy) {
  double sum = 0;
  for (const Component& part : estimate.components) {
    if (accuracy || !part.is_accuracy) sum += part.joules * part.joules;
  }
  return std::sqrt(sum);
}

}  // namespace

double Estimate::standard_uncertainty_j() const { return root_of_squares(*this, true); }
double Estimate::repeatability_j() const { return root_of_squares(*this, false); }
double Estimate::low_j() const {
  return std::max(0.0, joules - kCoverageFactor * standard_uncertainty_j());
}
double Estimate::high_j() const { return joules + kCoverageFactor * standard_uncertainty_j(); }
double Estimate::repeatability_low_j() const {
  return std::max(0.0, joules - kCoverageFactor * repeatability_j());
}
double Estimate::repeatability_high_j() const {
  return joules + kCoverageFactor * repeatability_j();
}

std::string_view name(RequestShare share) {
  constexpr std::array<std::string_view, 3> kNames = {"equal", "tokens", "phase"};
  return kNames.at(static_cast<std::size_t>(share));
}

std::string_view name(PhaseModel model) {
  return model == PhaseModel::counts ? "counts" : "states";
}

std::string_view name(LatencyKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"ttft", "tpot", "e2e"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string Slo::text() const {
  std::string text;
  for (const SloLimit& limit : limits) text += (text.empty() ? "" : ",") + limit.text;
  return text;
}

bool GoodWork::holds(const SloLimit& limit, std::size_t place) const {
  constexpr double kRounding = 1e-9;
  return requests > 0 && static_cast<double>(kept.at(place)) >=
                             (limit.share - kRounding) * static_cast<double>(requests);
}

bool GoodWork::holds() const {
  for (std::size_t i = 0; i < slo.limits.size(); ++i) {
    if (!holds(slo.limits[i], i)) return false;
  }
  return true;
}

// ---- Published numbers

std::vector<std::string_view> not_finite(const Metrics& metrics) {
  std::vector<std::string_view> keys;
  for (const Metric& metric : metrics) {
    if (!std::isfinite(metric.value)) keys.push_back(metric.key);
  }
  return keys;
}

std::optional<double> value_of(const Metrics& metrics, std::string_view key) {
  const auto metric = std::ranges::find(metrics, key, &Metric::key);
  return metric == metrics.end() ? std::nullopt : std::optional(metric->value);
}

double rounded(double value, int decimals) {
  if (!std::isfinite(value)) return value;
  std::array<char, 400> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                 std::chars_format::fixed, decimals)
                       .ptr;
  double result = 0;
  std::from_chars(digits.data(), end, result);
  return result;
}

}  // namespace aggregate_power
