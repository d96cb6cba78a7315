// Names of GPUs and roles.
#include "aggregate_power/gpu.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/text/unicode.h"

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

}  // namespace aggregate_power
