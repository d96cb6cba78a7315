// Draws loads.
#include "truth/load_shapes.h"

#include <algorithm>
#include <cmath>

namespace truth {
namespace {

// What all GPUs of a load share: levels of work in [0, 1] by cell.
struct Work {
  double first_s;
  std::size_t cells;
  double at(std::size_t cell) const {
    return first_s + (static_cast<double>(cell) + 0.5) * TruePower::kStep_s;
  }
};

// Noise that forgets itself after `memory_s`; standard deviation 1.
std::vector<double> slow_noise(const Work& work, double memory_s, Random& random) {
  const double keep = std::exp(-TruePower::kStep_s / memory_s);
  const double fresh = std::sqrt(1 - keep * keep);
  std::vector<double> noise(work.cells);
  double value = random.normal(1);
  for (double& cell : noise) cell = value = keep * value + random.normal(fresh);
  return noise;
}

std::vector<double> serving(const Work& work, Random& random) {
  const double level = random.uniform(0.5, 0.85);
  const double swing = random.uniform(0.04, 0.15);
  const std::vector<double> slow = slow_noise(work, random.uniform(0.8, 5), random);
  std::vector<double> share(work.cells);
  // Prefills: short stretches of high power at random instants.
  const double pause_s = random.uniform(0.2, 1.0);
  double next_s = work.first_s;
  double until_s = work.first_s;
  for (std::size_t i = 0; i < work.cells; ++i) {
    if (work.at(i) >= next_s) {
      until_s = next_s + random.uniform(0.02, 0.15);
      next_s = until_s + random.exponential(pause_s);
    }
    share[i] = level + swing * slow[i] + (work.at(i) < until_s ? 0.25 : 0);
  }
  return share;
}

std::vector<double> training(const Work& work, Random& random) {
  const double step_s = std::exp(random.uniform(std::log(0.25), std::log(4.0)));
  const double busy = random.uniform(0.6, 0.9);
  const double high = random.uniform(0.7, 0.86);
  const double low = random.uniform(0.35, 0.7) * high;
  std::vector<double> share(work.cells);
  double begin_s = work.first_s;
  double length_s = step_s;
  for (std::size_t i = 0; i < work.cells; ++i) {
    while (work.at(i) >= begin_s + length_s) {
      begin_s += length_s;
      length_s = step_s * (1 + random.normal(0.02));
    }
    share[i] = work.at(i) < begin_s + busy * length_s ? high : low;
  }
  return share;
}

std::vector<double> pipeline(const Work& work, double turn, Random& shared) {
  Random random = shared;  // the same draws for each GPU
  const double round_s = random.uniform(0.4, 3);
  const double busy = random.uniform(0.5, 0.8);
  const double low = random.uniform(0.2, 0.45);
  std::vector<double> share(work.cells);
  for (std::size_t i = 0; i < work.cells; ++i) {
    const double phase = work.at(i) / round_s - turn;
    share[i] = phase - std::floor(phase) < busy ? 0.85 : low;
  }
  return share;
}

std::vector<double> bursts(const Work& work, Random& random) {
  const double on_s = random.uniform(0.7, 5);
  const double off_s = random.uniform(0.4, 4);
  std::vector<double> share(work.cells);
  bool on = random.chance(0.5);
  double until_s = work.first_s + random.exponential(on_s);
  for (std::size_t i = 0; i < work.cells; ++i) {
    if (work.at(i) >= until_s) {
      on = !on;
      until_s += std::max(0.1, random.exponential(on ? on_s : off_s));
    }
    share[i] = on ? 0.85 : 0.0;
  }
  return share;
}

std::vector<double> throttling(const Work& work, double duration_s, Random& random) {
  const double fall = random.uniform(0.1, 0.3);
  const double after_s = random.uniform(0, 0.4) * duration_s;
  const double memory_s = random.uniform(0.1, 0.4) * duration_s;
  std::vector<double> share(work.cells);
  for (std::size_t i = 0; i < work.cells; ++i) {
    const double since_s = std::max(0.0, work.at(i) - after_s);
    share[i] = 0.88 * (1 - fall * (1 - std::exp(-since_s / memory_s)));
  }
  return share;
}

// A load that is there from its start to its end, with ramps.
void limit_to(std::vector<double>& share, const Work& work, double start_s, double end_s,
              double rise_s, double fall_s) {
  for (std::size_t i = 0; i < work.cells; ++i) {
    const double at_s = work.at(i);
    const double in = at_s < start_s ? 0 : 1 - std::exp(-(at_s - start_s) / rise_s);
    const double out = at_s < end_s ? 1 : std::exp(-(at_s - end_s) / fall_s);
    share[i] *= std::min(in, out);
  }
}

// A benchmark of a fixed number of requests: power rises with the window, and the last requests end
// one after the other, around the window's end.
std::vector<double> batch(const Work& work, double duration_s, Random& random) {
  const double level = random.uniform(0.55, 0.86);
  const double swing = random.uniform(0.002, 0.015);
  const double round_s = random.uniform(8, 30);
  const double rise_s = random.uniform(0.1, 0.6);
  const double fall_s = random.uniform(0.2, 2.8);
  const double fall_from_s = duration_s - random.uniform(0.5, 1) * fall_s;
  std::vector<double> share(work.cells);
  for (std::size_t i = 0; i < work.cells; ++i) {
    const double at_s = work.at(i);
    const double in = std::clamp(at_s / rise_s, 0.0, 1.0);
    const double out = std::clamp(1 - (at_s - fall_from_s) / fall_s, 0.0, 1.0);
    share[i] = level * std::min(in, out) * (1 + swing * std::sin(6.28 * at_s / round_s));
  }
  return share;
}

// Power rises with the window and falls with it.
void limit_to_window(std::vector<double>& share, const Work& work, double duration_s,
                     Random& random) {
  const double rise_s = random.uniform(0.02, 0.5);
  const double fall_s = random.uniform(0.02, 1.0);
  const double fall_from_s = duration_s - random.uniform(0.5, 1) * fall_s;
  for (std::size_t i = 0; i < work.cells; ++i) {
    const double in = std::clamp(work.at(i) / rise_s, 0.0, 1.0);
    share[i] *= std::min(in, std::clamp(1 - (work.at(i) - fall_from_s) / fall_s, 0.0, 1.0));
  }
}

// Requests that arrive at random, some at once; power saturates with the number in flight.
std::vector<double> arrivals(const Work& work, double duration_s, Random& random) {
  std::vector<double> in_flight(work.cells + 1);
  const auto cell_at = [&](double at_s) {
    const double cell = (at_s - work.first_s) / TruePower::kStep_s;
    return static_cast<std::size_t>(std::clamp(cell, 0.0, static_cast<double>(work.cells)));
  };
  const double apart_s = random.uniform(0.1, 1.5);
  const double mean_s = random.uniform(1, 6);
  for (double at_s = 0; at_s < duration_s - 1; at_s += random.exponential(apart_s)) {
    const double end_s = std::min(duration_s, at_s + mean_s * std::exp(random.normal(0.5) - 0.125));
    ++in_flight[cell_at(at_s)];
    --in_flight[cell_at(end_s)];
  }
  const double many = random.uniform(0.5, 1.5) * mean_s / apart_s;
  std::vector<double> share(work.cells);
  double now = 0;
  for (std::size_t i = 0; i < work.cells; ++i) {
    now += in_flight[i];
    share[i] = 0.86 * (1 - std::exp(-now / many));
  }
  return share;
}

// Tasks of several seconds, each with a power of its own.
std::vector<double> stages(const Work& work, double duration_s, Random& random) {
  std::vector<double> share(work.cells);
  double until_s = work.first_s;
  double level = 0;
  for (std::size_t i = 0; i < work.cells; ++i) {
    if (work.at(i) >= until_s) {
      level = random.uniform(0.35, 0.86);
      until_s += random.uniform(2, 9);
    }
    share[i] = level;
  }
  limit_to_window(share, work, duration_s, random);
  return share;
}

// Power that grows throughout, such as with the length of contexts.
std::vector<double> ramp(const Work& work, double duration_s, Random& random) {
  const double first = random.uniform(0.3, 0.6);
  const double last = random.uniform(0.7, 0.86);
  std::vector<double> share(work.cells);
  for (std::size_t i = 0; i < work.cells; ++i) {
    share[i] = first + (last - first) * std::clamp(work.at(i) / duration_s, 0.0, 1.0);
  }
  limit_to_window(share, work, duration_s, random);
  return share;
}

std::vector<double> draw(Shape shape, const Work& work, double duration_s, double turn,
                         Random& random) {
  switch (shape) {
    case Shape::serving:
      return serving(work, random);
    case Shape::training:
      return training(work, random);
    case Shape::pipeline:
      return pipeline(work, turn, random);
    case Shape::bursts:
      return bursts(work, random);
    case Shape::cap:
      return std::vector(work.cells, 1.0);
    case Shape::throttling:
      return throttling(work, duration_s, random);
    case Shape::edges:
      switch (random.below(3)) {
        case 0:
          return serving(work, random);
        case 1:
          return training(work, random);
        default:
          return std::vector(work.cells, random.uniform(0.55, 0.86));
      }
    case Shape::batch:
      return batch(work, duration_s, random);
    case Shape::arrivals:
      return arrivals(work, duration_s, random);
    case Shape::stages:
      return stages(work, duration_s, random);
    case Shape::ramp:
      return ramp(work, duration_s, random);
    case Shape::steady:
      break;
  }
  return std::vector(work.cells, random.uniform(0.55, 0.86));
}

}  // namespace

std::string name_of(Shape shape) {
  static const char* const kNames[] = {"steady", "serving",  "training",   "pipeline",
                                       "bursts", "cap",      "throttling", "edges",
                                       "batch",  "arrivals", "stages",     "ramp"};
  return kNames[static_cast<std::size_t>(shape)];
}

TruePower::TruePower(double first_s, std::vector<double> watts)
    : first_s_(first_s), watts_(std::move(watts)), sums_j_(watts_.size() + 1) {
  for (std::size_t i = 0; i < watts_.size(); ++i) {
    sums_j_[i + 1] = sums_j_[i] + watts_[i] * kStep_s;
  }
}

double TruePower::until(double at_s) const {
  const double place = (at_s - first_s_) / kStep_s;
  if (place <= 0) return place * kStep_s * watts_.front();
  if (place >= static_cast<double>(watts_.size())) {
    return sums_j_.back() + (place - static_cast<double>(watts_.size())) * kStep_s * watts_.back();
  }
  const auto cell = static_cast<std::size_t>(place);
  return sums_j_[cell] + (place - static_cast<double>(cell)) * kStep_s * watts_[cell];
}

TrueLoad make_load(Shape shape, double duration_s, std::size_t gpus, double lead_s,
                   Random& random) {
  const Work work = {-lead_s,
                     static_cast<std::size_t>((duration_s + 2 * lead_s) / TruePower::kStep_s)};
  const double idle_w = random.uniform(55, 120);
  const double limit_w = random.uniform(300, 750);
  const double rise_s = random.chance(0.2) ? random.uniform(0.1, 0.4) : random.uniform(0.01, 0.08);
  const double fall_s = random.uniform(0.02, 0.15);
  // Idle power moves on most boards, and stays higher for a while after a load on some.
  const double idle_share = random.chance(0.3) ? 0 : random.uniform(0.002, 0.03);
  const double idle_memory_s = random.uniform(0.1, 5);
  const double warm_share = random.chance(0.5) ? 0 : random.uniform(0, 0.4);
  const double warm_memory_s = random.uniform(2, 10);
  // The other loads began before the window and go on after it, for some seconds.
  double start_s = -random.uniform(2, lead_s + 4);
  double end_s = duration_s + random.uniform(2, lead_s + 4);
  if (shape == Shape::edges) {
    start_s = random.uniform(0, 0.15);
    end_s = duration_s - random.uniform(0, 0.3);
  }
  Random shape_random(static_cast<std::uint64_t>(random.uniform() * 0x1p53));
  std::vector<double> common = draw(shape, work, duration_s, 0, shape_random);
  const std::vector<double> drift = slow_noise(work, random.uniform(5, 20), random);
  const double drift_share = random.uniform(0.002, 0.012);
  const double fast_share = shape == Shape::cap ? 0.01 : random.uniform(0.01, 0.05);

  TrueLoad load = {duration_s, limit_w, {}};
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    std::vector<double> share = common;
    if (shape == Shape::pipeline) {
      const double turn = static_cast<double>(gpu) / static_cast<double>(gpus);
      share = pipeline(work, turn, shape_random);
    }
    if (shape < Shape::batch) limit_to(share, work, start_s, end_s, rise_s, fall_s);
    const double level = 1 + random.normal(0.02);
    const std::vector<double> own = slow_noise(work, random.uniform(1, 10), random);
    const std::vector<double> fast = slow_noise(work, 0.02, random);
    const double own_share = drift_share * random.uniform(0.3, 1);
    std::vector<double> watts(work.cells);
    const double cold = idle_w * (1 + random.normal(0.03));
    const std::vector<double> idle_noise = slow_noise(work, idle_memory_s, random);
    for (std::size_t i = 0; i < work.cells; ++i) {
      const double since_s = work.at(i) - end_s;
      const double warm = since_s > 0 ? warm_share * std::exp(-since_s / warm_memory_s) : 0;
      const double idle = cold * (1 + warm + idle_share * idle_noise[i]);
      const double busy = share[i] * level * (limit_w - cold);
      const double noise = drift_share * drift[i] + own_share * own[i] + fast_share * fast[i];
      watts[i] = std::max(0.3 * cold, idle + busy * (1 + noise));
      // A cap holds the mean just below the limit.
      if (shape == Shape::cap && share[i] > 0.9) {
        watts[i] = limit_w * (0.985 + 0.3 * fast_share * fast[i] + 0.002 * own[i]);
      }
    }
    load.gpus.emplace_back(-lead_s, std::move(watts));
  }
  return load;
}

}  // namespace truth
