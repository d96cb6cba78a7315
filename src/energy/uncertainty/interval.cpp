// Sums of components.
#include "energy/uncertainty/interval.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numbers>
#include <string_view>
#include <utility>

#include "energy/uncertainty/random_walk.h"

namespace aggregate_power {
namespace {

enum class Sharing { each, all, model, sampling };

struct Source {
  ExplainedWord word;
  bool systematic;
  Sharing sharing;
  char evaluation;
  bool is_accuracy;
};

constexpr Source kSources[] = {
    {{"sensor_gain_shared",
      "the gain of all boards of one model is off alike: 2.2 % of E - 88 W · t",
      "compare runs on the same boards by `repeatability`, in which it cancels; state a calibration with `--sensor-accuracy`"},
     true,
     Sharing::model,
     'B',
     true},
    {{"sensor_gain_each", "the gain of each board is off by itself: 2.9 % of E - 88 W · t",
      "as for the gain of all; with more GPUs it matters less"},
     true,
     Sharing::each,
     'B',
     true},
    {{"sensor_offset", "the offset of each board: 4.9 W · t",
      "as for the gain; at higher power it matters less"},
     true,
     Sharing::each,
     'B',
     true},
    {{"sampling_and_edges",
      "what readings leave open, inside and at the edges: 0.65 √(wᵀA⁻¹w), 0.85 of it where power has steps and all where time is not seen, and 0.6 % of a sensor's window at each edge; at least what gaps leave open",
      "sample more often, measure for longer, or record an energy counter"},
     false,
     Sharing::sampling,
     'A',
     false},
    {{"moments_for_means",
      "moments stand for means: their scatter over the root of how many are independent, times the share of time that is not seen",
      "sample more often, or record the average or an energy counter"},
     false,
     Sharing::sampling,
     'A',
     false},
    {{"between_readings",
      "readings more than 3 s apart: what the power may have been in between, from 0 W to the GPU's limit, by how few readings there are (Stringer's bound); and lone high readings that the board may draw: half their energy above their neighbours",
      "sample more often; record the power limit, or name the GPU with `--gpu-model`"},
     false,
     Sharing::all,
     'A',
     false},
    {{"time_not_seen",
      "a load in step with readings that leave out some time: 1.5 % × the share of time that is not seen; where a counter disagrees and such a load would explain it, also the difference over √3",
      "record an energy counter, or the average"},
     true,
     Sharing::sampling,
     'B',
     false},
    {{"time_between_windows",
      "of averages over 0.5 s or more, a period that is not the window, so that some time is missing or counted twice: the share of it × a hidden swing of 0.45 to 0.8 %, alike for all GPUs",
      "sample twice in each window of the sensor, or record an energy counter"},
     true,
     Sharing::all,
     'B',
     false},
    {{"window_known", "the sensor's window W is known to 6 %: the change of the estimate with W",
      "measure for longer: it matters at the edges only"},
     true,
     Sharing::all,
     'B',
     false},
    {{"sensor_window_unknown", "several windows are possible: the spread of their estimates",
      "name the GPU with `--gpu-model`, or record `name` and `power.draw.average`, too"},
     true,
     Sharing::all,
     'B',
     false},
    {{"counter_construction", "whether a counter integrates all the time is not known: 0.15 %",
      "nothing"},
     true,
     Sharing::model,
     'B',
     false},
    {{"stamp_cut",
      "stamps of whole seconds: the slope at the edges × the uncertainty of the recorder's loop",
      "record stamps with fractions of a second"},
     true,
     Sharing::all,
     'B',
     false},
    {{"timing",
      "the delay, and the clocks of recorder and load generator: the slope at the edges × their uncertainty",
      "synchronize the clocks and state how well with `--clock-uncertainty`; measure for longer"},
     true,
     Sharing::all,
     'B',
     false},
    {{"clock_offset", "a window that was shifted to the load: the slope at the edges × 0.15 s",
      "synchronize the clocks of recorder and load generator"},
     true,
     Sharing::all,
     'B',
     false},
    {{"window_place",
      "a window whose place is an estimate (`--window estimated`): the change if it moves by its half width, / √3",
      "use a window that the result states: see `aggregate-power help measure`"},
     true,
     Sharing::all,
     'B',
     false},
};

const Source& source_of(const std::string& name) {
  const auto* const source =
      std::ranges::find_if(kSources, [&](const Source& one) { return name == one.word.code; });
  assert(source != std::end(kSources));
  return *source;
}

double joules_of(const Estimate& estimate, std::string_view name) {
  for (const Component& part : estimate.components) {
    if (part.name == name) return part.joules;
  }
  return 0;
}

// Below that a component is a rounding error.
void leave_out_nothing(Estimate& estimate) {
  std::erase_if(estimate.components, [&](const Component& part) {
    return part.joules <= 1e-9 * std::abs(estimate.joules);
  });
}

double combined_j(const Source& source, std::span<const CombinedGpu> gpus, double correlation) {
  double linear = 0;
  double squares = 0;
  std::map<std::string, double> by_model;
  for (const CombinedGpu& gpu : gpus) {
    const double joules = joules_of(*gpu.energy, source.word.code);
    linear += joules;
    squares += joules * joules;
    by_model[gpu.model] += joules;
  }
  double of_models = 0;
  for (const auto& [model, joules] : by_model) of_models += joules * joules;
  switch (source.sharing) {
    case Sharing::all:
      return linear;
    case Sharing::model:
      return std::sqrt(of_models);
    case Sharing::sampling:
      return std::sqrt((1 - correlation) * squares + correlation * linear * linear);
    case Sharing::each:
      break;
  }
  return std::sqrt(squares);
}

}  // namespace

std::span<const ExplainedWord> component_words() {
  static const auto words = mapped<ExplainedWord>(kSources, &Source::word);
  return words;
}

Component component(const std::string& name, double joules) {
  const Source& source = source_of(name);
  const bool shared = source.sharing == Sharing::all || source.sharing == Sharing::model;
  return {name, joules, source.systematic, shared, source.evaluation, source.is_accuracy};
}

void add_accuracy(Estimate& estimate, const SensorAccuracy& accuracy, double duration_s) {
  estimate.pivot_j = accuracy.pivot_w * duration_s;
  const double turned_j = std::abs(estimate.joules - estimate.pivot_j);
  estimate.components.push_back(component("sensor_gain_shared", accuracy.shared_gain * turned_j));
  estimate.components.push_back(component("sensor_gain_each", accuracy.each_gain * turned_j));
  estimate.components.push_back(component("sensor_offset", accuracy.offset_w * duration_s));
  leave_out_nothing(estimate);
}

Estimate combine(std::span<const CombinedGpu> gpus, double correlation) {
  Estimate total;
  for (const CombinedGpu& gpu : gpus) {
    total.joules += gpu.energy->joules;
    total.pivot_j += gpu.energy->pivot_j;
  }
  for (const Source& source : kSources) {
    const double joules = combined_j(source, gpus, correlation);
    total.components.push_back(component(std::string(source.word.code), joules));
  }
  leave_out_nothing(total);
  return total;
}

// ---- Scales the components of an estimate.

namespace {

constexpr std::string_view kAtRandom[] = {"sampling_and_edges", "moments_for_means",
                                          "between_readings"};
constexpr std::string_view kAtEdges[] = {"window_known", "sensor_window_unknown", "stamp_cut",
                                         "timing", "clock_offset"};

bool is_among(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

double ExpectedInterval::half_width() const {
  double squares = 0;
  for (const Component& part : components) squares += part.joules * part.joules;
  return kCoverageFactor * std::sqrt(squares);
}

ExpectedInterval expected_interval(EstimateQuestion seen, double window_s) {
  const double times_longer = window_s / seen.window.duration_s();
  const EnergyEstimate estimate = estimate_energy(std::move(seen));
  if (!estimate.is_available()) return {estimate.reasons.front(), {}};
  ExpectedInterval expected;
  for (Component part : estimate.total.components) {
    part.joules /= estimate.total.joules;
    if (is_among(part.name, kAtRandom)) part.joules /= std::sqrt(times_longer);
    if (is_among(part.name, kAtEdges)) part.joules /= times_longer;
    expected.components.push_back(std::move(part));
  }
  return expected;
}

EstimateQuestion with_counter(EstimateQuestion seen) {
  for (GpuReadings& gpu : seen.gpus) {
    double joules = 0;
    gpu.counter.clear();
    for (std::size_t i = 0; i < gpu.samples.size(); ++i) {
      if (i > 0) {
        const Sample& before = gpu.samples[i - 1];
        joules +=
            (gpu.samples[i].unix_s - before.unix_s) * (gpu.samples[i].watts + before.watts) / 2;
      }
      gpu.counter.push_back({gpu.samples[i].unix_s, joules});
    }
  }
  return seen;
}

namespace {

double square_sum(const std::vector<Component>& components, bool noise_alone) {
  double sum = 0;
  for (const Component& part : components) {
    if (part.is_accuracy || (noise_alone && part.systematic)) continue;
    sum += part.joules * part.joules;
  }
  return sum;
}

}  // namespace

WindowWorth worth_of_window(EstimateQuestion seen, double window_s) {
  const ExpectedInterval expected = expected_interval(std::move(seen), window_s);
  if (!expected.refusal.empty()) return {.refusal = expected.refusal};
  return {.refusal = {},
          .stated = std::sqrt(square_sum(expected.components, false)),
          .noise = std::sqrt(square_sum(expected.components, true))};
}

std::optional<std::size_t> repeats_for_half_width(const WindowWorth& worth, double spread,
                                                  double half_width) {
  constexpr std::size_t kMost = 1000;
  const double each = std::max(std::hypot(spread, worth.noise), worth.stated);
  for (std::size_t n = 2; n <= kMost; ++n) {
    const auto count = static_cast<double>(n);
    if (student_t_quantile(0.975, count - 1) * each / std::sqrt(count) <= half_width) return n;
  }
  return std::nullopt;
}

Window inside_of_load(Window stretch, const GpuReadings& gpu) {
  constexpr double kLeastPeriods = 5;
  const double period_s = median_period_s(gpu.samples);
  const double edge_s = largest_of<double>(0, gpu.sensors, [&](const SensorModel& sensor) {
    return sensor.window_s + sensor.refresh_s + sensor.delay_s + period_s;
  });
  const Window inside = {stretch.start_unix_s + edge_s, stretch.end_unix_s - edge_s};
  return inside.duration_s() < kLeastPeriods * period_s ? stretch : inside;
}

// ---- Student's t distribution by the incomplete beta function: Abramowitz and Stegun, Handbook of
// Mathematical Functions, 26.7.1 and 26.5.8.

namespace {

// Beyond, the difference from the normal distribution is below 1e-9.
constexpr double kManyDegrees = 1e9;

// The continued fraction of the incomplete beta function, by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr int kMostSteps = 200000;
  constexpr double kTiny = 1e-300;
  const auto away_from_0 = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_0(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kMostSteps; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_0(1 + even * d);
    c = away_from_0(1 + even / c);
    fraction *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_0(1 + odd * d);
    c = away_from_0(1 + odd / c);
    const double change = c * d;
    fraction *= change;
    if (std::abs(change - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return fraction;
}

// `y` is 1 - x: near 1, x itself no longer holds it.
double incomplete_beta(double a, double b, double x, double y) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log(y));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, y) / b;
}

// The probability of a value above `t`, which is not negative.
double upper_tail(double t, double degrees_of_freedom) {
  if (degrees_of_freedom > kManyDegrees) return std::erfc(t / std::numbers::sqrt2) / 2;
  const double square = t * t;
  const double all = degrees_of_freedom + square;
  return incomplete_beta(degrees_of_freedom / 2, 0.5, degrees_of_freedom / all, square / all) / 2;
}

}  // namespace

double student_t_probability(double t, double degrees_of_freedom) {
  assert(degrees_of_freedom > 0);
  const double tail = upper_tail(std::abs(t), degrees_of_freedom);
  return t < 0 ? tail : 1 - tail;
}

double student_t_quantile(double probability, double degrees_of_freedom) {
  assert(probability > 0 && probability < 1);
  return probability < 0.5 ? -student_t_upper_quantile(probability, degrees_of_freedom)
                           : student_t_upper_quantile(1 - probability, degrees_of_freedom);
}

double student_t_upper_quantile(double tail, double degrees_of_freedom) {
  assert(tail > 0 && tail <= 0.5);
  double low = 0;
  double high = 1;
  while (upper_tail(high, degrees_of_freedom) > tail) high *= 2;
  for (double middle = high / 2; low < middle && middle < high; middle = low + (high - low) / 2) {
    (upper_tail(middle, degrees_of_freedom) > tail ? low : high) = middle;
  }
  return high;
}

double binomial_upper_limit(std::size_t found, std::size_t draws, double tail) {
  assert(tail > 0 && tail < 1);
  if (found >= draws) return 1;
  const double more = static_cast<double>(found) + 1;
  const double fewer = static_cast<double>(draws - found);
  double low = 0;
  double high = 1;
  for (double middle = 0.5; low < middle && middle < high; middle = low + (high - low) / 2) {
    // The probability of at most as many as were found.
    const double below = incomplete_beta(fewer, more, 1 - middle, middle);
    (below > tail ? low : high) = middle;
    if (high - low < 1e-12) break;
  }
  return high;
}

}  // namespace aggregate_power
