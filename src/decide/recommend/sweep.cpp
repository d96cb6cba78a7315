// Groups published runs by their configuration, and those by limit and by concurrency.
#include "decide/recommend/sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/system/parallel.h"
#include "core/model/units.h"
#include "decide/recommend/recommend.h"
#include "decide/recommend/run_limits.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kConcurrencyKeys[] = {"conc", "users", "concurrency", "max_concurrency",
                                                 "request_rate"};
constexpr std::string_view kThroughputKeys[] = {"output_tput_per_gpu", "tput_per_gpu",
                                                "output_throughput_per_gpu"};
constexpr std::string_view kInteractivityKeys[] = {"median_intvty", "mean_intvty", "p50_intvty",
                                                   "p90_intvty", "p99_intvty"};
constexpr const char* kOwnThroughput = "output_tokens_per_s_per_gpu";

// A valid run, as far as the comparison needs it.
struct SweptRun {
  const PublishedRun* run = nullptr;
  SweptLimit limit = {};
  LimitPiece piece = {};
  bool has_tokens = false;
  bool has_totals = true;
  std::optional<double> gpus = {};
  std::optional<double> gpu_power_w = {};
  std::optional<double> relative_uncertainty = {};

  bool is_of_clocks = false;

  std::optional<double> limit_w() const { return limit.asked_w ? limit.asked_w : limit.in_force_w; }
  std::optional<double> clock_mhz() const {
    return limit.asked_mhz ? limit.asked_mhz : limit.clock_mhz;
  }
  std::optional<double> swept() const { return is_of_clocks ? clock_mhz() : limit_w(); }
  std::optional<double> in_force() const {
    return is_of_clocks ? limit.clock_mhz : limit.in_force_w;
  }
};

std::optional<double> number_of(const PublishedRun& run, std::string_view key) {
  const auto number = run.number(key);
  return number && std::isfinite(number->value) && number->value > 0 ? std::optional(number->value)
                                                                     : std::nullopt;
}

std::optional<double> gpus_of_run(const PublishedRun& run) {
  if (!run.gpu_ids.empty()) return static_cast<double>(run.gpu_ids.size());
  const double count = sweep_number(run.text_of("num_gpus"));
  return count > 0 ? std::optional(count) : std::nullopt;
}

std::optional<double> total_power_w(const PublishedRun& run, const std::optional<double>& gpus) {
  if (const auto total = number_of(run, "avg_total_gpu_power_w")) return total;
  const auto mean = number_of(run, "avg_power_w");
  if (!mean || !gpus) return std::nullopt;
  return *mean * *gpus;
}

std::optional<double> estimate_of(const PublishedRun& run, std::string_view key) {
  const auto number = run.number(key);
  const bool has_estimate =
      number && number->repeatability && !number->repeatability->is_of_window();
  return has_estimate ? std::optional(number->repeatability->estimate) : std::nullopt;
}

// As compare does: the estimates count where all runs that count have one.
bool have_estimates(const std::vector<PublishedRun>& runs) {
  return std::ranges::all_of(runs, [](const PublishedRun& run) {
    return run.state != PowerState::valid || estimate_of(run, "total_gpu_energy_j") ||
           (!run.number("total_gpu_energy_j") && estimate_of(run, "joules_per_output_token"));
  });
}

// False: neither its energy nor that of a token is known.
bool set_piece(const PublishedRun& run, bool uses_estimates, SweptRun& swept) {
  const std::optional<double> time_s =
      run.duration_s > 0 ? std::optional(run.duration_s) : std::nullopt;
  const auto power_w = total_power_w(run, swept.gpus);
  const auto energy_of = [&](std::string_view key) {
    return uses_estimates ? estimate_of(run, key) : number_of(run, key);
  };
  auto energy_j = energy_of("total_gpu_energy_j");
  if (!energy_j && power_w && time_s) energy_j = *power_w * *time_s;
  const auto per_token = energy_of("joules_per_output_token");
  if (energy_j && run.output_tokens > 0) {
    swept.has_tokens = true;
    swept.piece = {*energy_j, time_s, static_cast<double>(run.output_tokens)};
  } else if (per_token) {
    swept.has_tokens = true;
    swept.has_totals = false;
    swept.piece = {*per_token, power_w ? std::optional(*per_token / *power_w) : std::nullopt, 1};
  } else if (energy_j) {
    swept.piece = {*energy_j, time_s, 1};
  } else {
    return false;
  }
  const auto number = run.number(energy_j ? "total_gpu_energy_j" : "joules_per_output_token");
  if (number && number->repeatability && number->repeatability->estimate > 0) {
    swept.relative_uncertainty =
        number->repeatability->standard_uncertainty / number->repeatability->estimate;
  }
  return true;
}

void drop_copies(std::vector<SweptRun>& runs, RunSweep& sweep) {
  std::ranges::stable_sort(runs, {}, [](const SweptRun& swept) { return swept.run->name; });
  KnownMeasurements known;
  std::erase_if(runs, [&](const SweptRun& swept) {
    const PublishedRun& run = *swept.run;
    const PublishedRun* const first = known.copied_or_added(run, swept.piece.energy_j);
    if (first == nullptr) return false;
    sweep.warnings.push_back(fmt::format(
        "{}: left out: the same measurement as {}: a copy is no repeat", run.name, first->name));
    return true;
  });
}

std::vector<SweptRun> swept_runs(const std::vector<PublishedRun>& runs,
                                 const RunSweepRequest& request, RunSweep& sweep) {
  std::vector<SweptRun> all(runs.size());
  const bool uses_estimates = have_estimates(runs);
  in_parallel(runs.size(), request.most_threads, [&](std::size_t i) {
    const PublishedRun& run = runs[i];
    if (run.state != PowerState::valid) return;
    SweptRun swept{
        .run = &run, .gpus = gpus_of_run(run), .gpu_power_w = number_of(run, "avg_power_w")};
    if (!set_piece(run, uses_estimates, swept)) return;
    swept.limit = limit_of_run(run, request.limit_key);
    all[i] = std::move(swept);
  });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (all[i].run != nullptr) continue;
    sweep.warnings.push_back(fmt::format("{}: left out: {}", runs[i].name,
                                         !runs[i].doubt.empty() ? runs[i].doubt
                                         : runs[i].state == PowerState::not_valid
                                             ? "its power is not valid"
                                             : "it has no energy"));
  }
  std::erase_if(all, [](const SweptRun& swept) { return swept.run == nullptr; });
  drop_copies(all, sweep);
  return all;
}

// ---- Limits

std::string clock_fault(const SweptLimit& limit) {
  if (!limit.why_clock_not_held.empty()) return limit.why_clock_not_held;
  if (!limit.asked_mhz || !limit.clock_mhz) return {};
  if (is_same_clock(*limit.asked_mhz, *limit.clock_mhz)) return {};
  return fmt::format("the clock in force was {:.6g} MHz", *limit.clock_mhz);
}

std::string fault_of_run(const SweptRun& swept, double limit_w) {
  if (!swept.limit.why_not_in_force.empty()) return swept.limit.why_not_in_force;
  if (swept.is_of_clocks) return clock_fault(swept.limit);
  return limit_fault(limit_w, swept.limit.in_force_w, swept.gpu_power_w);
}

// Adds the n-th value to a mean, which is unknown if one of them is.
void add_to_mean(const std::optional<double>& value, std::size_t n, std::optional<double>& mean) {
  if (!value || (n > 1 && !mean)) return mean.reset();
  const double before = mean.value_or(0);
  mean = before + (*value - before) / static_cast<double>(n);
}

void add_run(const SweptRun& swept, LimitGroup& group) {
  group.is_confirmed = swept.in_force() && (group.n == 0 || group.is_confirmed);
  ++group.n;
  group.pieces.push_back(swept.piece);
  add_to_mean(number_of(*swept.run, "avg_temp_c"), group.n, group.temperature_c);
  add_to_mean(number_of(*swept.run, "avg_util_pct"), group.n, group.utilization_pct);
  const bool is_stated = swept.relative_uncertainty && (group.n == 1 || group.relative_uncertainty);
  const double known = group.relative_uncertainty.value_or(0);
  const auto count = static_cast<double>(group.n);
  group.relative_uncertainty =
      is_stated
          ? std::optional(std::sqrt(
                ((count - 1) * known * known + std::pow(*swept.relative_uncertainty, 2)) / count))
          : std::nullopt;
  // The worst of the runs counts.
  const auto further = [&](const std::optional<double>& a, const std::optional<double>& b) {
    return a && (!b || std::pair(std::abs(*a - group.limit_w), *a) >
                           std::pair(std::abs(*b - group.limit_w), *b));
  };
  if (further(swept.in_force(), group.limit_in_force_w)) {
    group.limit_in_force_w = swept.in_force();
  }
  if (swept.gpu_power_w) {
    group.gpu_power_w = std::max(group.gpu_power_w.value_or(0), *swept.gpu_power_w);
  }
  const std::string fault = fault_of_run(swept, group.limit_w);
  if (fault.empty()) return;
  group.state = LimitState::limit_not_in_force;
  if (group.why.empty() || fault < group.why) group.why = fault;
}

// All pieces of a scenario count the same work: that of a token, or of a run.
void settle_work(std::vector<SweptRun>& runs, LimitScenario& scenario) {
  scenario.has_tokens = std::ranges::all_of(runs, &SweptRun::has_tokens);
  const bool has_totals = std::ranges::all_of(runs, &SweptRun::has_totals);
  if (!scenario.has_tokens)
    std::erase_if(runs, [](const SweptRun& run) { return !run.has_totals; });
  for (SweptRun& run : runs) {
    LimitPiece& piece = run.piece;
    if (!scenario.has_tokens) {
      piece.work = 1;
    } else if (!has_totals) {
      run.has_totals = false;
      piece.energy_j /= piece.work;
      if (piece.time_s) *piece.time_s /= piece.work;
      piece.work = 1;
    }
  }
}

LimitScenario scenario_of_runs(const std::string& name, std::vector<SweptRun> runs) {
  LimitScenario scenario{.name = name};
  scenario.is_of_clocks = !runs.empty() && runs.front().is_of_clocks;
  settle_work(runs, scenario);
  const std::vector<double> distinct =
      distinct_limits(mapped<double>(runs, [](const SweptRun& run) { return *run.swept(); }));
  for (const double limit_w : distinct) scenario.groups.push_back({.limit_w = limit_w});
  for (const SweptRun& run : runs) {
    LimitGroup& group = scenario.groups[limit_index(distinct, *run.swept())];
    group.has_totals = run.has_totals;
    add_run(run, group);
  }
  const auto has_same = [&](const SweptRun& run) { return run.gpus == runs.front().gpus; };
  if (!runs.empty() && std::ranges::all_of(runs, has_same)) scenario.gpus = runs.front().gpus;
  return scenario;
}

// ---- Clocks

std::vector<double> distinct_of(const std::vector<SweptRun>& runs,
                                std::optional<double> (SweptRun::*value)() const) {
  std::vector<double> known;
  for (const SweptRun& run : runs) {
    if (const auto one = (run.*value)()) known.push_back(*one);
  }
  return distinct_limits(std::move(known));
}

// Whether the runs of a configuration differ in their clock: one that is stated, or three or more
// that are steady, each in its recording, and differ by more than clocks do by themselves.
bool sweeps_clocks(const std::string& name, const std::vector<SweptRun>& runs,
                   std::vector<std::string>& warnings) {
  constexpr double kLeastApart = 1.04;
  constexpr std::size_t kLeastClocks = 3;
  constexpr double kBelowLimit = 0.9;
  const bool are_stated = std::ranges::all_of(
      runs, [](const SweptRun& run) { return run.limit.asked_mhz.has_value(); });
  const bool are_steady = std::ranges::all_of(runs, [](const SweptRun& run) {
    return run.limit_w() && run.limit.clock_mhz && run.limit.is_clock_steady &&
           run.limit.why_clock_not_held.empty();
  });
  if (!are_stated && !are_steady) return false;
  const std::vector<double> clocks = distinct_of(runs, &SweptRun::clock_mhz);
  if (clocks.size() < (are_stated ? 2 : kLeastClocks)) return false;
  for (std::size_t i = 1; !are_stated && i < clocks.size(); ++i) {
    if (clocks[i] < kLeastApart * clocks[i - 1]) return false;
  }
  const std::vector<double> limits = distinct_of(runs, &SweptRun::limit_w);
  if (limits.size() < 2) return true;
  const bool are_below_limit = std::ranges::all_of(runs, [](const SweptRun& run) {
    return run.limit_w() && run.gpu_power_w && *run.gpu_power_w < kBelowLimit * *run.limit_w();
  });
  // A limit that is reached lowers the clock itself.
  if (!are_stated && !are_below_limit) return false;
  warnings.push_back(fmt::format(
      "{}: both the power limit ({:g} to {:g} W) and the clock ({:g} to {:g} MHz) change: the limits are compared, and a difference may be the clock's; compare runs at one clock, or name it with --group-by",
      name, limits.front(), limits.back(), clocks.front(), clocks.back()));
  return false;
}

// ---- Concurrency

bool is_concurrency(std::string_view key) {
  return std::ranges::find(kConcurrencyKeys, key) != std::end(kConcurrencyKeys);
}

struct NamedSpeed {
  std::string key;
  double value = 0;
};

std::optional<NamedSpeed> speed_of(const PublishedRun& run,
                                   std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) {
    const JsonValue value = run.members.at(key);
    if (value.is_finite_number() && !is_beyond_measure(value.as_double())) {
      return NamedSpeed{std::string(key), value.as_double()};
    }
  }
  return std::nullopt;
}

std::optional<NamedSpeed> throughput_of(const SweptRun& swept) {
  if (auto stated = speed_of(*swept.run, kThroughputKeys)) return stated;
  if (!swept.has_totals || !swept.piece.time_s || !swept.gpus) return std::nullopt;
  return NamedSpeed{kOwnThroughput, swept.piece.work / *swept.piece.time_s / *swept.gpus};
}

struct ScalingKey {
  std::string scenario;
  std::string speed;
  auto operator<=>(const ScalingKey&) const = default;
};
struct PointKey {
  std::string concurrency;
  double limit_w = 0;  // 0: not known
  auto operator<=>(const PointKey&) const = default;
};
struct PointValues {
  std::vector<std::pair<double, double>> speeds_and_joules;
};
using Points = std::map<PointKey, PointValues>;

ScalingSweep scaling_of(const ScalingKey& key, const Points& points) {
  ScalingSweep scaling{key.scenario, key.speed};
  for (const auto& [point, values] : points) {
    auto sorted = values.speeds_and_joules;
    std::ranges::sort(sorted);
    const auto count = static_cast<double>(sorted.size());
    ScalingPoint one{.name = point.concurrency, .n = sorted.size()};
    if (point.limit_w > 0) one.limit_w = point.limit_w;
    for (const auto& [speed, joules] : sorted) {
      one.speed += speed / count;
      one.joules_per_token += joules / count;
    }
    scaling.points.push_back(std::move(one));
  }
  mark_front(scaling.points);
  return scaling;
}

std::vector<ScalingSweep> scalings_of(const std::vector<SweptRun>& runs,
                                      const std::vector<std::string>& keys) {
  std::map<ScalingKey, Points> sweeps;
  for (const SweptRun& swept : runs) {
    if (!swept.has_tokens) continue;
    Configuration fixed, scaled;
    for (auto& member : configuration_of(*swept.run, {})) {
      if (is_concurrency(member.first)) scaled.push_back(member);
    }
    for (auto& member : configuration_of(*swept.run, keys)) {
      if (!is_concurrency(member.first)) fixed.push_back(member);
    }
    if (scaled.empty()) continue;
    const PointKey point{configuration_text(scaled), swept.limit_w().value_or(0)};
    const double joules = swept.piece.energy_j / swept.piece.work;
    for (const auto& speed : {throughput_of(swept), speed_of(*swept.run, kInteractivityKeys)}) {
      if (!speed) continue;
      sweeps[{configuration_text(fixed), speed->key}][point].speeds_and_joules.emplace_back(
          speed->value, joules);
    }
  }
  std::vector<ScalingSweep> scalings;
  for (const auto& [key, points] : sweeps) {
    std::set<std::string> concurrencies;
    for (const auto& [point, values] : points) concurrencies.insert(point.concurrency);
    if (concurrencies.size() > 1) scalings.push_back(scaling_of(key, points));
  }
  return scalings;
}

// By the text of the configuration: of `keys`, or of all that are known but those that are swept,
// which `measure --set` may have named.
std::map<std::string, std::vector<SweptRun>> by_configuration(
    const std::vector<SweptRun>& runs, const std::vector<std::string>& keys,
    bool (*is_swept)(std::string_view key)) {
  std::map<std::string, std::vector<SweptRun>> groups;
  for (const SweptRun& run : runs) {
    Configuration configuration = configuration_of(*run.run, keys);
    if (keys.empty()) {
      std::erase_if(configuration, [&](const auto& member) { return is_swept(member.first); });
    }
    groups[configuration_text(configuration)].push_back(run);
  }
  return groups;
}

}  // namespace

RunSweep sweep_of_runs(const std::vector<PublishedRun>& runs, const RunSweepRequest& request) {
  RunSweep sweep;
  const std::vector<SweptRun> swept = swept_runs(runs, request, sweep);
  const auto add_scenario = [&](const std::string& name, std::vector<SweptRun> list) {
    sweep.without_limit +=
        std::erase_if(list, [](const SweptRun& run) { return !run.swept().has_value(); });
    if (!list.empty()) sweep.scenarios.push_back(scenario_of_runs(name, std::move(list)));
  };
  const auto is_swept_key = [](std::string_view key) {
    return is_limit_key(key) || is_clock_key(key);
  };
  for (auto& [name, list] : by_configuration(swept, request.keys, is_swept_key)) {
    if (sweeps_clocks(name, list, sweep.warnings)) {
      for (SweptRun& run : list) run.is_of_clocks = true;
      add_scenario(name, std::move(list));
      continue;
    }
    for (auto& [own, part] : by_configuration(list, request.keys, is_limit_key)) {
      add_scenario(own, std::move(part));
    }
  }
  sweep.scalings = scalings_of(swept, request.keys);
  return sweep;
}

// ---- Tells power limits apart, and whether they were in force.

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

bool is_same_clock(double clock_mhz, double other_mhz) {
  constexpr double kSameMhz = 16;
  return std::abs(clock_mhz - other_mhz) <= kSameMhz;
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

// ---- Finds the front by a sweep from the fastest point, and the knee by distances from a chord.

namespace {

// Rounding alone bends no front.
constexpr double kLeastBend = 1e-9;

bool is_slower(const ScalingPoint& a, const ScalingPoint& b) {
  return std::tie(a.speed, a.joules_per_token, a.name, a.limit_w) <
         std::tie(b.speed, b.joules_per_token, b.name, b.limit_w);
}

void mark_knee(std::vector<ScalingPoint*> front) {
  const ScalingPoint& slowest = *front.front();
  const ScalingPoint& fastest = *front.back();
  const double speeds = fastest.speed - slowest.speed;
  const double joules = fastest.joules_per_token - slowest.joules_per_token;
  if (!(speeds > 0) || !(joules > 0)) return;
  ScalingPoint* knee = nullptr;
  double furthest = kLeastBend;
  for (ScalingPoint* const point : front) {
    // The chord is the diagonal of the unit square; the better side is below it.
    const double x = (point->speed - slowest.speed) / speeds;
    const double y = (point->joules_per_token - slowest.joules_per_token) / joules;
    if (x - y > furthest) {
      furthest = x - y;
      knee = point;
    }
  }
  if (knee != nullptr) knee->is_knee = true;
}

}  // namespace

void mark_front(std::vector<ScalingPoint>& points) {
  std::ranges::sort(points, is_slower);
  std::vector<ScalingPoint*> front;
  double least = std::numeric_limits<double>::infinity();  // of all faster points
  for (auto point = points.rbegin(); point != points.rend();) {
    // Those of one speed, of which the most sparing come first.
    auto end = point;
    while (end != points.rend() && end->speed == point->speed) ++end;
    const double joules = (end - 1)->joules_per_token;
    for (; point != end; ++point) {
      point->is_on_front = point->joules_per_token == joules && joules < least;
      if (point->is_on_front) front.push_back(&*point);
    }
    least = std::min(least, joules);
  }
  std::ranges::reverse(front);
  if (front.size() >= 3) mark_knee(front);
}

}  // namespace aggregate_power
