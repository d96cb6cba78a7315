// Weighs the ways to record, and chooses one.
#include "decide/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/characters.h"
#include "energy/shares/idle.h"
#include "energy/uncertainty/interval.h"
#include "energy/uncertainty/random_walk.h"
#include "runs/inspect/inspect.h"

namespace aggregate_power {
namespace {

constexpr double kSamplings_s[] = {0.1, 0.2, 0.5, 1};
constexpr double kWindows_s[] = {30, 60, 120, 300, 600};
constexpr double kShortLoads_s[] = {1, 10};

// ---- What is known

struct KnownSpread {
  double relative = 0;
  double degrees_of_freedom = std::numeric_limits<double>::infinity();
  double stated = 0;  // by the runs themselves, root mean square
  std::string from = {};
};

// Of the repeats of all configurations together.
KnownSpread spread_of_pilots(const PlanRequest& request, std::vector<std::string>& notes) {
  const RunComparisons summary = compare_runs({.rule = {.metric = request.metric},
                                               .base = request.pilots,
                                               .next = {},
                                               .kind = CompareKind::base_alone,
                                               .parts_limits = true,
                                               .measuring = request.measuring,
                                               .access = request.access,
                                               .most_threads = request.most_threads});
  append(notes, summary.notes);
  append(notes, summary.warnings);
  KnownSpread known{.degrees_of_freedom = 0};
  double squares = 0;
  double stated_squares = 0;
  std::size_t runs = 0;
  for (const RunComparison& one : summary.comparisons) {
    if (!one.base.statistics || one.base.statistics->count < 2) continue;
    const PowerQuestion pair =
        power_question(one.base.repeats, one.base.repeats, 0, 0, request.alpha);
    const double freedom = one.base.statistics->degrees_of_freedom;
    squares += freedom * pair.spread * pair.spread;
    stated_squares += freedom * pair.stated * pair.stated;
    known.degrees_of_freedom += freedom;
    runs += one.base.statistics->count;
  }
  if (runs == 0) {
    throw Error(
        "plan: no configuration has two valid runs: give repeats of one, or state their spread with --spread");
  }
  known.relative = std::sqrt(squares / known.degrees_of_freedom);
  constexpr double kCopies = 1e-5;
  if (known.relative < kCopies) {
    throw Error(
        "plan: the pilot runs are equal to five digits, as copies of one run are, and say nothing about how repeats differ: give others, or state their spread with --spread");
  }
  known.stated = std::sqrt(stated_squares / known.degrees_of_freedom);
  known.from =
      fmt::format("of {} pilot runs, {:g} degrees of freedom", runs, known.degrees_of_freedom);
  return known;
}

KnownSpread known_spread(const PlanRequest& request, std::vector<std::string>& notes) {
  if (!request.pilots.empty()) return spread_of_pilots(request, notes);
  if (request.spread) return {.relative = *request.spread, .from = "as --spread states"};
  return {.relative = kAssumedSpread,
          .from = "assumed: public repeats differ by 0.1 to 0.75 %; pilot runs or --spread say it"};
}

// The load as one way to record shows it; nullopt: nothing is known of the sensors.
struct KnownSensors {
  std::vector<SensorModel> models = {};
  std::optional<EstimateQuestion> recorded = {};
  double period_s = 0;
  std::string text = {};
  std::optional<ThermalCourse> thermal = {};
};

std::string sensor_text(const std::string& name, const std::vector<SensorModel>& models) {
  std::string text = name + ": a reading is the mean power over ";
  for (const SensorModel& model : models) {
    if (&model != &models.front()) text += ", or over ";
    text += fmt::format("{:g} s, new every {:g} s", model.window_s, model.refresh_s);
  }
  return text;
}

KnownSensors sensors_of_recording(const PlanRequest& request) {
  CheckupRequest checkup;
  static_cast<RecordingOptions&>(checkup) = request;
  checkup.telemetry = request.recording;
  checkup.gpu = request.gpu;
  RecordedQuestion recorded = recorded_question(checkup);
  if (!recorded.fault.empty()) {
    throw Error(fmt::format("{}: {}", printable_path(request.recording), recorded.fault));
  }
  KnownSensors known;
  known.models = recorded.load.gpus.front().sensors;
  known.period_s = median_period_s(recorded.load.gpus.front().samples);
  known.text = sensor_text(recorded.sensor, known.models);
  known.recorded = std::move(recorded.load);
  known.thermal = std::move(recorded.thermal);
  return known;
}

KnownSensors sensors_of_model(const PlanRequest& request) {
  const Sensor power_draw = {.name = "power.draw", .scope = "gpu"};
  const KnownSensor known =
      known_sensor({power_draw, request.gpu, false, request.sampling_s.value_or(1)});
  if (known.name == "unknown") {
    throw Error(fmt::format(
        "--gpu-model: no sensor is known of '{}'; 'aggregate-power help uncertainty' lists those that are, or give a recording",
        printable(request.gpu)));
  }
  return {.models = known.models, .text = sensor_text(known.name, known.models)};
}

EstimateQuestion load_by(const KnownSensors& sensors, const PlannedWay& way, double window_s) {
  if (!sensors.recorded) {
    return modelled_load(sensors.models, way.sampling_s, window_s, way.has_counter);
  }
  const double step = std::max(1.0, std::round(way.sampling_s / sensors.period_s));
  EstimateQuestion load = thinned(*sensors.recorded, static_cast<std::size_t>(step));
  return way.has_counter ? with_counter(std::move(load)) : load;
}

std::vector<double> samplings(const PlanRequest& request, const KnownSensors& sensors) {
  if (request.sampling_s) return {*request.sampling_s};
  auto all = items_where(
      kSamplings_s, [&](const double sampling_s) { return sampling_s > 0.9 * sensors.period_s; });
  if (all.empty()) all.push_back(sensors.period_s);
  return all;
}

// ---- What it takes

PowerQuestion question_of(const Plan& plan, const WindowWorth& worth) {
  const PlanRequest& request = plan.request;
  const bool is_of_pilots = std::isfinite(plan.spread_freedom);
  // Pilot runs differ by the noise of their own windows, too.
  const double spread =
      is_of_pilots ? std::max(plan.spread, worth.noise) : std::hypot(plan.spread, worth.noise);
  const Look last = {.number = request.looks, .planned = request.looks};
  return {.change = request.detect,
          .margin = request.margin,
          .spread = spread,
          .spread_freedom = plan.spread_freedom,
          .stated = worth.stated,
          .alpha = request.looks > 1 ? look_alpha(last) : request.alpha};
}

// As many for each look, and at least so many in all.
std::optional<std::size_t> in_equal_parts(std::optional<std::size_t> repeats, std::size_t looks) {
  if (!repeats) return std::nullopt;
  const std::size_t all = (*repeats + looks - 1) / looks * looks;
  return all <= kMostRepeats ? std::optional(all) : std::nullopt;
}

void find_repeats(const Plan& plan, PlannedWay& way) {
  if (!way.worth.refusal.empty()) return;
  const PowerQuestion question = question_of(plan, way.worth);
  way.repeats = in_equal_parts(repeats_for_power(question, plan.request.power), plan.request.looks);
  if (way.repeats) way.share = decided_share(question, *way.repeats, *way.repeats);
}

std::vector<PlannedWay> ways_of(const Plan& plan, const KnownSensors& sensors, double window_s) {
  std::vector<PlannedWay> ways;
  for (const bool has_counter : {false, true}) {
    for (const double sampling_s : samplings(plan.request, sensors)) {
      PlannedWay way{.sampling_s = sampling_s, .has_counter = has_counter};
      way.worth = worth_of_window(load_by(sensors, way, window_s), window_s);
      find_repeats(plan, way);
      ways.push_back(std::move(way));
    }
  }
  return ways;
}

// The fewest repeats by power alone, which every recorder has; of several, the slowest sampling.
std::optional<std::size_t> best_way(const std::vector<PlannedWay>& ways) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (ways[i].has_counter || !ways[i].repeats) continue;
    if (!best || *ways[i].repeats <= *ways[*best].repeats) best = i;
  }
  return best;
}

// The plateau that an idle level needs, with what is not used of it, and the sensor's lag.
double idle_around_s(const KnownSensors& sensors) {
  return std::ceil(kLeastIdleS + std::max(kBeforeLoadS, kAfterLoadS) +
                   largest_of<double>(0, sensors.models, [](const SensorModel& model) {
                     return model.window_s + model.refresh_s + model.delay_s;
                   }));
}

// What idle GPUs around the run already cool down in need not be waited for again.
void settle_cooling(const KnownSensors& sensors, Plan& plan) {
  if (plan.request.cool_down_s) {
    plan.cool_down_s = *plan.request.cool_down_s;
    plan.cool_down_from = "as --cool-down states";
  } else if (sensors.thermal && sensors.thermal->cooling_s) {
    plan.cool_down_s = std::max(0.0, std::ceil(*sensors.thermal->cooling_s - 2 * plan.idle_s));
    plan.cool_down_from = fmt::format(
        "and the idle time before it: the recorded GPUs need {:.0f} s, with a time "
        "constant of {:.0f} s",
        *sensors.thermal->cooling_s, sensors.thermal->time_constant_s);
  } else if (sensors.thermal) {
    plan.cool_down_from = "a guess: " + sensors.thermal->unknown;
  }
}

void weigh(Plan& plan, const KnownSensors& sensors) {
  std::vector<double> windows_s(std::begin(kWindows_s), std::end(kWindows_s));
  if (plan.request.window_s) windows_s = {*plan.request.window_s};
  double least = std::numeric_limits<double>::infinity();
  for (const double window_s : windows_s) {
    Plan tried = plan;
    tried.window_s = window_s;
    tried.ways = ways_of(plan, sensors, window_s);
    tried.chosen = best_way(tried.ways);
    const double minutes = plan_minutes(tried).value_or(std::numeric_limits<double>::max());
    if (!(minutes < least)) continue;
    least = minutes;
    plan = std::move(tried);
  }
  const double sampling_s =
      plan.chosen ? plan.ways[*plan.chosen].sampling_s : samplings(plan.request, sensors).front();
  for (const double seconds : kShortLoads_s) {
    const auto worth = [&](bool has_counter) {
      return worth_of_window(modelled_load(sensors.models, sampling_s, seconds, has_counter),
                             seconds);
    };
    plan.short_loads.push_back({seconds, worth(false), worth(true)});
  }
}

void describe_choice(Plan& plan) {
  if (!plan.chosen) return;
  const PlannedWay& way = plan.ways[*plan.chosen];
  PowerQuestion question = question_of(plan, way.worth);
  if (plan.request.detect > 0) {
    plan.smallest = smallest_change(question, plan.request.power, *way.repeats);
  }
  if (!std::isfinite(question.spread_freedom)) return;
  question.spread_freedom = std::numeric_limits<double>::infinity();
  plan.repeats_if_known =
      in_equal_parts(repeats_for_power(question, plan.request.power), plan.request.looks);
}

}  // namespace

std::optional<double> plan_minutes(const Plan& plan) {
  if (!plan.chosen || !(plan.window_s > 0)) return std::nullopt;
  const double each_s = plan.window_s + 2 * plan.idle_s + plan.cool_down_s;
  return 2 * static_cast<double>(*plan.ways[*plan.chosen].repeats) * each_s / 60;
}

Plan plan_comparison(const PlanRequest& request) {
  Plan plan{.request = request};
  KnownSpread spread = known_spread(request, plan.notes);
  plan.spread = spread.relative;
  plan.spread_freedom = spread.degrees_of_freedom;
  plan.spread_from = std::move(spread.from);
  const bool has_sensors = !request.recording.empty() || !request.gpu.empty();
  if (has_sensors) {
    const KnownSensors sensors =
        request.recording.empty() ? sensors_of_model(request) : sensors_of_recording(request);
    plan.sensor = sensors.text;
    plan.idle_s = idle_around_s(sensors);
    settle_cooling(sensors, plan);
    weigh(plan, sensors);
  } else {
    plan.sensor = "not stated: repeats are recorded as the pilot runs were";
    plan.idle_s = idle_around_s({.models = {SensorModel()}});
    settle_cooling({}, plan);
    plan.window_s = request.window_s.value_or(0);
    PlannedWay way{.sampling_s = request.sampling_s.value_or(0)};
    way.worth.stated = spread.stated;
    find_repeats(plan, way);
    if (way.repeats) plan.chosen = 0;
    plan.ways.push_back(std::move(way));
  }
  describe_choice(plan);
  return plan;
}

// ---- Estimates windows that nobody has recorded yet.
namespace {

constexpr double kLead_s = 30;
constexpr double kIdle_w = 100;
constexpr double kLoad_w = 500;
constexpr double kSwing = 0.05;  // of means over kCell_s
constexpr double kCell_s = 0.1;

// The power in cells from -kLead_s on.
class ModelledPower {
 public:
  explicit ModelledPower(double window_s) {
    std::mt19937_64 engine(1);
    const auto cells = static_cast<std::size_t>(std::ceil((window_s + 2 * kLead_s) / kCell_s));
    sums_j_.push_back(0);
    for (std::size_t i = 0; i < cells; ++i) {
      const double from_s = static_cast<double>(i) * kCell_s - kLead_s;
      const double load =
          std::clamp(std::min(from_s + kCell_s, window_s) - std::max(from_s, 0.0), 0.0, kCell_s) /
          kCell_s;
      sums_j_.push_back(sums_j_.back() +
                        kCell_s * (kIdle_w + load * (kLoad_w * swing(engine) - kIdle_w)));
    }
  }

  double mean_w(double from_s, double to_s) const {
    return (until_j(to_s) - until_j(from_s)) / (to_s - from_s);
  }
  // Since -kLead_s.
  double until_j(double at_s) const {
    const double at =
        std::clamp((at_s + kLead_s) / kCell_s, 0.0, static_cast<double>(sums_j_.size() - 1));
    const auto cell = std::min(static_cast<std::size_t>(at), sums_j_.size() - 2);
    const double share = at - static_cast<double>(cell);
    return sums_j_[cell] + share * (sums_j_[cell + 1] - sums_j_[cell]);
  }

 private:
  // Nearly normal: the sum of twelve uniform numbers.
  static double swing(std::mt19937_64& engine) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(engine() >> 11) * 0x1p-53;
    return 1 + kSwing * sum;
  }

  std::vector<double> sums_j_;
};

}  // namespace

EstimateQuestion modelled_load(const std::vector<SensorModel>& sensors, double period_s,
                               double window_s, bool has_counter) {
  constexpr double kStart_unix_s = 1.7e9;
  constexpr double kMargin_s = 10;  // without readings: before them, sensors have seen idle power
  const ModelledPower power(window_s);
  GpuReadings gpu{.name = "0", .model = {}, .samples = {}, .counter = {}, .sensors = sensors};
  const SensorModel& sensor = sensors.front();
  for (double at_s = kMargin_s - kLead_s; at_s < window_s + kLead_s - kMargin_s; at_s += period_s) {
    const double shown_s = std::floor(at_s / sensor.refresh_s) * sensor.refresh_s;
    const double end_s = shown_s - sensor.delay_s;
    gpu.samples.push_back({kStart_unix_s + at_s, power.mean_w(end_s - sensor.window_s, end_s)});
    if (has_counter) gpu.counter.push_back({kStart_unix_s + at_s, power.until_j(shown_s)});
  }
  EstimateQuestion question;
  question.window = {kStart_unix_s, kStart_unix_s + window_s};
  question.gpus.push_back(std::move(gpu));
  return question;
}

EstimateQuestion thinned(EstimateQuestion seen, std::size_t step) {
  for (GpuReadings& gpu : seen.gpus) {
    std::vector<Sample> kept;
    for (std::size_t i = 0; i < gpu.samples.size(); i += step) kept.push_back(gpu.samples[i]);
    gpu.samples = std::move(kept);
  }
  return seen;
}

}  // namespace aggregate_power
