// One function for each kind of recording.
#include "truth/recording_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace truth {
namespace {

double quantum_of(const RecordedRun& run) { return std::pow(10, -run.decimals); }

// Values are held from each instant of a clock that is slower than the recorder.
template <class NextS>
void hold(RecordedRun& run, NextS next_s) {
  double first_unix_s = run.gpus().front().samples.front().unix_s;
  std::vector<double> scrapes = {first_unix_s};
  while (scrapes.back() < run.window.end_unix_s + 100) scrapes.push_back(scrapes.back() + next_s());
  for (RecordedGpu& gpu : run.gpus()) {
    const std::vector<Sample> fresh = gpu.samples;
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      const auto after = std::ranges::upper_bound(scrapes, fresh[i].unix_s + 0.02);
      const double scraped_s = after == scrapes.begin() ? scrapes.front() : *std::prev(after);
      const auto seen = std::ranges::upper_bound(fresh, scraped_s + 0.02, {}, &Sample::unix_s);
      gpu.samples[i].watts = seen == fresh.begin() ? fresh.front().watts : std::prev(seen)->watts;
    }
  }
}

RecordedRun held(double period_s, Random& random) {
  RecordedRun run = sound_run({.periods_s = {1, 1, 0.5, 2}}, random);
  hold(run, [&] { return period_s; });
  return run;
}

// Between scrapes the values are on a line.
void interpolate(RecordedRun& run, double period_s) {
  for (RecordedGpu& gpu : run.gpus()) {
    const std::vector<Sample> fresh = gpu.samples;
    std::vector<std::size_t> knots;
    double next_s = fresh.front().unix_s;
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      if (fresh[i].unix_s < next_s && i + 1 < fresh.size()) continue;
      knots.push_back(i);
      next_s += period_s;
    }
    for (std::size_t k = 1; k < knots.size(); ++k) {
      const Sample& a = fresh[knots[k - 1]];
      const Sample& b = fresh[knots[k]];
      for (std::size_t i = knots[k - 1]; i <= knots[k]; ++i) {
        const double share = (fresh[i].unix_s - a.unix_s) / (b.unix_s - a.unix_s);
        gpu.samples[i].watts = rounded_to(a.watts + share * (b.watts - a.watts), quantum_of(run));
      }
    }
  }
}

// The last reading before `from_unix_s` stays.
void hang(RecordedGpu& gpu, double from_unix_s, double to_unix_s) {
  double watts = gpu.samples.front().watts;
  for (Sample& sample : gpu.samples) {
    if (sample.unix_s < from_unix_s) watts = sample.watts;
    if (sample.unix_s >= from_unix_s && sample.unix_s < to_unix_s) sample.watts = watts;
  }
}

// The work begins and ends within the recording.
const RecordingStyle kStuck = {.periods_s = {1, 1, 0.5, 0.2}, .has_idle = true};
const RecordingStyle kStuckAlone = {
    .gpus = {1}, .periods_s = {1, 1, 0.5, 0.2}, .states_share = 1, .has_idle = true};

RecordedRun several_in_one(double apart_s, Random& random) {
  RecordedRun run = sound_run({.gpus = {2, 4}, .periods_s = {1, 2}}, random);
  for (std::size_t i = 0; i < run.gpus().size(); ++i) {
    RecordedGpu& gpu = run.gpus()[i];
    gpu.name = "0";
    for (std::size_t j = 0; j < gpu.samples.size(); ++j) {
      gpu.samples[j].unix_s = run.gpus().front().samples[j].unix_s;
      gpu.samples[j].unix_s += apart_s * static_cast<double>(i);
    }
  }
  return run;
}

// More names of the first GPU.
RecordedRun copies(double noise_w, Random& random) {
  RecordedRun run = sound_run({.gpus = {1}}, random);
  const std::size_t names = 2 + random.below(7);
  for (std::size_t i = 1; i < names; ++i) {
    RecordedGpu copy = run.gpus().front();
    copy.name = std::to_string(i);
    for (Sample& sample : copy.samples) {
      if (noise_w == 0) continue;
      sample.watts = rounded_to(sample.watts + random.uniform(-noise_w, noise_w), quantum_of(run));
    }
    run.gpus().push_back(std::move(copy));
  }
  return run;
}

void cut(RecordedGpu& gpu, double from_unix_s, double to_unix_s) {
  for (std::size_t i = gpu.samples.size(); i-- > 0;) {
    const double unix_s = gpu.samples[i].unix_s;
    if (unix_s < from_unix_s || unix_s > to_unix_s) gpu.erase(i);
  }
}

void scale(RecordedRun& run, double factor) {
  for (RecordedGpu& gpu : run.gpus()) {
    for (Sample& sample : gpu.samples) sample.watts *= factor;
  }
}

RecordedRun with_states(Random& random) { return sound_run({.states_share = 1}, random); }

// The mean of the samples of the last seconds.
void average(RecordedRun& run, double over_s) {
  for (RecordedGpu& gpu : run.gpus()) {
    const std::vector<Sample> fresh = gpu.samples;
    std::size_t first = 0;
    double sum_w = 0;
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      sum_w += fresh[i].watts;
      while (fresh[i].unix_s - fresh[first].unix_s >= over_s) sum_w -= fresh[first++].watts;
      gpu.samples[i].watts =
          rounded_to(sum_w / static_cast<double>(i - first + 1), quantum_of(run));
    }
  }
}

// An exponential mean, as of a slow sensor.
void slow_down(RecordedRun& run, double constant_s) {
  for (RecordedGpu& gpu : run.gpus()) {
    double watts = gpu.samples.front().watts;
    double last_unix_s = gpu.samples.front().unix_s;
    for (Sample& sample : gpu.samples) {
      const double keep = std::exp((last_unix_s - sample.unix_s) / constant_s);
      last_unix_s = sample.unix_s;
      watts = keep * watts + (1 - keep) * sample.watts;
      sample.watts = rounded_to(watts, quantum_of(run));
    }
  }
}

RecordedRun averaged(double least_s, double most_s, Random& random) {
  RecordedRun run = sound_run({.periods_s = {1, 0.5}, .has_idle = true}, random);
  average(run, random.uniform(least_s, most_s));
  return run;
}

// Each GPU has two names, and is read later under the second.
RecordedRun read_twice(const RecordingStyle& style, Random& random) {
  RecordingStyle twice = style;
  twice.again_s = random.uniform(0.05, 0.95);
  return sound_run(twice, random);
}

// ---- Faults

std::vector<RecordingClass> who_was_measured() {
  return {
      {false, "several GPUs at one stamp",
       [](Random& random) { return several_in_one(0, random); }},
      {false, "several GPUs 2 ms apart",
       [](Random& random) { return several_in_one(0.002, random); }},
      {false, "several GPUs 20 ms apart",
       [](Random& random) { return several_in_one(0.02, random); }},
      {false, "several GPUs, no column",
       [](Random& random) {
         RecordedRun run = several_in_one(0.003, random);
         run.names_gpus = false;
         run.expected = 1;
         return run;
       }},
      {false, "one sensor, many names", [](Random& random) { return copies(0, random); }},
      {false, "one sensor, noise of 0.05 W", [](Random& random) { return copies(0.05, random); }},
      {false, "one sensor, noise of 0.3 W", [](Random& random) { return copies(0.3, random); }},
      {false, "one sensor, short copy",
       [](Random& random) {
         RecordedRun run = sound_run({.gpus = {1}}, random);
         RecordedGpu copy = run.gpus().front();
         copy.name = "1";
         const Window all = run.window;
         cut(copy, all.start_unix_s - 3 - random.uniform(0, 15),
             all.end_unix_s + 3 + random.uniform(0, 15));
         run.files.push_back({copy});
         return run;
       }},
      {false, "one sensor, two recorders",
       [](Random& random) {
         RecordedRun run = sound_run({.gpus = {1}, .periods_s = {1, 0.5}}, random);
         RecordedGpu copy = run.gpus().front();
         copy.name = "GPU-0c0ffee0-0000-4000-8000-000000000000";
         for (Sample& sample : copy.samples) {
           sample.unix_s += 0.03;
           sample.watts = rounded_to(sample.watts, std::max(0.1, quantum_of(run)));
         }
         run.files.push_back({copy});
         return run;
       }},
      {false, "one GPU, read twice", [](Random& random) { return read_twice({}, random); }, 0.4},
      {false, "one GPU, read twice, steps",
       [](Random& random) {
         return read_twice({.periods_s = {1, 0.5}, .has_idle = true}, random);
       },
       0.25},
      {false, "one GPU, two recorders apart",
       [](Random& random) {
         RecordedRun run = read_twice({.periods_s = {1, 0.5}}, random);
         const auto half = static_cast<std::ptrdiff_t>(run.gpus().size() / 2);
         run.files.emplace_back(run.gpus().begin() + half, run.gpus().end());
         run.gpus().resize(static_cast<std::size_t>(half));
         return run;
       },
       0.4},
      {false, "the mean of GPUs",
       [](Random& random) {
         RecordedRun run = sound_run({.gpus = {2, 4}}, random);
         std::vector<RecordedGpu>& gpus = run.gpus();
         for (std::size_t i = 0; i < gpus[0].samples.size(); ++i) {
           double sum_w = 0;
           for (const RecordedGpu& gpu : gpus) sum_w += gpu.samples[i].watts;
           gpus[0].samples[i].watts = sum_w / static_cast<double>(gpus.size());
         }
         const std::vector<std::string> names = {"mean", "avg", "average", "0.5", "\"0,1\""};
         gpus[0].name = names[random.below(names.size())];
         gpus.resize(1);
         return run;
       }},
      {false, "idle GPUs counted",
       [](Random& random) {
         RecordedRun run = sound_run({.gpus = {1, 2}}, random);
         const std::size_t busy = run.gpus().size();
         const std::size_t idle = 1 + random.below(7);
         for (std::size_t i = 0; i < idle; ++i) {
           RecordedGpu gpu = run.gpus().front();
           gpu.name = std::to_string(busy + i);
           const double idle_w = random.uniform(30, 70);
           for (Sample& sample : gpu.samples) {
             sample.watts = rounded_to(idle_w + random.normal(0.4), quantum_of(run));
           }
           for (double& percent : gpu.utilization_pct) percent = 0;
           run.gpus().push_back(std::move(gpu));
         }
         return run;
       }},
  };
}

std::vector<RecordingClass> how_old() {
  return {
      {false, "held for 4 s", [](Random& random) { return held(4, random); }},
      {false, "held for 10 s", [](Random& random) { return held(10, random); }},
      {false, "held for 15 s", [](Random& random) { return held(15, random); }},
      {false, "held for 30 s", [](Random& random) { return held(30, random); }},
      {false, "held for 60 s", [](Random& random) { return held(60, random); }},
      {false, "held for 4 to 12 s",
       [](Random& random) {
         RecordedRun run = sound_run({.periods_s = {1, 0.5, 2}}, random);
         hold(run, [&] { return random.uniform(4, 12); });
         return run;
       }},
      {false, "held for 4 to 90 s",
       [](Random& random) {
         RecordedRun run = sound_run({.periods_s = {1, 0.5, 2}}, random);
         hold(run, [&] { return random.uniform(4, 90); });
         return run;
       }},
      {false, "interpolated over 5 s",
       [](Random& random) {
         RecordedRun run = sound_run({.periods_s = {1, 0.5}}, random);
         interpolate(run, 5);
         return run;
       }},
      {false, "interpolated over 15 s",
       [](Random& random) {
         RecordedRun run = sound_run({.periods_s = {1, 0.5}}, random);
         interpolate(run, 15);
         return run;
       }},
      {false, "interpolated over 30 s",
       [](Random& random) {
         RecordedRun run = sound_run({.periods_s = {1, 0.5}}, random);
         interpolate(run, 30);
         return run;
       }},
      {false, "means over 5 to 10 s", [](Random& random) { return averaged(5, 10, random); }},
      {false, "means over 10 to 20 s", [](Random& random) { return averaged(10, 20, random); }},
      {false, "a sensor slower than 4 s",
       [](Random& random) {
         RecordedRun run = sound_run({.periods_s = {1, 0.5}, .has_idle = true}, random);
         slow_down(run, random.uniform(4, 7));
         return run;
       }},
      {false, "a sample every 8 to 20 s, accepted",
       [](Random& random) {
         RecordedRun run = sound_run({.periods_s = {1}, .has_idle = true}, random);
         const std::size_t each = 8 + random.below(13);
         const std::size_t first = random.below(each);
         for (RecordedGpu& gpu : run.gpus()) {
           for (std::size_t i = gpu.samples.size(); i-- > 0;) {
             if (i % each != first) gpu.erase(i);
           }
         }
         run.max_sample_gap_s = 30;
         return run;
       }},
      {false, "stuck, with others or states",
       [](Random& random) {
         RecordedRun run = random.chance(0.5)
                               ? sound_run(kStuckAlone, random)
                               : sound_run({.gpus = {2, 4}, .has_idle = true}, random);
         hang(run.gpus().front(), 0, 1e12);
         return run;
       }},
      {false, "stuck at 0 W beside others",
       [](Random& random) {
         RecordedRun run = sound_run({.gpus = {2, 4}, .has_idle = true}, random);
         for (Sample& sample : run.gpus().back().samples) sample.watts = 0;
         return run;
       }},
      {false, "stuck from before the window",
       [](Random& random) {
         RecordedRun run = sound_run(random.chance(0.5) ? kStuck : kStuckAlone, random);
         if (run.gpus().size() == 1 && run.gpus()[0].utilization_pct.empty()) {
           run.gpus()[0].utilization_pct.clear();
         }
         hang(run.gpus().front(), run.window.start_unix_s - random.uniform(0.1, 15), 1e12);
         return run;
       }},
      {false, "stuck in most of the window",
       [](Random& random) {
         RecordedRun run = sound_run({.periods_s = {1, 0.5, 0.2}}, random);
         const double length_s = 0.75 * run.window.duration_s();
         const double from_s = run.window.start_unix_s + random.uniform(0.05, 0.2) * length_s;
         hang(run.gpus().front(), from_s, from_s + length_s);
         return run;
       }},
      {false, "stuck, a counter beside it",
       [](Random& random) {
         RecordedRun run = sound_run({.gpus = {1}, .states_share = 0, .has_counter = true}, random);
         hang(run.gpus().front(), run.window.start_unix_s - random.uniform(-5, 15), 1e12);
         return run;
       }},
  };
}

std::vector<RecordingClass> whether_it_can_be() {
  return {
      {false, "milliwatts",
       [](Random& random) {
         RecordedRun run = sound_run({}, random);
         scale(run, 1000);
         return run;
       }},
      {false, "microwatts",
       [](Random& random) {
         RecordedRun run = sound_run({}, random);
         scale(run, 1e6);
         return run;
       }},
      {false, "kilowatts",
       [](Random& random) {
         RecordedRun run = with_states(random);
         scale(run, 1e-3);
         run.decimals += 3;
         return run;
       }},
      {false, "tenths of a watt, a limit beside",
       [](Random& random) {
         RecordedRun run = sound_run({}, random);
         double most_w = 0;
         for (RecordedGpu& gpu : run.gpus()) {
           for (const Sample& sample : gpu.samples) most_w = std::max(most_w, sample.watts);
         }
         for (RecordedGpu& gpu : run.gpus()) gpu.limit_w.assign(gpu.samples.size(), most_w * 1.02);
         scale(run, 10);
         return run;
       }},
      {false, "one reading of 3 kW and more",
       [](Random& random) {
         RecordedRun run = sound_run({}, random);
         std::vector<Sample>& samples = run.gpus().front().samples;
         const auto inside =
             std::ranges::lower_bound(samples, run.window.start_unix_s + 5, {}, &Sample::unix_s);
         inside->watts = std::exp(random.uniform(std::log(3001), std::log(5e5)));
         return run;
       }},
      {false, "power off by 10, a counter beside",
       [](Random& random) {
         RecordedRun run = sound_run({.has_counter = true}, random);
         scale(run, random.chance(0.5) ? 0.1 : 5);
         if (run.decimals == 0) run.decimals = 1;
         return run;
       }},
      {false, "power of another GPU, a counter",
       [](Random& random) {
         RecordedRun run = sound_run({.gpus = {1}, .has_counter = true}, random);
         scale(run, random.uniform(0.3, 0.75));
         if (run.decimals == 0) run.decimals = 1;
         return run;
       }},
  };
}

// ---- Sound recordings

const std::vector<Shape> kSteady = {Shape::steady, Shape::throttling};

RecordedRun of_instants(Random& random, double (*next_s)(Random& random, std::size_t row)) {
  RecordedRun run = sound_run({.gpus = {1}, .periods_s = {0.1}, .quanta_w = {0.01, 1}}, random);
  RecordedGpu& gpu = run.gpus().front();
  std::vector<Sample> kept;
  double next_unix_s = gpu.samples.front().unix_s;
  for (const Sample& sample : gpu.samples) {
    if (sample.unix_s < next_unix_s - 0.05) continue;
    kept.push_back(sample);
    next_unix_s += next_s(random, kept.size());
  }
  gpu.samples = std::move(kept);
  gpu.utilization_pct.clear();
  gpu.temperature_c.clear();
  run.true_j = trapezoid_j(run.gpus(), run.window);
  return run;
}

// GPUs that are always at the same work, each with a sensor and a gain of its own.
RecordedRun in_lock_step(double quantum_w, Random& random) {
  RecordedRun run = sound_run({.gpus = {1}, .periods_s = {1}, .quanta_w = {0.001}}, random);
  const RecordedGpu first = run.gpus().front();
  run.gpus().clear();
  run.decimals = quantum_w >= 1 ? 0 : 2;
  const std::size_t gpus = 2 + random.below(7);
  for (std::size_t i = 0; i < gpus; ++i) {
    RecordedGpu gpu = first;
    gpu.name = std::to_string(i);
    const double gain = 1 + random.normal(0.02);
    for (Sample& sample : gpu.samples) {
      sample.watts = rounded_to(sample.watts * gain * (1 + random.normal(0.003)), quantum_w);
    }
    run.gpus().push_back(std::move(gpu));
  }
  run.true_j = trapezoid_j(run.gpus(), run.window);
  return run;
}

// `watts(at_s)` of one GPU, each second of the window and 20 s around it.
template <class Watts>
RecordedRun made_of(double duration_s, Watts watts) {
  RecordedRun run;
  run.window = {1788852000, 1788852000 + duration_s};
  RecordedGpu gpu{"0", {}};
  for (double at_s = -20; at_s <= duration_s + 20; ++at_s) {
    gpu.samples.push_back({run.window.start_unix_s + at_s, watts(at_s)});
  }
  run.files = {{gpu}};
  return run;
}

RecordedRun finished(RecordedRun run) {
  run.true_j = trapezoid_j(run.gpus(), run.window);
  return run;
}

std::vector<RecordingClass> sound_readings() {
  return {
      {true, "any load", [](Random& random) { return sound_run({}, random); }},
      {true, "with a counter",
       [](Random& random) { return sound_run({.has_counter = true}, random); }},
      {true, "whole watts, idle around it",
       [](Random& random) {
         return sound_run({.periods_s = {1}, .quanta_w = {1}, .has_idle = true}, random);
       }},
      {true, "whole watts, steady",
       [](Random& random) {
         return sound_run({.shapes = kSteady, .periods_s = {1, 0.2}, .quanta_w = {1}}, random);
       }},
      {true, "at the limit",
       [](Random& random) { return sound_run({.shapes = {Shape::cap}}, random); }},
      {true, "held exactly at the limit",
       [](Random& random) {
         RecordedRun run = sound_run({.quanta_w = {1}, .has_idle = true}, random);
         for (RecordedGpu& gpu : run.gpus()) {
           const double most_w = std::ranges::max(gpu.samples, {}, &Sample::watts).watts;
           const double cap_w = std::round(0.8 * most_w);
           for (Sample& sample : gpu.samples) sample.watts = std::min(sample.watts, cap_w);
         }
         return finished(std::move(run));
       }},
      {true, "1 % of rows missing",
       [](Random& random) {
         RecordedRun run = sound_run({.periods_s = {1, 0.5, 0.1}}, random);
         for (RecordedGpu& gpu : run.gpus()) {
           for (std::size_t i = gpu.samples.size(); i-- > 1;) {
             const bool leaves_gap = i + 1 >= gpu.samples.size() ||
                                     gpu.samples[i + 1].unix_s - gpu.samples[i - 1].unix_s > 2.9;
             if (random.chance(0.01) && !leaves_gap) gpu.erase(i);
           }
         }
         return finished(std::move(run));
       }},
      {true, "lock-step, 0.01 W", [](Random& random) { return in_lock_step(0.01, random); }},
      {true, "lock-step, 1 W", [](Random& random) { return in_lock_step(1, random); }},
      {true, "lock-step, 5 W", [](Random& random) { return in_lock_step(5, random); }},
      {true, "lock-step idle, 5 W",
       [](Random& random) {
         RecordedRun run = in_lock_step(5, random);
         for (RecordedGpu& gpu : run.gpus()) {
           for (Sample& sample : gpu.samples) sample.watts = rounded_to(sample.watts / 6, 5);
         }
         return finished(std::move(run));
       }},
      {true, "lock-step, two hosts",
       [](Random& random) {
         RecordedRun run =
             sound_run({.gpus = {1}, .periods_s = {1}, .quanta_w = {0.01}, .again_s = 0.4}, random);
         const std::vector<RecordedGpu> hosts = run.gpus();
         run.gpus().clear();
         const std::size_t gpus = 2 + random.below(7);
         for (std::size_t i = 0; i < 2 * gpus; ++i) {
           RecordedGpu gpu = hosts[i / gpus];
           gpu.name = fmt::format("n{}/{}", i / gpus, i % gpus);
           const double gain = 1 + random.normal(0.02);
           for (Sample& sample : gpu.samples) {
             sample.watts = rounded_to(sample.watts * gain * (1 + random.normal(0.003)), 0.01);
           }
           run.gpus().push_back(std::move(gpu));
         }
         return finished(std::move(run));
       }},
      {true, "ramps of its own",
       [](Random& random) {
         const double duration_s = random.uniform(40, 90);
         const double up_s = random.uniform(1, 0.4 * duration_s);
         const double down_s = random.uniform(0, 0.4 * duration_s);
         const double idle_w = random.uniform(40, 120);
         const double step_w = random.uniform(100, 500);
         return finished(made_of(duration_s, [&](double at_s) {
           const double share = std::min(at_s / up_s, (duration_s - at_s) / std::max(down_s, 0.1));
           return rounded_to(idle_w + step_w * std::clamp(share, 0.0, 1.0) + random.normal(1),
                             0.01);
         }));
       }},
      {true, "a sweep of an hour",
       [](Random& random) {
         double level_w = 100;
         double until_s = -20;
         RecordedRun run = made_of(3600, [&](double at_s) {
           if (at_s >= until_s) {
             level_w = random.uniform(90, 690);
             until_s = at_s + random.uniform(60, 400);
           }
           return rounded_to(level_w * (1 + random.normal(0.01)), 0.01);
         });
         return finished(std::move(run));
       }},
      {true, "recorders of other GPUs",
       [](Random& random) {
         RecordedRun run = sound_run({.gpus = {2, 4}}, random);
         const auto half = static_cast<std::ptrdiff_t>(run.gpus().size() / 2);
         run.files.emplace_back(run.gpus().begin() + half, run.gpus().end());
         run.gpus().resize(static_cast<std::size_t>(half));
         return run;
       }},
      {true, "asleep outside of the window",
       [](Random& random) {
         RecordedRun run = sound_run({.gpus = {1}}, random);
         const double away_s = random.uniform(30, 4000);
         for (Sample& sample : run.gpus().front().samples) {
           if (sample.unix_s > run.window.end_unix_s + 8) sample.unix_s += away_s;
           if (sample.unix_s < run.window.start_unix_s - 8) sample.unix_s -= away_s;
         }
         return run;
       }},
      {true, "concurrency 1 on a big card",
       [](Random& random) {
         const double quantum_w = random.chance(0.5) ? 1 : 0.01;
         const double idle_w = random.uniform(70, 140);
         const double lift_w = random.uniform(0, 0.3) * idle_w;
         RecordedRun run = made_of(random.uniform(40, 200), [&](double at_s) {
           const double works_w = at_s > 0 ? lift_w : 0;
           return rounded_to(idle_w + works_w + random.normal(0.6), quantum_w);
         });
         run.decimals = quantum_w >= 1 ? 0 : 2;
         return finished(std::move(run));
       }},
      {true, "rows in bursts",
       [](Random& random) {
         RecordedRun run = of_instants(random, [](Random&, std::size_t) { return 0.1; });
         // Written together, and stamped then.
         const std::size_t usual = 2 + random.below(8);
         std::vector<Sample>& samples = run.gpus().front().samples;
         std::size_t end = 0;
         for (std::size_t i = 0; i < samples.size(); i = end) {
           const std::size_t in_burst = usual + random.below(2);
           end = std::min(i + in_burst, samples.size());
           for (std::size_t j = i; j < end; ++j) {
             samples[j].unix_s = samples[end - 1].unix_s - 0.003 * static_cast<double>(end - 1 - j);
           }
         }
         return finished(std::move(run));
       }},
      {true, "gaps of 0.2 and 0.3 s in turn",
       [](Random& random) {
         return of_instants(random,
                            [](Random&, std::size_t row) { return row % 2 == 0 ? 0.2 : 0.3; });
       }},
      {true, "rows for each process",
       [](Random& random) {
         RecordedRun run = sound_run({.gpus = {1, 2}}, random);
         for (RecordedGpu& gpu : run.gpus()) {
           std::vector<Sample> twice;
           for (const Sample& sample : gpu.samples) twice.insert(twice.end(), 2, sample);
           gpu = {gpu.name, twice};
         }
         return run;
       }},
      {true, "an idle GPU of one whole number",
       [](Random& random) {
         RecordedRun run =
             sound_run({.gpus = {1, 2, 4}, .quanta_w = {1}, .has_idle = true}, random);
         RecordedGpu idle = run.gpus().front();
         idle.name = std::to_string(run.gpus().size());
         const double idle_w = std::round(random.uniform(0.5, 1.4) * idle.samples.front().watts);
         for (Sample& sample : idle.samples) sample.watts = idle_w;
         for (double& percent : idle.utilization_pct) percent = 0;
         for (double& heat_c : idle.temperature_c) heat_c = 38;
         run.gpus().push_back(std::move(idle));
         run.expected = static_cast<int>(run.gpus().size());
         return finished(std::move(run));
       }},
      {true, "a watt more each 5 s",
       [](Random& random) {
         const double first_w = std::round(random.uniform(60, 500));
         const double each_s = std::round(random.uniform(4, 9));
         RecordedRun run = made_of(random.uniform(60, 200), [&](double at_s) {
           return first_w + std::floor((at_s + 20) / each_s);
         });
         run.decimals = 0;
         return finished(std::move(run));
       }},
      {true, "that, after idle",
       [](Random& random) {
         const double first_w = std::round(random.uniform(200, 500));
         RecordedRun run = made_of(random.uniform(60, 200), [&](double at_s) {
           return at_s < 0 ? 60.0 : first_w + std::floor(at_s / 5);
         });
         run.decimals = 0;
         return finished(std::move(run));
       }},
      {true, "constants and steps",
       [](Random& random) {
         const double idle_w = std::round(random.uniform(50, 100));
         const double busy_w = std::round(2 * random.uniform(200, 700)) / 2;
         RecordedRun run = made_of(random.uniform(40, 90),
                                   [&](double at_s) { return at_s < 0 ? idle_w : busy_w; });
         for (int i = 1; i < 4; ++i) {
           run.gpus().push_back(run.gpus().front());
           run.gpus().back().name = std::to_string(i);
         }
         return finished(std::move(run));
       }},
      {true, "a new value every 2 s", [](Random& random) { return held(2, random); }},
      {true, "asked faster than the sensor",
       [](Random& random) {
         RecordedRun run = sound_run({.gpus = {1, 2}, .periods_s = {0.02, 0.05}}, random);
         hold(run, [] { return 0.1; });
         return finished(std::move(run));
       }},
      {true, "steps of a coarse sensor",
       [](Random& random) {
         const double quantum_w = random.uniform(0.2, 2);
         RecordedRun run = sound_run({.quanta_w = {0.001}}, random);
         for (RecordedGpu& gpu : run.gpus()) {
           for (Sample& sample : gpu.samples) {
             sample.watts = rounded_to(rounded_to(sample.watts / 12, quantum_w), 0.01);
           }
         }
         run.decimals = 2;
         return finished(std::move(run));
       }},
  };
}

}  // namespace

std::vector<RecordingClass> recording_classes() {
  std::vector<RecordingClass> classes = who_was_measured();
  std::ranges::copy(how_old(), std::back_inserter(classes));
  std::ranges::copy(whether_it_can_be(), std::back_inserter(classes));
  std::ranges::copy(sound_readings(), std::back_inserter(classes));
  return classes;
}

}  // namespace truth
