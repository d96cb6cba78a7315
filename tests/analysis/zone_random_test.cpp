// Zones of random recordings, whose truth is known: never wrong, and right where the load shows.
// ZONE_RUNS=20000 in the environment makes so many runs of each kind, and prints a table.
#include "aggregate_power/analysis/zone.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace aggregate_power {
namespace {

constexpr std::uint32_t kSeed = 20260329;
constexpr int kFew = 30;

struct Load {
  double start_s;
  double end_s;
  double watts;  // above idle
  double ramp_s = 0;
};

// One node, and what its recorder writes.
struct Run {
  Window window;
  std::vector<Load> loads;
  double first_s = 0;
  double last_s = 0;
  double interval_s = 1;
  double noise = 0.005;  // of the power
  double wander_w = 0;   // of a slow random walk, each reading
  double swing = 0;      // of the loads' power, up and down
  double swing_period_s = 10;
  bool averaged = false;  // over the last second
  bool whole_seconds = false;
  bool by_gpu = false;
  std::uint32_t gpus = 1;
  std::int32_t offset_s = 0;
  double step_s = 1e18;
  std::int32_t offset_after_s = 0;
  bool may_win = true;       // false: the right answer is to refuse
  bool must_refuse = false;  // any answer would be wrong, also the true offset
  bool undecidable = false;  // the data is the same as that of another truth

  std::int32_t offset_at(double unix_s) const {
    return unix_s < step_s ? offset_s : offset_after_s;
  }
};

class Maker {
 public:
  explicit Maker(std::uint32_t seed) : random_(seed) {}

  double between(double low, double high) {
    return std::uniform_real_distribution(low, high)(random_);
  }
  // As many short as long ones.
  double spread(double low, double high) {
    return std::exp(between(std::log(low), std::log(high)));
  }
  int whole(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  bool chance(double p) { return between(0, 1) < p; }
  std::mt19937& random() { return random_; }

  // A window somewhere in a recording, in any zone, by any recorder; no load yet.
  Run bare() {
    Run run;
    const double start_s = 1.7e9 + between(0, 1e8);
    run.window = {start_s, start_s + spread(20, 6 * 3600)};
    const double before_s = spread(15, chance(0.3) ? 1.5 * 86400 : 3600);
    const double after_s = spread(15, chance(0.3) ? 1.5 * 86400 : 3600);
    run.first_s = run.window.start_unix_s - before_s;
    run.last_s = run.window.end_unix_s + after_s;
    const double length_s = run.last_s - run.first_s;
    run.interval_s = spread(length_s < 1200 ? 0.1 : length_s < 20000 ? 0.5 : 1, 3);
    run.noise = between(0.001, 0.02);
    run.averaged = chance(0.5);
    run.whole_seconds = chance(0.3);
    run.gpus = chance(0.3) ? 2 : 1;
    run.by_gpu = chance(0.3);
    run.offset_s = 900 * whole(-48, 56);
    return run;
  }
  double idle_to_load_w() { return between(100, 800); }
  // What the client of `window` makes the GPU do.
  Load load_of(Window window, double watts) {
    return {window.start_unix_s + between(-2, 3), window.end_unix_s + between(-4, 2), watts,
            between(0, 1)};
  }
  Run clean() {
    Run run = bare();
    run.loads = {load_of(run.window, idle_to_load_w())};
    return run;
  }
  Load load_anywhere(const Run& run) {
    const double length_s = spread(12, std::max(20.0, run.window.duration_s() * 2));
    const double start_s = between(run.first_s - length_s, run.last_s);
    return {start_s, start_s + length_s, idle_to_load_w(), between(0, 1)};
  }

 private:
  std::mt19937 random_;
};

// A second load of the same length is kept clear of the first.
bool overlaps(const Load& a, const Load& b) {
  return a.start_s < b.end_s + 30 && b.start_s < a.end_s + 30;
}

Run with_phases(Maker& make) {
  Run run = make.clean();
  const double watts = run.loads[0].watts;
  if (make.chance(0.8)) {
    const double end_s = run.loads[0].start_s - (make.chance(0.5) ? 0 : make.between(0, 60));
    run.loads.push_back({end_s - make.spread(12, 600), end_s, watts * make.between(0.1, 0.7)});
  }
  if (make.chance(0.8)) {
    const double start_s = run.loads[0].end_s + (make.chance(0.5) ? 0 : make.between(0, 60));
    run.loads.push_back({start_s, start_s + make.spread(12, 600), watts * make.between(0.1, 0.7)});
  }
  return run;
}

Run with_ramps(Maker& make) {
  Run run = make.clean();
  run.loads[0].ramp_s = make.spread(1, 60);
  return run;
}

Run noisy(Maker& make) {
  Run run = make.clean();
  run.noise = 0.05;
  run.wander_w = make.chance(0.5) ? make.between(0, 2) : 0;
  return run;
}

Run oscillating(Maker& make) {
  Run run = make.clean();
  run.swing = make.between(0.1, 1);
  run.swing_period_s = make.spread(2, 300);
  return run;
}

Run inside_a_longer_load(Maker& make) {
  Run run = make.bare();
  run.loads = {{run.window.start_unix_s - make.spread(12, 7200),
                run.window.end_unix_s + make.spread(12, 7200), make.idle_to_load_w()}};
  for (int others = make.whole(0, 6); others > 0; --others) {
    run.loads.push_back(make.load_anywhere(run));
    if (overlaps(run.loads.back(), run.loads.front())) run.loads.pop_back();
  }
  run.may_win = false;
  return run;
}

Run flat(Maker& make) {
  Run run = make.bare();
  run.noise = make.chance(0.3) ? 0 : make.spread(0.001, 0.1);
  run.wander_w = make.chance(0.5) ? 0 : make.between(0, 3);
  run.may_win = false;
  return run;
}

// Both in the recording, so both offsets fit; legal ones only.
Run two_equal(Maker& make) {
  Run run = make.clean();
  const double shift_s =
      900 * std::ceil((run.window.duration_s() + 30) / 900) + 900 * make.whole(0, 4);
  const double sign = make.chance(0.5) ? 1 : -1;
  Load other = run.loads[0];
  if (make.chance(0.5)) other.watts = make.idle_to_load_w();
  other.start_s += sign * shift_s + make.between(-1, 1);
  other.end_s += sign * shift_s + make.between(-1, 1);
  run.loads.push_back(other);
  run.first_s = std::min(run.first_s, other.start_s - 20);
  run.last_s = std::max(run.last_s, other.end_s + 20);
  const double wrong_s = run.offset_s + sign * shift_s;
  run.may_win = wrong_s < -12 * 3600 || wrong_s > 14 * 3600;
  return run;
}

// As two_equal, but the window's load has no rise of its own: its warm-up runs straight into it.
Run hidden_by_warm_up(Maker& make) {
  Run run = two_equal(make);
  run.loads[0].start_s -= make.spread(12, 600);
  run.may_win = false;
  return run;
}

// The window lies elsewhere; the recording has loads that are as long.
Run decoys(Maker& make) {
  Run run = make.clean();
  const double away_s =
      (make.chance(0.5) ? 1 : -1) * (run.last_s - run.first_s + make.between(0, 10 * 3600));
  run.window.start_unix_s += away_s;
  run.window.end_unix_s += away_s;
  run.may_win = false;
  const double off_s = std::abs(std::remainder(away_s, 900.0));
  run.undecidable = off_s < 5;
  return run;
}

Run several(Maker& make) {
  Run run = make.clean();
  for (int others = make.whole(1, 8); others > 0; --others) {
    Load other = make.load_anywhere(run);
    if (make.chance(0.3)) other.end_s = other.start_s + run.window.duration_s();
    if (!overlaps(other, run.loads[0])) run.loads.push_back(other);
  }
  return run;
}

Run periodic(Maker& make) {
  Run run = make.clean();
  const Load load = run.loads[0];
  const double length_s = run.window.duration_s();
  const double period_s = length_s + make.spread(10, 3 * length_s);
  for (double at_s = run.first_s - 2 * period_s; at_s < run.last_s; at_s += period_s) {
    const double turns = std::ceil((at_s - load.start_s) / period_s);
    if (turns == 0) continue;
    run.loads.push_back(
        {load.start_s + turns * period_s, load.end_s + turns * period_s, load.watts});
  }
  return run;
}

// A change to or from summer time within the recording, at a full hour of the clock.
Run turned(Maker& make) {
  Run run = make.clean();
  const std::int32_t size_s = make.chance(0.1) ? 1800 : 3600;
  const std::int32_t sign = make.chance(0.5) ? 1 : -1;
  run.offset_s = std::clamp(run.offset_s, -11 * 3600, 13 * 3600);
  run.offset_after_s = run.offset_s + sign * size_s;
  const double wall_s = make.between(run.first_s, run.last_s) + run.offset_s;
  run.step_s = std::round(wall_s / 3600) * 3600 - run.offset_s;
  // At the very ends there may be no reading on one side.
  if (run.step_s < run.first_s + 4 || run.step_s > run.last_s - 4) {
    run.may_win = run.step_s < run.first_s || run.step_s > run.last_s;
    return run;
  }
  const double twice_s = sign < 0 ? size_s : 0;
  const auto touches = [&](double margin_s) {
    return run.window.start_unix_s < run.step_s + twice_s + margin_s &&
           run.window.end_unix_s > run.step_s - twice_s - margin_s;
  };
  run.must_refuse = sign < 0 && touches(0);
  const auto hides = [&](double edge_s) { return std::abs(edge_s - run.step_s) < 20; };
  run.may_win = !(sign < 0 && touches(20)) && !hides(run.window.start_unix_s) &&
                !hides(run.window.end_unix_s);
  return run;
}

double watts_at(const Run& run, double unix_s) {
  double watts = 80;
  for (const Load& load : run.loads) {
    if (unix_s <= load.start_s || unix_s >= load.end_s) continue;
    const double ramp_s = std::min(load.ramp_s, (load.end_s - load.start_s) / 2);
    const double up = std::min(
        1.0, std::min(unix_s - load.start_s, load.end_s - unix_s) / std::max(ramp_s, 1e-9));
    const double swing =
        run.swing * (std::fmod(unix_s, run.swing_period_s) < run.swing_period_s / 2 ? 0 : 1);
    watts += load.watts * up * (1 - swing);
  }
  return watts;
}

void write(const Run& run, std::mt19937& random, ZoneEvidence& evidence) {
  std::normal_distribution<double> noise(0, 1);
  std::vector<Reading> readings;
  const double phase_s = std::uniform_real_distribution(0.0, run.interval_s)(random);
  const std::int32_t assumed_s = 900 * std::uniform_int_distribution(-48, 56)(random);
  for (std::uint32_t gpu = 0; gpu < run.gpus; ++gpu) {
    double wander_w = 0;
    for (double t = run.first_s + phase_s; t < run.last_s; t += run.interval_s) {
      const double at_s = t + 0.05 * run.interval_s * noise(random);
      double watts = watts_at(run, at_s);
      if (run.averaged)
        watts = (watts + watts_at(run, at_s - 0.33) + watts_at(run, at_s - 0.66)) / 3;
      wander_w += run.wander_w * noise(random) - 0.001 * wander_w;
      watts = std::max(0.0, watts * (1 + run.noise * noise(random)) + wander_w);
      double wall_s = at_s + run.offset_at(at_s);
      if (run.whole_seconds) wall_s = std::floor(wall_s);
      readings.push_back({wall_s - assumed_s, watts, gpu});
    }
  }
  if (!run.by_gpu && run.gpus == 2) {
    std::vector<Reading> mixed;
    const std::size_t half = readings.size() / 2;
    for (std::size_t i = 0; i < half; ++i) {
      mixed.push_back(readings[i]);
      mixed.push_back(readings[half + i]);
    }
    readings = std::move(mixed);
  }
  evidence.take(readings, assumed_s);
}

struct Tally {
  int runs = 0;
  int right = 0;
  int refused = 0;
  int wrong = 0;
  int wrong_undecidable = 0;  // by data that is the same as another truth's
  int could = 0;              // be right
};

bool is_right(const Run& run, const ZoneFinding& finding) {
  const Zone zone = finding.winner->zone();
  const auto offset_at = [&](double unix_s) {
    return zone.offset_at(static_cast<std::int64_t>(std::floor(unix_s)));
  };
  return finding.winner->offset_s == run.offset_at(run.window.start_unix_s) &&
         offset_at(run.window.start_unix_s) == run.offset_at(run.window.start_unix_s) &&
         offset_at(run.window.end_unix_s) == run.offset_at(run.window.end_unix_s);
}

int runs_of_each() {
  const char* runs = std::getenv("ZONE_RUNS");
  return runs != nullptr ? std::atoi(runs) : kFew;
}

Tally tally_of(Run (*make_run)(Maker&), int runs, bool truly_covered = true) {
  Tally tally;
  Maker make(kSeed);
  for (int i = 0; i < runs; ++i) {
    const Run run = make_run(make);
    ZoneEvidence evidence(run.window);
    write(run, make.random(), evidence);
    const ZoneFinding finding = evidence.finding();
    ++tally.runs;
    const bool could = run.may_win && !run.undecidable;
    tally.could += could;
    if (!finding.winner) {
      ++tally.refused;
    } else if (truly_covered && !run.must_refuse && is_right(run, finding)) {
      ++tally.right;
    } else if (run.undecidable) {
      ++tally.wrong_undecidable;
    } else {
      ++tally.wrong;
      ADD_FAILURE() << "run " << i << ": found " << finding.winner->zone().name() << ", not "
                    << offset_text(run.offset_at(run.window.start_unix_s));
    }
  }
  return tally;
}

struct Kind {
  const char* name;
  Run (*make)(Maker&);
  double least_right;  // of those that could be
  bool truly_covered = true;
};

Run clean(Maker& make) { return make.clean(); }

// Of each kind, at least the given part of the runs that could be right is.
TEST(ZoneOfRandomRecordings, IsNeverWrongAndRightWhereTheLoadShows) {
  const Kind kinds[] = {{"one load", clean, 0.95},
                        {"warm-up, load, evaluation", with_phases, 0.6},
                        {"ramps", with_ramps, 0.4},
                        {"5 % noise", noisy, 0.9},
                        {"oscillating", oscillating, 0.3},
                        {"part of a longer load", inside_a_longer_load, 0},
                        {"flat", flat, 0},
                        {"two equal loads", two_equal, 0},
                        {"hidden by warm-up", hidden_by_warm_up, 0},
                        {"not covered, a load as long", decoys, 0, false},
                        {"several loads", several, 0.5},
                        {"periodic", periodic, 0.1},
                        {"clock turned", turned, 0.9}};
  for (const Kind& kind : kinds) {
    const Tally tally = tally_of(kind.make, runs_of_each(), kind.truly_covered);
    if (runs_of_each() > kFew) {
      fmt::print(
          "{:30} {:6} runs, {:6} could be right: {:6} right, {:6} refused, {} wrong, {} luck\n",
          kind.name, tally.runs, tally.could, tally.right, tally.refused, tally.wrong,
          tally.wrong_undecidable);
    }
    EXPECT_EQ(tally.wrong, 0) << kind.name << ", seed " << kSeed;
    EXPECT_GE(tally.right, kind.least_right * tally.could) << kind.name << ", seed " << kSeed;
  }
}

}  // namespace
}  // namespace aggregate_power
