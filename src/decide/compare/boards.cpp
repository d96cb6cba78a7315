// Tells boards apart by their UUIDs, or else by ids, hardware and hosts.
#include "decide/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "energy/uncertainty/sensor_table.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kHardwareKeys[] = {"hw",   "hardware", "gpu", "gpu_model",
                                              "host", "hostname", "node"};

// Whether all that know it agree; those that do not know it say nothing.
template <typename Value>
bool agree_where_known(const std::vector<Value>& values) {
  const Value* known = nullptr;
  for (const Value& value : values) {
    if (value.empty()) continue;
    if (known != nullptr && *known != value) return false;
    known = &value;
  }
  return true;
}

template <typename Value, typename Get>
std::vector<Value> of_each_run(const std::vector<const PublishedRun*>& runs, Get get) {
  std::vector<Value> values;
  for (const PublishedRun* run : runs) values.push_back(get(*run));
  return values;
}

}  // namespace

std::string_view boards_name(Boards boards) {
  switch (boards) {
    case Boards::same:
      return "same";
    case Boards::assumed_same:
      return "assumed_same";
    default:
      return "different";
  }
}

Boards boards_of(const std::vector<const PublishedRun*>& runs) {
  using Texts = SharedTexts;
  const auto uuids =
      of_each_run<Texts>(runs, [](const PublishedRun& run) { return run.gpu_uuids; });
  if (!agree_where_known(uuids)) return Boards::different;
  if (std::ranges::none_of(uuids, &Texts::empty)) return Boards::same;
  const auto ids = of_each_run<Texts>(
      runs, [](const PublishedRun& run) { return run.gpu_uuids.empty() ? run.gpu_ids : Texts(); });
  const auto hosts = of_each_run<Texts>(runs, [](const PublishedRun& run) { return run.hosts; });
  if (!agree_where_known(ids) || !agree_where_known(hosts)) return Boards::different;
  for (const std::string_view key : kHardwareKeys) {
    const auto names =
        of_each_run<std::string>(runs, [&](const PublishedRun& run) { return run.text_of(key); });
    if (!agree_where_known(names)) return Boards::different;
  }
  return Boards::assumed_same;
}

double prior_accuracy(const PublishedRun& run) {
  constexpr SensorAccuracy kPrior;
  const auto each_w = run.number("avg_power_w");
  if (!each_w || !(each_w->value > 0)) return std::hypot(kPrior.shared_gain, kPrior.each_gain);
  const auto all_w = run.number("avg_total_gpu_power_w");
  const double gpus = all_w ? std::max(1.0, std::round(all_w->value / each_w->value)) : 1;
  const double turned = std::abs(1 - kPrior.pivot_w / each_w->value);
  const double offset = kPrior.offset_w / each_w->value;
  return std::sqrt(std::pow(kPrior.shared_gain * turned, 2) +
                   (std::pow(kPrior.each_gain * turned, 2) + offset * offset) / gpus);
}

}  // namespace aggregate_power
