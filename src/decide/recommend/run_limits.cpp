// Reads power limits from aggregates and recordings.
#include "decide/recommend/run_limits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "core/energy/recording_summary.h"
#include "decide/recommend/recommend.h"
#include "decide/recommend/sweep.h"
#include "recorders/recording.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kAskedKeys[] = {"power_limit_w", "power_limit",       "max_watt",
                                           "max_watts",     "gpu_power_limit_w", "gpu_power_limit",
                                           "power_cap_w",   "power_cap",         "gpu_power_cap_w"};
constexpr std::string_view kInForceKeys[] = {"enforced_power_limit_w", "enforced_power_limit"};
constexpr std::string_view kClockKeys[] = {
    "gpu_clock_mhz", "locked_clock_mhz", "graphics_clock_mhz", "sm_clock_mhz",
    "clock_mhz",     "gpu_clock",        "locked_clock"};
constexpr std::uint64_t kPowerCapReason = 0x4;
// Hardware slowdown, software thermal, hardware thermal, hardware power brake.
constexpr std::uint64_t kSlowdownReasons = 0x8 | 0x20 | 0x40 | 0x80;
constexpr double kMostOddShare = 0.05;

struct GpuLimits {
  std::vector<double> reported_w;
  std::size_t with_reasons = 0;
  std::size_t slowed_down = 0;
  std::size_t capped = 0;
  std::vector<double> clocks_mhz;
};

template <std::size_t N>
std::optional<double> member_w(const PublishedRun& run, const std::string_view (&keys)[N]) {
  for (const std::string_view key : keys) {
    const double watts = sweep_number(run.text_of(key));
    if (watts > 0) return watts;
  }
  return std::nullopt;
}

bool is_of_clock(const std::string& key) {
  return key.find("clock") != key.npos || key.find("mhz") != key.npos;
}

// What the GPUs of the run reported in its window, and who they are.
std::map<std::string, GpuLimits> reported_limits(const PublishedRun& run,
                                                 std::vector<std::string>& uuids) {
  const auto place = telemetry_of(run);
  if (!place || !place->facts) return {};
  const auto opened = recording_of_run(*place, record_of(run));
  const Recording& recording = *opened;
  if (!recording.faults().empty()) return {};
  const Window window{run.start_unix_s, run.start_unix_s + run.duration_s};
  std::map<std::uint32_t, GpuLimits> limits;
  const auto take = [&](const Batch& batch) {
    const auto& [readings, states] = batch;
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (readings[i].kind != Reading::Kind::power || !window.contains(readings[i].unix_s)) {
        continue;
      }
      GpuLimits& gpu = limits[readings[i].device];
      const double limit_w = states[i][GpuQuantity::power_limit_w];
      if (limit_w > 0) gpu.reported_w.push_back(limit_w);
      const double clock_mhz = states[i][GpuQuantity::clock_mhz];
      if (clock_mhz > 0) gpu.clocks_mhz.push_back(clock_mhz);
      const double mask = states[i][GpuQuantity::clock_reasons];
      if (!(mask >= 0 && mask < 0x1p53)) continue;
      ++gpu.with_reasons;
      const auto reasons = static_cast<std::uint64_t>(mask);
      if ((reasons & kSlowdownReasons) != 0) ++gpu.slowed_down;
      if ((reasons & kPowerCapReason) != 0) ++gpu.capped;
    }
  };
  const auto wanted = [](const Telemetry&) {
    return quantity_set(
        {GpuQuantity::power_limit_w, GpuQuantity::clock_reasons, GpuQuantity::clock_mhz});
  };
  const Telemetry telemetry =
      read_whole(recording, {.take = take, .begin = wanted, .may_use_threads = false});
  uuids = recorded_boards(run, telemetry);
  std::map<std::string, GpuLimits> named;
  for (auto& [device, gpu] : limits) named[telemetry.devices()[device]] = std::move(gpu);
  return named;
}

double odd_share(std::size_t odd, std::size_t all) {
  return all == 0 ? 0 : static_cast<double>(odd) / static_cast<double>(all);
}

void judge_limits(const std::map<std::string, GpuLimits>& gpus, SweptLimit& limit) {
  std::vector<double> medians;
  for (const auto& [name, gpu] : gpus) {
    if (!gpu.reported_w.empty()) medians.push_back(quantile_of(gpu.reported_w, 0.5));
  }
  if (medians.empty()) return;
  const double median_w = quantile_of(medians, 0.5);
  const double wanted_w = limit.asked_w.value_or(median_w);
  limit.in_force_w = *std::ranges::max_element(
      medians, {}, [&](double one) { return std::pair(std::abs(one - wanted_w), one); });
  for (const auto& [name, gpu] : gpus) {
    const auto others = static_cast<std::size_t>(std::ranges::count_if(
        gpu.reported_w, [&](double one) { return !is_same_limit(wanted_w, one); }));
    const double share = odd_share(others, gpu.reported_w.size());
    if (share > kMostOddShare && limit.why_not_in_force.empty()) {
      limit.why_not_in_force =
          fmt::format("GPU {} had another limit in {:.0f} % of the samples", name, 100 * share);
    }
  }
  // Without a limit that was asked for, what counts is the usual one.
  if (!limit.asked_w && is_same_limit(median_w, *limit.in_force_w)) limit.in_force_w = median_w;
}

void judge_slowdowns(const std::map<std::string, GpuLimits>& gpus, SweptLimit& limit) {
  for (const auto& [name, gpu] : gpus) {
    const double share = odd_share(gpu.slowed_down, gpu.with_reasons);
    if (share <= kMostOddShare || !limit.why_not_in_force.empty()) continue;
    limit.why_not_in_force = fmt::format(
        "heat or hardware slowed GPU {} down in {:.0f} % of the samples", name, 100 * share);
  }
}

// Of samples at another clock than the one that was asked for, where that is the median.
void judge_asked_clock(const std::string& name, const std::vector<double>& clocks_mhz,
                       SweptLimit& limit) {
  const auto is_other = [&](double one) { return !is_same_clock(*limit.asked_mhz, one); };
  const auto others = static_cast<std::size_t>(std::ranges::count_if(clocks_mhz, is_other));
  const double share = odd_share(others, clocks_mhz.size());
  if (share <= kMostOddShare || is_other(quantile_of(clocks_mhz, 0.5))) return;
  if (!limit.why_clock_not_held.empty()) return;
  limit.why_clock_not_held =
      fmt::format("GPU {} had another clock in {:.0f} % of the samples", name, 100 * share);
}

void judge_clocks(const std::map<std::string, GpuLimits>& gpus, SweptLimit& limit) {
  constexpr double kSteadyWithin = 0.015;
  constexpr double kMostUnsteady = 0.1;
  std::vector<double> medians;
  limit.is_clock_steady = true;
  for (const auto& [name, gpu] : gpus) {
    if (gpu.clocks_mhz.empty()) continue;
    const double median = quantile_of(gpu.clocks_mhz, 0.5);
    medians.push_back(median);
    const auto off =
        static_cast<std::size_t>(std::ranges::count_if(gpu.clocks_mhz, [&](double one) {
          return std::abs(one - median) > kSteadyWithin * median;
        }));
    if (odd_share(off, gpu.clocks_mhz.size()) > kMostUnsteady) limit.is_clock_steady = false;
    const double capped = odd_share(gpu.capped, gpu.with_reasons);
    if (capped > kMostOddShare && limit.why_clock_not_held.empty()) {
      limit.why_clock_not_held =
          fmt::format("the power limit held the clock of GPU {} back in {:.0f} % of the samples",
                      name, 100 * capped);
    }
    if (limit.asked_mhz) judge_asked_clock(name, gpu.clocks_mhz, limit);
  }
  if (medians.empty()) return;
  const double wanted = limit.asked_mhz.value_or(quantile_of(medians, 0.5));
  limit.clock_mhz = *std::ranges::max_element(
      medians, {}, [&](double one) { return std::pair(std::abs(one - wanted), one); });
}

}  // namespace

bool is_limit_key(std::string_view key) {
  return std::ranges::find(kAskedKeys, key) != std::end(kAskedKeys);
}

bool is_clock_key(std::string_view key) {
  return std::ranges::find(kClockKeys, key) != std::end(kClockKeys);
}

std::optional<double> asked_limit_w(const PublishedRun& run, const std::string& key) {
  if (key.empty()) return member_w(run, kAskedKeys);
  const std::string_view keys[] = {key};
  return member_w(run, keys);
}

std::optional<double> asked_clock_mhz(const PublishedRun& run, const std::string& key) {
  return is_of_clock(key) ? asked_limit_w(run, key) : member_w(run, kClockKeys);
}

std::optional<double> stated_limit_w(const PublishedRun& run) {
  const auto in_force_w = member_w(run, kInForceKeys);
  return in_force_w ? in_force_w : member_w(run, kAskedKeys);
}

std::vector<std::string> recorded_boards(const PublishedRun& run, const Telemetry& telemetry) {
  const std::vector<GpuKey> keys = telemetry.keys();
  std::vector<std::string> uuids;
  for (const std::string& id : *run.gpu_ids) {
    const auto found = std::ranges::find(telemetry.devices(), id);
    const auto place = static_cast<std::size_t>(found - telemetry.devices().begin());
    if (place >= keys.size() || keys[place].uuid.empty()) return {};
    uuids.push_back(keys[place].uuid);
  }
  std::ranges::sort(uuids);
  return uuids;
}

SweptLimit limit_of_run(const PublishedRun& run, const std::string& key) {
  SweptLimit limit{.asked_w = asked_limit_w(run, is_of_clock(key) ? "" : key)};
  limit.asked_mhz = asked_clock_mhz(run, key);
  limit.in_force_w = member_w(run, kInForceKeys);
  if (!(run.duration_s > 0)) return limit;
  std::map<std::string, GpuLimits> gpus;
  try {
    gpus = reported_limits(run, limit.gpu_uuids);
  } catch (const FileError&) {  // it is gone, or damaged: nothing is known of the limits
  } catch (const Error&) {
  } catch (const TelemetryError&) {
  }
  judge_limits(gpus, limit);
  judge_slowdowns(gpus, limit);
  judge_clocks(gpus, limit);
  return limit;
}

}  // namespace aggregate_power
