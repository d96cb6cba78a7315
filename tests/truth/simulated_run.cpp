// Looks at a known load through sensors and recorders.
#include "truth/simulated_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace truth {
namespace {

using aggregate_power::CounterSample;
using aggregate_power::GpuReadings;
using aggregate_power::Sample;
using aggregate_power::SensorModel;

constexpr double kWindowStartUnixS = 1788852000;
constexpr double kLead_s = 9;

// A sensor as it is on one board; the estimate knows only its model.
struct Board {
  double window_s;
  double refresh_s;
  double delay_s;
  double phase_s;  // of its refreshes
  double gain;
  double offset_w;
  double quantum_w;
  double jitter_s;  // of its refreshes
};

double shown_w(const Board& board, double true_w) {
  return true_w + board.gain * (true_w - 88) + board.offset_w;
}

// The last refresh until `at_s`.
double refresh_before(const Board& board, double at_s) {
  for (double count = std::floor((at_s - board.phase_s) / board.refresh_s) + 1;; --count) {
    // The same jitter whenever this refresh is asked for.
    const double jitter_s = board.jitter_s * std::sin(count * 12.9898 + board.phase_s * 78.233);
    const double tick_s = board.phase_s + board.refresh_s * count + jitter_s;
    if (tick_s <= at_s) return tick_s;
  }
}

TruePower shown_power(const Board& board, const TruePower& power) {
  std::vector<double> watts;
  for (const double true_w : power.watts()) watts.push_back(shown_w(board, true_w));
  return {power.first_s(), std::move(watts)};
}

// True figures, drawn around those that are known in public.
Board draw_board(Sensor sensor, Random& random) {
  Board board = {1.0, 0.1, std::max(0.0, 0.015 + random.normal(0.012)), 0, 0, 0, 0.01, 0};
  const double jitter_share = random.chance(0.5) ? random.uniform(0, 0.07) : 0;
  switch (sensor) {
    case Sensor::average_1s:
      board.window_s = std::clamp(1.02 + random.normal(0.035), 0.95, 1.12);
      break;
    case Sensor::exact_1s:
      return board;
    case Sensor::full_100ms:
      board.window_s = 0.1;
      break;
    case Sensor::a100:
      board.window_s = random.uniform(0.015, 0.03);
      break;
    case Sensor::v100:
      board.window_s = 0.01;
      board.refresh_s = 0.02;
      break;
    case Sensor::amd:
      board.window_s = random.uniform(0.001, 0.05);
      board.refresh_s = 0.001;
      board.quantum_w = 1;
      break;
    case Sensor::unknown:
      board.window_s = random.chance(0.5) ? 1.0 : 0.1;
      break;
  }
  board.jitter_s = jitter_share * board.refresh_s;
  return board;
}

// When the recorder asks, from the window's start on: a loop that is late now and then. Some loops
// sleep for the rest of their period, others for all of it after work of varying length.
std::vector<double> asking_times(double duration_s, double period_s, bool gaps, Random& random) {
  const bool regular = random.chance(0.5);
  double loop_s = period_s * random.uniform(0.985, 1.05);
  std::vector<double> times;
  double gap_until_s = -1e9;
  for (double at_s = -kLead_s + 2.5 + random.uniform() * loop_s; at_s < duration_s + kLead_s - 2.5;
       at_s += loop_s) {
    if (!regular) loop_s = period_s * random.uniform(0.985, 1.05);
    double late_s = random.exponential(0.003);
    if (random.chance(0.02)) late_s += random.uniform(0.02, 0.3) * period_s;
    const double asked_s = at_s + std::min(late_s, 0.9 * loop_s);
    if (gaps && random.chance(std::min(0.5, 0.03 * loop_s))) {
      gap_until_s = asked_s + random.uniform(1.2, 2.8);
    }
    if (asked_s >= gap_until_s) times.push_back(asked_s);
  }
  return times;
}

// The same by a loop that is never late.
std::vector<double> punctual_times(double duration_s, double period_s, Random& random) {
  std::vector<double> times;
  for (double at_s = -kLead_s + 2.5 + random.uniform() * period_s;
       at_s < duration_s + kLead_s - 2.5; at_s += period_s) {
    times.push_back(at_s);
  }
  return times;
}

GpuReadings read_board(const Board& board, const TruePower& power, const std::vector<double>& times,
                       bool counter, Random& random) {
  GpuReadings gpu;
  for (const double asked_s : times) {
    const double at_s = asked_s + random.uniform(0, 0.002);
    // The value shown last.
    const double tick_s = refresh_before(board, at_s);
    const double end_s = tick_s - board.delay_s;
    const double watts = shown_w(board, power.mean_w(end_s - board.window_s, end_s));
    const double rounded_w = std::round(watts / board.quantum_w) * board.quantum_w;
    gpu.samples.push_back({kWindowStartUnixS + asked_s, std::max(0.0, rounded_w)});
    if (!counter) continue;
    const double energy_j = power.energy_j(-kLead_s, tick_s);
    const double span_s = tick_s + kLead_s;
    const double counted_j = shown_w(board, energy_j / span_s) * span_s;
    gpu.counter.push_back(
        {kWindowStartUnixS + asked_s, std::floor((5e5 + counted_j) * 1000) / 1000});
  }
  return gpu;
}

void cut_to_seconds(GpuReadings& gpu) {
  for (Sample& sample : gpu.samples) sample.unix_s = std::floor(sample.unix_s);
  for (CounterSample& sample : gpu.counter) sample.unix_s = std::floor(sample.unix_s);
}

// Places of readings inside the window.
std::size_t place_inside(const GpuReadings& gpu, double duration_s, Random& random) {
  std::size_t first = 0;
  std::size_t end = 0;
  for (std::size_t i = 0; i < gpu.samples.size(); ++i) {
    const double at_s = gpu.samples[i].unix_s - kWindowStartUnixS;
    if (at_s < 0) first = i + 1;
    if (at_s < duration_s) end = i + 1;
  }
  return first + random.below(end - first);
}

void stick(GpuReadings& gpu, double duration_s, Random& random) {
  double from_s = random.uniform(0.05, 0.4) * duration_s;
  const double length_s = std::clamp(random.uniform(0.15, 0.5) * duration_s, 7.5, 30.0);
  const Sample* held = nullptr;
  // Under load: at idle a constant value is no fault.
  double highest_w = 0;
  for (const Sample& sample : gpu.samples) highest_w = std::max(highest_w, sample.watts);
  for (const Sample& sample : gpu.samples) {
    const double at_s = sample.unix_s - kWindowStartUnixS;
    if (at_s < from_s || sample.watts < 0.5 * highest_w) continue;
    from_s = at_s;
    break;
  }
  for (Sample& sample : gpu.samples) {
    const double at_s = sample.unix_s - kWindowStartUnixS;
    if (at_s < from_s || at_s > from_s + length_s) continue;
    if (held) sample.watts = held->watts;
    if (!held) held = &sample;
  }
}

void break_readings(GpuReadings& gpu, Fault fault, double duration_s, Random& random) {
  const std::size_t count = 1 + random.below(4);
  switch (fault) {
    case Fault::stuck:
      stick(gpu, duration_s, random);
      break;
    case Fault::zeros:
      for (std::size_t i = 0; i < count; ++i) {
        gpu.samples[place_inside(gpu, duration_s, random)].watts = 0;
      }
      break;
    case Fault::spikes:
      for (std::size_t i = 0; i < count; ++i) {
        gpu.samples[place_inside(gpu, duration_s, random)].watts *= random.uniform(5, 50);
      }
      break;
    case Fault::duplicates:
      for (std::size_t i = 0; i < 5 * count; ++i) {
        const auto place = static_cast<std::ptrdiff_t>(place_inside(gpu, duration_s, random));
        gpu.samples.insert(gpu.samples.begin() + place,
                           gpu.samples[static_cast<std::size_t>(place)]);
      }
      break;
    case Fault::reset: {
      const std::size_t place = place_inside(gpu, duration_s, random);
      const double base_j = gpu.counter.at(place).joules;
      for (std::size_t i = place; i < gpu.counter.size(); ++i) gpu.counter[i].joules -= base_j;
      break;
    }
    default:
      break;
  }
}

// Standard deviation over mean, of moments.
double variation(const TruePower& power, double duration_s) {
  double sum = 0;
  double squares = 0;
  int count = 0;
  for (double at_s = 0; at_s + 0.025 < duration_s; at_s += 0.025, ++count) {
    const double watts = power.mean_w(at_s, at_s + 0.025);
    sum += watts;
    squares += watts * watts;
  }
  const double mean = sum / count;
  return std::sqrt(std::max(0.0, squares / count - mean * mean)) / mean;
}

template <class T>
const T& pick(const std::vector<T>& choices, Random& random) {
  return choices[random.below(choices.size())];
}

}  // namespace

std::vector<RunClass> run_classes() {
  const std::vector<Shape> all(std::begin(kShapes), std::end(kShapes));
  const std::vector<Sensor> averages = {Sensor::average_1s, Sensor::average_1s, Sensor::average_1s};
  std::vector<RunClass> classes;
  for (const Shape shape : kShapes) {
    classes.push_back(
        {"averages", "1 s average, " + name_of(shape), {shape}, averages, {0.1, 0.2, 1, 1}});
  }
  classes.push_back({"averages", "100 ms, fast", all, {Sensor::full_100ms}, {0.1}});
  classes.push_back({"counter", "1 s average", all, averages, {0.1, 1}, true});
  classes.push_back({"counter", "100 ms", all, {Sensor::full_100ms}, {0.1, 1}, true});
  classes.push_back({"counter", "AMD", all, {Sensor::amd}, {1}, true});
  classes.push_back({"moments", "A100", all, {Sensor::a100}, {0.1, 1, 1}});
  classes.push_back({"moments", "V100", all, {Sensor::v100}, {0.1, 1, 1}});
  classes.push_back({"moments", "AMD at 1 Hz", all, {Sensor::amd}, {1}});
  classes.push_back({"moments", "unknown column", all, {Sensor::unknown}, {0.1, 1, 1}});
  const std::pair<const char*, Fault> kFaults[] = {
      {"stuck", Fault::stuck}, {"zeros", Fault::zeros},           {"spikes", Fault::spikes},
      {"gaps", Fault::gaps},   {"duplicates", Fault::duplicates}, {"reset", Fault::reset}};
  for (const auto& [name, fault] : kFaults) {
    classes.push_back({"faults", name, all, averages, {0.1, 1}, fault == Fault::reset, fault});
  }
  classes.push_back(
      {"clock", "clock off", {Shape::edges}, averages, {0.1, 1}, false, Fault::clock});
  // Beside the goals: what recordings without a limit, and long ones, add.
  const std::vector<Sensor> any = {Sensor::average_1s, Sensor::full_100ms, Sensor::a100,
                                   Sensor::v100};
  for (const auto& [name, fault] :
       {std::pair("sound", Fault::none), std::pair("spikes", Fault::spikes)}) {
    classes.push_back({"no limit", name, all, any, {0.1, 1}, false, fault, false});
  }
  for (const auto& [name, fault] :
       {std::pair("sound", Fault::none), std::pair("stuck", Fault::stuck),
        std::pair("gaps", Fault::gaps)}) {
    classes.push_back({"long", name, all, averages, {1}, false, fault, true, true});
  }
  const std::pair<const char*, std::vector<Shape>> kMixes[] = {
      {"sampling",
       {Shape::batch, Shape::batch, Shape::edges, Shape::serving, Shape::training,
        Shape::pipeline}},
      // No constant was chosen by these.
      {"shapes", {Shape::arrivals, Shape::stages, Shape::ramp}}};
  for (const auto& [group, shapes] : kMixes) {
    for (const double period_s : {0.9, 0.98, 1.0, 1.012, 1.05, 1.5, 2.0}) {
      classes.push_back({.group = group,
                         .name = fmt::format("every {} s", period_s),
                         .shapes = shapes,
                         .sensors = {Sensor::exact_1s},
                         .periods_s = {period_s},
                         .is_punctual = true});
    }
  }
  return classes;
}

std::vector<SensorModel> known_of(Sensor sensor) {
  switch (sensor) {
    case Sensor::average_1s:
    case Sensor::exact_1s:
      return {SensorModel{}};
    case Sensor::full_100ms:
      return {SensorModel{.window_s = 0.1}};
    case Sensor::a100:
      return {SensorModel{.window_s = 0.025}};
    case Sensor::v100:
      return {SensorModel{.window_s = 0.01, .refresh_s = 0.02}};
    case Sensor::amd:
      return {SensorModel{.window_s = 0.02, .refresh_s = 0.001}};
    case Sensor::unknown:
      break;
  }
  return {SensorModel{}, SensorModel{.window_s = 0.1}};
}

double sensor_energy_j(const SimulatedRun& run, double from_s, double to_s) {
  double sum_j = 0;
  for (const TruePower& power : run.shown) sum_j += power.energy_j(from_s, to_s);
  return sum_j;
}

SimulatedRun simulate(const RunClass& run_class, std::uint64_t seed) {
  Random random(seed);
  SimulatedRun run;
  run.shape = pick(run_class.shapes, random);
  run.sensor = pick(run_class.sensors, random);
  run.period_s = pick(run_class.periods_s, random);
  const auto [shortest_s, longest_s] =
      run_class.is_long ? std::pair(300.0, 1200.0) : std::pair(10.0, 120.0);
  double duration_s = std::exp(random.uniform(std::log(shortest_s), std::log(longest_s)));
  std::size_t gpus = std::size_t{1} << random.below(4);
  if (run_class.is_punctual) {
    duration_s = random.uniform(25, 45);
    gpus = 8;
  }
  const TrueLoad load = make_load(run.shape, duration_s, gpus, kLead_s, random);
  const std::vector<double> times =
      run_class.is_punctual
          ? punctual_times(duration_s, run.period_s, random)
          : asking_times(duration_s, run.period_s, run_class.fault == Fault::gaps, random);

  const Board typical = draw_board(run.sensor, random);
  const double shared_gain = random.normal(0.022);
  run.question.window = {kWindowStartUnixS, kWindowStartUnixS + duration_s};
  if (run_class.fault == Fault::clock) {
    const double off_s = random.uniform(0.6, 2.0) * (random.chance(0.5) ? 1 : -1);
    run.question.window.start_unix_s += off_s;
    run.question.window.end_unix_s += off_s;
    run.is_clock_off = true;
  }
  for (std::size_t i = 0; i < gpus; ++i) {
    Board board = typical;
    board.phase_s = random.uniform(0, board.refresh_s);
    board.gain = shared_gain + random.normal(0.029);
    board.offset_w = random.normal(4.9);
    const TruePower& power = load.gpus[i];
    GpuReadings gpu = read_board(board, power, times, run_class.counter, random);
    // Half of the GPUs of a recording are faulty, the first always.
    if (i == 0 || random.chance(0.5)) break_readings(gpu, run_class.fault, duration_s, random);
    if (run.sensor == Sensor::amd) {
      cut_to_seconds(gpu);
      gpu.stamps = aggregate_power::Stamps::whole_seconds;
    }
    gpu.name = std::to_string(i);
    gpu.model = "simulated";
    gpu.sensors = known_of(run.sensor);
    // The board knows no other watts.
    if (run_class.has_limit) gpu.conditions.limit_w = shown_w(board, load.limit_w);
    run.question.gpus.push_back(std::move(gpu));
    const double energy_j = power.energy_j(0, duration_s);
    run.true_j.push_back(energy_j);
    run.sensor_j.push_back(shown_w(board, energy_j / duration_s) * duration_s);
    if (run_class.is_punctual) run.shown.push_back(shown_power(board, power));
  }
  run.is_stuck = run_class.fault == Fault::stuck;
  run.is_capped = run.shape == Shape::cap && run_class.has_limit;
  run.is_under_sampled = typical.window_s < run.period_s / 5 && !run_class.counter &&
                         variation(load.gpus[0], duration_s) > 0.08;
  return run;
}

std::vector<Sample> readings_of(Sensor sensor, const TruePower& power, double start_unix_s,
                                double duration_s, double period_s, Random& random) {
  const std::vector<double> times = asking_times(duration_s, period_s, false, random);
  Board board = draw_board(sensor, random);
  board.phase_s = random.uniform(0, board.refresh_s);
  std::vector<Sample> samples = read_board(board, power, times, false, random).samples;
  for (Sample& sample : samples) sample.unix_s += start_unix_s - kWindowStartUnixS;
  return samples;
}

}  // namespace truth
