// Groups GPUs that have the same limit.
#include "core/record/limits_json.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/metric.h"
#include "base/text/characters.h"

namespace aggregate_power::results {
namespace {

std::string watts_text(const GpuLimit& limit) {
  return joined_text(limit.limits_w, ", then ",
                     [](const double watts) { return fmt::format("{:g} W", watts); });
}

// The largest share of GPUs that have one.
std::optional<double> most_at_limit(std::span<const GpuLimit* const> limits) {
  std::optional<double> most;
  for (const GpuLimit* const limit : limits) {
    if (limit->share_at_limit) most = std::max(most.value_or(0), *limit->share_at_limit);
  }
  return most;
}

}  // namespace

std::optional<double> common_limit_w(std::span<const GpuLimit> limits) {
  if (limits.empty()) return std::nullopt;
  const bool are_same = std::ranges::all_of(limits, [&](const GpuLimit& limit) {
    return limit.limits_w.size() == 1 && limit.limits_w == limits[0].limits_w;
  });
  return are_same ? std::optional(limits[0].limits_w[0]) : std::nullopt;
}

Json limits_json(std::span<const GpuLimit> limits) {
  JsonObject gpus;
  for (const GpuLimit& limit : limits) {
    Json json = {
        {"limit_w", limit.limits_w.size() == 1 ? Json(limit.limits_w[0]) : Json(limit.limits_w)},
        {"source", limit.source},
        {"share_at_limit",
         limit.share_at_limit ? Json(rounded(*limit.share_at_limit, 6)) : Json()}};
    if (limit.before_w) json["before_w"] = *limit.before_w;
    if (limit.restored_w) json["restored_w"] = *limit.restored_w;
    gpus.set(limit.gpu, std::move(json));
  }
  return std::move(gpus).take();
}

std::string limits_text(std::span<const GpuLimit> limits) {
  std::vector<std::pair<std::string, std::vector<const GpuLimit*>>> groups;
  for (const GpuLimit& limit : limits) {
    const std::string watts = watts_text(limit);
    auto group = std::ranges::find(groups, watts, [](const auto& one) { return one.first; });
    if (group == groups.end()) group = groups.insert(group, {watts, {}});
    group->second.push_back(&limit);
  }
  std::vector<std::string> texts;
  for (const auto& [watts, of_group] : groups) {
    std::vector<std::string> names;
    for (const GpuLimit* const limit : of_group) names.push_back(printable(limit->gpu));
    std::string text =
        groups.size() == 1 ? watts : fmt::format("GPU {}: {}", fmt::join(names, ", "), watts);
    if (const auto share = most_at_limit(of_group)) {
      text += fmt::format(", {}{:.1f} % of the readings at it", of_group.size() > 1 ? "up to " : "",
                          100 * *share);
    }
    texts.push_back(std::move(text));
  }
  return joined_text(texts, "; ");
}

std::vector<std::string> limit_warnings(std::span<const GpuLimit> limits) {
  std::vector<std::string> warnings;
  for (const GpuLimit& limit : limits) {
    if (limit.limits_w.size() < 2) continue;
    warnings.push_back(fmt::format("the power limit of GPU {} was changed in the window: {}",
                                   printable(limit.gpu), watts_text(limit)));
  }
  return warnings;
}

}  // namespace aggregate_power::results
