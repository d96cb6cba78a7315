// Tells boards apart by their UUIDs, or else by ids, hardware and hosts.
#include "decide/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "energy/uncertainty/sensor_table.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kModelKeys[] = {"hw", "hardware", "gpu", "gpu_model", "gpu_name"};
constexpr std::string_view kHostKeys[] = {"host", "hostname", "node"};

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
  return mapped<Value>(runs, [&](const PublishedRun* run) { return get(*run); });
}

}  // namespace

std::string_view boards_name(Boards boards) {
  constexpr std::string_view kNames[] = {"same", "assumed_same", "different"};
  return kNames[static_cast<std::size_t>(boards)];
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
  const auto is_same_in_all = [&](std::string_view key) {
    return agree_where_known(
        of_each_run<std::string>(runs, [&](const PublishedRun& run) { return run.text_of(key); }));
  };
  return std::ranges::all_of(kModelKeys, is_same_in_all) &&
                 std::ranges::all_of(kHostKeys, is_same_in_all)
             ? Boards::assumed_same
             : Boards::different;
}

std::string boards_text(const std::vector<const PublishedRun*>& runs) {
  std::set<std::string> texts;
  for (const PublishedRun* const run : runs) {
    std::string text;
    for (const auto& names : {run->gpu_uuids, run->gpu_ids, run->hosts}) {
      text += fmt::format("{}\n", fmt::join(names.begin(), names.end(), "\t"));
    }
    for (const std::string_view key : kModelKeys) text += run->text_of(key) + '\n';
    for (const std::string_view key : kHostKeys) text += run->text_of(key) + '\n';
    texts.insert(std::move(text));
  }
  return joined_text(texts, "\n");
}

bool are_of_one_model(const std::vector<const PublishedRun*>& runs) {
  bool is_stated = false;
  for (const std::string_view key : kModelKeys) {
    const auto names =
        of_each_run<std::string>(runs, [&](const PublishedRun& run) { return run.text_of(key); });
    if (!agree_where_known(names)) return false;
    is_stated = is_stated || std::ranges::none_of(names, &std::string::empty);
  }
  return is_stated;
}

SensorDoubt prior_doubt(const PublishedRun& run) {
  constexpr SensorAccuracy kPrior;
  const auto each_w = run.number("avg_power_w");
  if (!each_w || !(each_w->value > 0)) return {kPrior.shared_gain, kPrior.each_gain};
  const auto all_w = run.number("avg_total_gpu_power_w");
  const double gpus = all_w ? std::max(1.0, std::round(all_w->value / each_w->value)) : 1;
  const double turned = 1 - kPrior.pivot_w / each_w->value;
  return {kPrior.shared_gain * turned,
          std::hypot(kPrior.each_gain * turned, kPrior.offset_w / each_w->value) / std::sqrt(gpus)};
}

double doubt_of_ratio(const std::vector<SensorDoubt>& base, const std::vector<SensorDoubt>& next,
                      bool are_of_one_model) {
  const auto most = [](const std::vector<SensorDoubt>& runs, const auto& number) {
    return number(*std::ranges::max_element(runs, {}, number));
  };
  const auto own = [](const SensorDoubt& doubt) { return doubt.own; };
  const auto whole = [](const SensorDoubt& doubt) {
    return std::hypot(doubt.shared_gain, doubt.own);
  };
  if (!are_of_one_model) return std::hypot(most(base, whole), most(next, whole));
  const auto [least_base, most_base] = std::ranges::minmax(base, {}, &SensorDoubt::shared_gain);
  const auto [least_next, most_next] = std::ranges::minmax(next, {}, &SensorDoubt::shared_gain);
  const double apart = std::max(most_base.shared_gain - least_next.shared_gain,
                                most_next.shared_gain - least_base.shared_gain);
  return std::hypot(apart, most(base, own), most(next, own));
}

}  // namespace aggregate_power
