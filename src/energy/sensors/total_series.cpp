// Compares each device's readings with the sum of all others'.
#include "aggregate_power/gpu.h"
#include "energy/sensors/series_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/characters.h"
#include "base/text/pattern.h"

namespace aggregate_power::energy {
namespace {

constexpr std::size_t kTotalTimes = 20;
constexpr std::size_t kTotalValues = 5;
constexpr std::size_t kTotalMostTimes = 4096;
constexpr double kNearlyAll = 0.98;  // of the times
constexpr double kTotalRange = 20;   // times what rounding makes
constexpr double kStepShare = 0.05;  // of what a device varies
constexpr double kClearlyOther = 8;  // the same

std::string device_name(std::string_view device) {
  return lower_ascii(strip(device.substr(device.rfind('/') + 1)));
}

// A sensor of the machine among the GPUs, or of another part of it: the driver of an MI350 shows
// the power of the system on node 0.
bool is_machine_name(std::string_view device) {
  static const Pattern pattern =
      "(current|total|whole|apu)?[ ._-]*"
      "(sys|system|node|npm|host|server|machine|chassis|platform|baseboard|base ?board|ubb|rack|psu"
      "|pdu|wall|cpu|processor|dram|ram|memory|mem|package|pkg|socket|(un)?core|psys|(intel-)?rapl)"
      "([ ._:-]*(cpu|package|pkg|core|dram|sensor|power|pwr|watts?|w|draw|usage|manager|node|system|[0-9]+))*";
  return pattern.matches(device_name(device));
}

bool is_total_name(std::string_view device) {
  static const Pattern pattern =
      "((all|total|sum|gpus?|node|host|system|server|board|overall|power)[ ._-]*)?"
      "(total|totals|sum|all|average|avg|mean|overall|aggregate|aggregated|combined)"
      "([ ._-]*(of|gpus?|power|watts?|w|draw|all))*";
  return pattern.matches(device_name(device));
}

// The mean of GPUs, by its name: a list of them is called like the first columns of a query.
bool is_mean_name(std::string_view device) {
  static const Pattern pattern =
      "((all|gpus?|node|host|system|server|board|overall|power)[ ._-]*)?(average|avg|mean)"
      "([ ._-]*(of|gpus?|power|watts?|w|draw|all))*"
      "|[[(]?(gpu *)?[0-9]+( *[,;+&] *(gpu *)?[0-9]+)+[])]?";
  return pattern.matches(device_name(device));
}

// Indices are counted from 0, so the mean of several is often half a number.
bool is_half_index(std::string_view device) {
  static const Pattern pattern = "[0-9]+[.]50*";
  return pattern.matches(device_name(device));
}

// Readings of several devices at the times of the first one, as columns of one table.
struct Table {
  std::vector<std::size_t> devices;        // places
  std::vector<std::vector<double>> watts;  // by device, then by time
  std::vector<double> sums_w;              // by time
  double rounding_w = 0;                   // the last digit of all

  std::size_t times() const { return sums_w.size(); }
};

double last_digit(std::span<const DeviceSeries> devices) {
  const auto are_multiples = [&](double unit) {
    for (const DeviceSeries& device : devices) {
      for (const Sample& sample : device.samples) {
        if (std::abs(std::remainder(sample.watts, unit)) > 1e-6) return false;
      }
    }
    return true;
  };
  return are_multiples(1) ? 1 : are_multiples(0.1) ? 0.1 : 0.01;
}

// The reading at a time, give or take a quarter of the device's interval: one poll asks all.
class NearReadings {
 public:
  explicit NearReadings(std::span<const Sample> samples) : samples_(samples) {
    const double length_s = samples.back().unix_s - samples.front().unix_s;
    apart_s_ = samples.size() < 2 ? 0 : length_s / static_cast<double>(samples.size() - 1) / 4;
  }
  std::optional<double> at(double unix_s) {
    while (next_ + 1 < samples_.size() && std::abs(samples_[next_ + 1].unix_s - unix_s) <=
                                              std::abs(samples_[next_].unix_s - unix_s)) {
      ++next_;
    }
    const Sample& sample = samples_[next_];
    return std::abs(sample.unix_s - unix_s) <= apart_s_ ? std::optional(sample.watts)
                                                        : std::nullopt;
  }

 private:
  std::span<const Sample> samples_;
  double apart_s_ = 0;
  std::size_t next_ = 0;
};

Table table_of(std::span<const DeviceSeries> devices, std::vector<std::size_t> places) {
  Table table{std::move(places), {}, {}, last_digit(devices)};
  std::vector<NearReadings> near;
  for (const std::size_t place : table.devices) near.emplace_back(devices[place].samples);
  table.watts.resize(near.size());
  for (const Sample& sample : devices[table.devices.front()].samples) {
    std::vector<double> row;
    for (NearReadings& device : near) {
      if (const auto watts = device.at(sample.unix_s)) row.push_back(*watts);
    }
    if (row.size() < near.size()) continue;
    double sum_w = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      table.watts[i].push_back(row[i]);
      sum_w += row[i];
    }
    table.sums_w.push_back(sum_w);
    if (table.times() >= kTotalMostTimes) break;
  }
  return table;
}

// Plateaus with a few readings between them agree by chance.
bool varies(const std::vector<double>& watts, double apart_w) {
  constexpr std::size_t kFewestMoves = 20;
  constexpr std::size_t kMoveIn = 10;
  std::size_t moves = 0;
  for (std::size_t i = 1; i < watts.size(); ++i) moves += watts[i] != watts[i - 1] ? 1 : 0;
  if (moves < std::min(kFewestMoves, watts.size() / kMoveIn)) return false;
  const auto [least, most] = std::ranges::minmax(watts);
  return most - least >= kTotalRange * apart_w &&
         std::set<double>(watts.begin(), watts.end()).size() >= kTotalValues;
}

// Whether a device's readings are its others' sum divided by `parts`.
bool is_share_of_others(const Table& table, std::size_t own, double parts, double apart_w) {
  std::size_t equal = 0;
  for (std::size_t i = 0; i < table.times(); ++i) {
    const double watts = table.watts[own][i];
    equal += std::abs((table.sums_w[i] - watts) / parts - watts) <= apart_w ? 1 : 0;
    if (i >= kTotalTimes && 2 * equal < i) return false;
  }
  return static_cast<double>(equal) >= kNearlyAll * static_cast<double>(table.times());
}

// GPUs in lock-step draw their mean, too: each then keeps its distance from the others.
bool is_in_step(const Table& table, std::size_t own, double apart_w) {
  const auto [lowest, highest] = std::ranges::minmax(table.watts[own]);
  const double range_w = highest - lowest;
  for (std::size_t other = 0; other < table.watts.size(); ++other) {
    double least_w = std::numeric_limits<double>::infinity();
    double most_w = -least_w;
    for (std::size_t i = 0; i < table.times(); ++i) {
      const double distance_w = table.watts[other][i] - table.watts[own][i];
      least_w = std::min(least_w, distance_w);
      most_w = std::max(most_w, distance_w);
    }
    const bool keeps_distance =
        most_w - least_w < std::max(kClearlyOther * apart_w, kStepShare * range_w);
    if (!keeps_distance) return false;
  }
  return true;
}

// Returns "sum" or "mean"; null: it is neither.
const char* kind_of_share(const Table& table, std::size_t own) {
  const auto others = static_cast<double>(table.devices.size() - 1);
  const double sum_apart_w = table.rounding_w * (others + 1) / 2 + 1e-6;
  if (varies(table.watts[own], sum_apart_w) && is_share_of_others(table, own, 1, sum_apart_w)) {
    return "sum";
  }
  const double mean_apart_w = table.rounding_w + 1e-6;
  const bool is_mean = varies(table.watts[own], mean_apart_w) &&
                       is_share_of_others(table, own, others, mean_apart_w) &&
                       !is_in_step(table, own, mean_apart_w);
  return is_mean ? "mean" : nullptr;
}

// The places of the devices of each host, and of all.
std::vector<std::vector<std::size_t>> groups_of(std::span<const DeviceSeries> devices,
                                                const std::vector<bool>& is_named) {
  std::map<std::string_view, std::vector<std::size_t>> by_host;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const bool has_power = std::ranges::any_of(
        devices[i].samples, [](const Sample& sample) { return sample.watts > 0; });
    if (is_named[i] || !has_power) continue;
    const std::string_view name = devices[i].device;
    by_host[name.substr(0, name.rfind('/') + 1)].push_back(i);
    all.push_back(i);
  }
  std::vector<std::vector<std::size_t>> groups;
  if (by_host.size() > 1) {
    for (auto& [host, places] : by_host) groups.push_back(std::move(places));
  }
  groups.push_back(std::move(all));
  return groups;
}

std::string total_text(std::span<const DeviceSeries> devices, const std::vector<std::string>& what,
                       const std::vector<bool>& is_total) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!is_total[i]) kept.push_back(devices[i].device);
  }
  return fmt::format("{}: their power would count twice; {} leaves them out", fmt::join(what, "; "),
                     gpus_option(kept));
}

}  // namespace

std::string only_means_text(std::span<const DeviceSeries> devices) {
  const bool are_means =
      !devices.empty() && std::ranges::all_of(devices, [&](const DeviceSeries& device) {
        return is_mean_name(device.device) || (devices.size() == 1 && is_half_index(device.device));
      });
  if (!are_means) return {};
  return fmt::format("GPU '{}' is several GPUs, or their mean, by its name",
                     printable(devices.front().device));
}

std::string total_text(std::span<const DeviceSeries> devices) {
  constexpr std::size_t kFewestDevices = 3;
  std::vector<bool> is_total;
  std::vector<std::string> what;
  for (const DeviceSeries& device : devices) {
    is_total.push_back(is_total_name(device.device) || is_machine_name(device.device));
  }
  if (std::ranges::all_of(is_total, [](bool is) { return is; })) return {};
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!is_total[i]) continue;
    what.push_back(fmt::format("GPU {} is {} by its name", printable(devices[i].device),
                               is_total_name(devices[i].device)
                                   ? "the total or the mean of others"
                                   : "a sensor of the machine or of another part of it"));
  }
  for (const std::vector<std::size_t>& group : groups_of(devices, is_total)) {
    if (group.size() < kFewestDevices) continue;
    const Table table = table_of(devices, group);
    for (std::size_t own = 0; table.times() >= kTotalTimes && own < group.size(); ++own) {
      const char* const share = kind_of_share(table, own);
      if (share == nullptr || is_total[group[own]]) continue;
      is_total[group[own]] = true;
      what.push_back(fmt::format("GPU {} is the {} of {} other GPUs at all times",
                                 printable(devices[group[own]].device), share, group.size() - 1));
    }
  }
  return what.empty() ? std::string() : total_text(devices, what, is_total);
}

}  // namespace aggregate_power::energy
