// Tells power limits apart, and whether they were in force.
#include "decide/recommend/limit_sweep.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace aggregate_power {

std::string_view name(LimitState state) {
  switch (state) {
    case LimitState::ok:
      return "ok";
    case LimitState::insufficient:
      return "insufficient";
    case LimitState::limit_not_in_force:
      return "limit_not_in_force";
    case LimitState::too_slow:
      break;
  }
  return "too_slow";
}

bool is_same_limit(double limit_w, double other_w) {
  return std::abs(limit_w - other_w) <= std::max(1.0, 0.005 * std::min(limit_w, other_w));
}

std::vector<double> distinct_limits(std::vector<double> limits_w) {
  std::ranges::sort(limits_w);
  std::vector<double> distinct;
  for (const double limit_w : limits_w) {
    if (distinct.empty() || !is_same_limit(distinct.back(), limit_w)) distinct.push_back(limit_w);
  }
  return distinct;
}

std::size_t limit_index(const std::vector<double>& distinct_w, double limit_w) {
  const auto above = std::ranges::upper_bound(distinct_w, limit_w);
  return above == distinct_w.begin() ? 0 : static_cast<std::size_t>(above - distinct_w.begin()) - 1;
}

std::string limit_fault(double limit_w, std::optional<double> in_force_w,
                        std::optional<double> gpu_power_w) {
  if (in_force_w && !is_same_limit(limit_w, *in_force_w)) {
    return fmt::format("the limit in force was {:.6g} W", *in_force_w);
  }
  if (gpu_power_w && *gpu_power_w > 1.03 * limit_w) {
    return fmt::format("a GPU drew {:.1f} W on average, {:.1f} % above the limit", *gpu_power_w,
                       100 * (*gpu_power_w / limit_w - 1));
  }
  return {};
}

}  // namespace aggregate_power
