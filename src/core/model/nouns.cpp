// Names of GPUs and roles.
#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/gpu.h"
#include "aggregate_power/gpus_option.h"
#include "aggregate_power/load.h"
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
  return "--gpus " + shell_word(fmt::format("{}", fmt::join(devices, ",")));
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

}  // namespace aggregate_power
