// Compares the GPUs of a run with each other, with idle boards and with the GPUs left out.
#include "runs/measure/gpu_work.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "aggregate_power/gpu.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "core/energy/plausibility.h"

namespace aggregate_power::runs {
namespace {

constexpr double kIdleOfLimit = 0.25;    // of its limit is the most that an idle board draws
constexpr double kDeadOfLimit = 0.15;    // of its limit is less than any board draws at work
constexpr double kMostIdleBoardW = 200;  // of a board whose limit is unknown
constexpr double kMostIdlePct = 1;       // of utilization, at any moment
constexpr double kLeastModelMb = 500;    // a model takes more memory
constexpr double kAround_s = 30;         // of the window are looked at

bool is_low(const GpuWork& gpu) {
  return gpu.power.mean_w < (gpu.limit_w > 0 ? kIdleOfLimit * gpu.limit_w : kMostIdleBoardW);
}

bool may_be_idle(const GpuWork& gpu) { return is_low(gpu) && !gpu.power.rises(); }

bool is_dead(const GpuWork& gpu) {
  return gpu.limit_w > 0 && gpu.power.mean_w < kDeadOfLimit * gpu.limit_w;
}

// By what its rows state, whatever it draws.
bool states_idleness(const GpuWork& gpu) {
  if (gpu.most_utilization_pct) return *gpu.most_utilization_pct <= kMostIdlePct;
  return gpu.memory_used_mb && *gpu.memory_used_mb < kLeastModelMb;
}

std::vector<double> means_of(std::span<const GpuWork> gpus) {
  return mapped<double>(gpus, [](const GpuWork& gpu) { return gpu.power.mean_w; });
}

double mean_of(std::span<const GpuWork> gpus) {
  return summed(gpus, [](const GpuWork& gpu) { return gpu.power.mean_w; }) /
         static_cast<double>(gpus.size());
}

std::optional<double> if_stated(double value) {
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

// ---- Of a recording

std::vector<GpuWork> works_of(const Samples& samples, const std::vector<std::string>& names,
                              Window window) {
  std::vector<GpuWork> gpus;
  for (std::size_t i = 0; i < std::min(names.size(), samples.devices().size()); ++i) {
    const auto power = power_near(samples.devices()[i], window);
    if (power) gpus.push_back({.gpu = names[i], .power = *power, .number = i});
  }
  return gpus;
}

bool have_odd_readings(const Samples& samples, Window window) {
  return std::ranges::any_of(samples.devices(), [&](const std::vector<Sample>& device) {
    return std::ranges::any_of(samples_in(device, window),
                               [](const Sample& sample) { return sample.watts > kMostBoardWatts; });
  });
}

void read_use(const ReadRecording& read, Window window, std::span<GpuWork> gpus) {
  StatedValues utilization(window, GpuQuantity::utilization_pct);
  StatedValues memory(window, GpuQuantity::memory_used_mb);
  try {
    read_whole(read.recording,
               {.take =
                    [&](const Batch& batch) {
                      utilization.take(batch);
                      memory.take(batch);
                    },
                .begin = [&](const Telemetry&) { return utilization.wanted() | memory.wanted(); },
                .may_use_threads = false});
  } catch (const std::exception&) {  // it changed since it was read
    return;
  }
  for (GpuWork& gpu : gpus) {
    gpu.utilization_pct = if_stated(utilization.mean(gpu.number));
    gpu.most_utilization_pct = if_stated(utilization.highest(gpu.number));
    gpu.memory_used_mb = if_stated(memory.mean(gpu.number));
  }
}

// Those that do not count, and rise and fall with the window.
std::vector<GpuWork> others_at_work(const ReadRecording& read, Window window,
                                    std::span<const GpuWork> counted) {
  Samples samples({window.start_unix_s - kAround_s, window.end_unix_s + kAround_s});
  std::vector<std::string> names;
  try {
    Telemetry all = read.recording.open_all();
    read_rows(read.recording, all, false, {},
              [&](const Batch& batch) { samples.take(batch.readings); });
    names = all.devices();
  } catch (const std::exception&) {  // it changed since it was read
    return {};
  }
  samples.sort();
  std::vector<GpuWork> others = works_of(samples, names, window);
  std::set<std::string_view> known;
  for (const GpuWork& gpu : counted) known.insert(gpu.gpu);
  std::erase_if(others,
                [&](const GpuWork& gpu) { return !gpu.power.steps() || known.contains(gpu.gpu); });
  return others;
}

// ---- Texts

std::string list_of_gpus(std::span<const GpuWork> gpus) {
  return joined_text(gpus, ", ", [](const GpuWork& gpu) { return printable(gpu.gpu); });
}

// In several recordings, one name may be of a GPU in each.
std::string option_of(std::span<const GpuWork> gpus, std::span<const GpuWork> others) {
  std::set<std::string> seen;
  for (const GpuWork& gpu : others) seen.insert(gpu.gpu);
  std::vector<std::string> names;
  for (const GpuWork& gpu : gpus) {
    if (!seen.insert(gpu.gpu).second) return "--gpus";
    names.push_back(gpu.gpu);
  }
  return gpus_option(names);
}

std::string named_gpus(std::span<const GpuWork> gpus) {
  constexpr std::size_t kMostNamed = 8;
  if (gpus.size() <= kMostNamed) return "GPU " + list_of_gpus(gpus);
  return fmt::format("GPU {} and {} more", list_of_gpus(gpus.first(kMostNamed)),
                     gpus.size() - kMostNamed);
}

std::string elsewhere_text(const GpusAtWork& gpus) {
  return fmt::format(
      "the power of {} rises and falls with the window ({:.0f} W each), and that of the GPUs that count does not ({:.0f} W each): the load was not on these; if the run used the others, pass {}",
      named_gpus(gpus.others), mean_of(gpus.others), mean_of(gpus.counted),
      option_of(gpus.others, gpus.counted));
}

std::string idle_all_text(const GpusAtWork& gpus) {
  const GpuWork& first = gpus.counted.front();
  const double highest_pct = largest_of<double>(
      0, gpus.counted, [](const GpuWork& gpu) { return gpu.most_utilization_pct.value_or(0); });
  return fmt::format(
      "all GPUs that count were idle in the window: {:.0f} W each, {}; the load was not on them: record the GPUs that it used{}",
      mean_of(gpus.counted),
      first.most_utilization_pct
          ? fmt::format("at a utilization of at most {:.0f} %", highest_pct)
          : fmt::format("with {:.0f} MB of their memory in use", *first.memory_used_mb),
      gpus.are_of_one_node ? ", or choose them with --gpus" : "");
}

std::string steady_text(std::span<const GpuWork> gpus) {
  return fmt::format(
      "the power of all GPUs that count is that of idle ones, {:.0f} W each, and the same before, in and after the window: if the load was on other GPUs, its energy is not in this number",
      mean_of(gpus));
}

std::string tenants_text(std::span<const GpuWork> steady, std::span<const GpuWork> working,
                         bool may_choose) {
  return fmt::format(
      "the power of {} ({:.0f} W each) is the same before, in and after the window, while that of others rises and falls with it, and all of them count{}",
      named_gpus(steady), mean_of(steady),
      may_choose ? ": if the run used only these, pass " + option_of(working, steady) : "");
}

std::string dead_text(const GpuWork& gpu) {
  return fmt::format(
      "implausible_power: GPU {}: a mean of {:.6g} W at a mean utilization of {:.0f} %, {:.0f} % of its limit of {:.0f} W: the sensor or its unit may be wrong",
      printable(gpu.gpu), gpu.power.mean_w, *gpu.utilization_pct,
      100 * gpu.power.mean_w / gpu.limit_w, gpu.limit_w);
}

// ---- Of a run

// Some idled by their mean, while others worked.
void judge_idle(std::span<const GpuWork> gpus, bool is_count_stated, WorkDoubts& doubts) {
  const auto names = mapped<std::string>(gpus, &GpuWork::gpu);
  const std::vector<double> means_w = means_of(gpus);
  std::vector<bool> is_idle = idle_devices(means_w);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const bool is_surely_idle = gpus[i].power.stays() || states_idleness(gpus[i]);
    is_idle[i] = is_idle[i] && !(gpus[i].utilization_pct.value_or(0) >= kWorkingPct) &&
                 (!is_count_stated || is_surely_idle);
  }
  auto idle = idle_text(names, means_w, is_idle);
  if (!idle) return;
  const double share = idle_share(means_w, is_idle);
  if (is_count_stated || share < kMostIdleShare) {
    doubts.warnings.push_back("idle_gpus_counted: " + *idle);
    return;
  }
  doubts.reasons.add(Reason::idle_gpus_counted,
                     fmt::format("{}; these make up {:.0f} % of the energy", *idle, 100 * share));
}

// Another job's; of one node, judge_idle() names those that draw little.
void judge_tenants(std::span<const GpuWork> gpus, bool are_of_one_node, WorkDoubts& doubts) {
  const std::vector<bool> is_idle = idle_devices(means_of(gpus));
  std::vector<GpuWork> steady;
  std::vector<GpuWork> working;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i].power.steps()) working.push_back(gpus[i]);
    const bool is_named = are_of_one_node && is_idle[i];
    if (gpus[i].power.stays() && !is_named) steady.push_back(gpus[i]);
  }
  if (steady.empty() || working.empty()) return;
  doubts.warnings.push_back("idle_gpus_counted: " + tenants_text(steady, working, are_of_one_node));
}

}  // namespace

std::optional<PowerLimit> board_limit(const SeriesFacts& facts) {
  if (measured_boundary(facts.sensor.scope) != "gpu") return std::nullopt;
  for (const auto& [name, value] : facts.settings) {
    const auto watts = name == "max_power_limit_w" ? python_float(value) : std::nullopt;
    if (watts && *watts > 0) return PowerLimit{"power.max_limit", *watts, {}};
  }
  if (facts.gpu_models.empty()) return std::nullopt;
  std::optional<PowerLimit> highest;
  for (const std::string& model : facts.gpu_models) {
    const auto limit = power_limit_of(model);
    if (!limit) return std::nullopt;
    if (!highest || limit->watts > highest->watts) highest = limit;
  }
  return highest;
}

void add_work(const ReadRecording& read, Window window, bool selects, GpusAtWork& all) {
  std::vector<GpuWork> gpus = works_of(read.samples, read.telemetry.devices(), window);
  const auto board = board_limit(read.telemetry.facts());
  for (GpuWork& gpu : gpus) {
    const StatedLimits::Device stated = read.limits.of(gpu.number);
    gpu.limit_w = stated.rows > 0 ? stated.mean_limit_w() : board ? board->watts : 0;
  }
  all.have_odd_readings |= have_odd_readings(read.samples, window);
  const std::vector<bool> is_idle = idle_devices(means_of(gpus));
  const bool is_odd = std::ranges::find(is_idle, true) != is_idle.end() ||
                      std::ranges::any_of(gpus, is_dead) || std::ranges::all_of(gpus, may_be_idle);
  if (is_odd && !gpus.empty()) read_use(read, window, gpus);
  const bool shows_load =
      std::ranges::any_of(gpus, [](const GpuWork& gpu) { return gpu.power.rises(); });
  if (selects && !shows_load) {
    append(all.others, others_at_work(read, window, gpus));
  }
  append(all.counted, std::move(gpus));
}

WorkDoubts work_doubts(const GpusAtWork& gpus, bool is_count_stated) {
  WorkDoubts doubts;
  const std::vector<GpuWork>& counted = gpus.counted;
  if (counted.empty() || gpus.have_odd_readings) return doubts;
  const auto are_all = [&](const auto& is) { return std::ranges::all_of(counted, is); };
  const bool shows_load = !are_all([](const GpuWork& gpu) { return !gpu.power.rises(); });
  const auto dead = std::ranges::find_if(counted, [](const GpuWork& gpu) {
    return is_dead(gpu) && gpu.utilization_pct.value_or(0) >= kSurelyWorkingPct;
  });
  if (dead != counted.end()) doubts.warnings.push_back(dead_text(*dead));
  if (!gpus.others.empty() && !shows_load) {
    doubts.reasons.add(Reason::idle_gpus_counted, elsewhere_text(gpus));
  } else if (are_all(may_be_idle) && are_all(states_idleness)) {
    doubts.reasons.add(Reason::idle_gpus_counted, idle_all_text(gpus));
  } else if (are_all(may_be_idle) &&
             are_all([](const GpuWork& gpu) { return gpu.power.stays(); }) &&
             doubts.warnings.empty()) {
    doubts.warnings.push_back("idle_gpus_counted: " + steady_text(counted));
  } else {
    if (gpus.are_of_one_node) judge_idle(counted, is_count_stated, doubts);
    judge_tenants(counted, gpus.are_of_one_node, doubts);
  }
  return doubts;
}

}  // namespace aggregate_power::runs
