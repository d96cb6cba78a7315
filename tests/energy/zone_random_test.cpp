// Zones of random recordings, whose truth is known: never wrong, and right where the load shows.
// ZONE_RUNS=2000 in the environment makes so many runs of each kind, and prints a table: right,
// refused and wrong alone, alone with --timezone evidence, alone with the file's own time, and in
// stores of 20 runs of one recorder.
#include "energy/zones/zone_sources.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace zone_random_test {

constexpr std::uint32_t kSeed = 20260329;
constexpr int kFew = 40;
constexpr int kRunsOfStore = 20;

struct Load {
  double start_s;
  double end_s;
  double watts;  // above idle
  double ramp_s = 0;
};

// One node, and what its recorder writes.
struct Run {
  Window window;
  const ClockHistory* clock = nullptr;
  std::vector<Load> loads;
  double first_s = 0;
  double last_s = 0;
  Window hole{0, 0};  // without samples
  double interval_s = 1;
  double noise = 0.005;  // of the power
  double noise_w = 0;    // besides
  double wander_w = 0;   // of a slow random walk, each reading
  double swing = 0;      // of the loads' power, up and down
  double swing_period_s = 10;
  bool averaged = false;  // over the last second
  bool whole_seconds = false;
  bool by_gpu = false;
  std::uint32_t gpus = 1;
  bool is_contained = true;  // false: no number could be right, under any offset

  std::int32_t offset_at(double unix_s) const { return clock->offset_at(unix_s); }
};

class Maker {
 public:
  explicit Maker(std::uint32_t seed) : random_(seed) { begin_store(); }

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

  // Another recorder, in another zone.
  void begin_store() {
    const auto clocks = clock_histories();
    clock_ = &clocks[static_cast<std::size_t>(whole(0, static_cast<int>(clocks.size()) - 1))];
    next_start_s_ = 1.7e9 + between(0, 5e7);
    timer_s_ = 300 * whole(1, 12);
    slot_ = 0;
  }
  double timer_s() const { return timer_s_; }

  // A window somewhere in a recording; no load yet.
  Run bare() {
    return bare(spread(20, 6 * 3600),
                std::exchange(next_start_s_, next_start_s_ + between(1200, 20000)));
  }
  Run bare(double duration_s, double start_s) {
    Run run;
    run.clock = clock_;
    run.window = {start_s, start_s + duration_s};
    next_start_s_ = std::max(next_start_s_, run.window.end_unix_s + between(60, 7200));
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
    return run;
  }
  // The next job of a timer: it starts a little late each time.
  Run of_timer(double duration_s) {
    const double slot_s = std::ceil(next_start_s_ / timer_s_) * timer_s_ + slot_++ * timer_s_;
    Run run = bare(duration_s, slot_s + 40 + between(0, 4));
    next_start_s_ = std::ceil((run.window.start_unix_s) / timer_s_) * timer_s_ - slot_ * timer_s_;
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
  // So far that another zone may make it up.
  double quarters_s(int most) { return 900 * whole(1, most) * (chance(0.5) ? 1 : -1); }

 private:
  std::mt19937 random_;
  const ClockHistory* clock_ = nullptr;
  double next_start_s_ = 0;
  double timer_s_ = 0;
  int slot_ = 0;
};

// A second load of the same length is kept clear of the first.
bool overlaps(const Load& a, const Load& b) {
  return a.start_s < b.end_s + 30 && b.start_s < a.end_s + 30;
}

Load moved(Load load, double by_s) {
  load.start_s += by_s;
  load.end_s += by_s;
  return load;
}

void include(Run& run, const Load& load) {
  run.first_s = std::min(run.first_s, load.start_s - 20);
  run.last_s = std::max(run.last_s, load.end_s + 20);
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
  return run;
}

Run flat(Maker& make) {
  Run run = make.bare();
  run.noise = make.chance(0.3) ? 0 : make.spread(0.001, 0.1);
  run.wander_w = make.chance(0.5) ? 0 : make.between(0, 3);
  return run;
}

// Both in the recording, so both offsets fit where a zone uses them.
Run two_equal(Maker& make) {
  Run run = make.clean();
  const double shift_s =
      900 * std::ceil((run.window.duration_s() + 30) / 900) + 900 * make.whole(0, 4);
  Load other = moved(run.loads[0], (make.chance(0.5) ? 1 : -1) * shift_s + make.between(-1, 1));
  if (make.chance(0.5)) other.watts = make.idle_to_load_w();
  run.loads.push_back(other);
  include(run, other);
  return run;
}

// The window's load has no edges of its own; another load as long has.
Run hidden(Maker& make) {
  Run run = two_equal(make);
  const double watts = run.loads[0].watts;
  const Window window = run.window;
  run.loads.push_back({window.start_unix_s - make.spread(12, 600), window.start_unix_s,
                       watts * make.between(0.98, 1.02)});
  run.loads.push_back({window.end_unix_s, window.end_unix_s + make.spread(12, 600),
                       watts * make.between(0.98, 1.02)});
  for (const Load& load : run.loads) include(run, load);
  return run;
}

Run hidden_by_warm_up(Maker& make) {
  Run run = two_equal(make);
  run.loads[0].start_s -= make.spread(12, 600);
  include(run, run.loads[0]);
  return run;
}

// The window lies elsewhere; the recording has loads that are as long.
Run decoys(Maker& make) {
  Run run = make.clean();
  const double away_s =
      (make.chance(0.5) ? 1 : -1) * (run.last_s - run.first_s + make.between(0, 10 * 3600));
  run.window.start_unix_s += away_s;
  run.window.end_unix_s += away_s;
  run.is_contained = false;
  return run;
}

Run sweep(Maker& make) {
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
    if (turns != 0) run.loads.push_back(moved(load, turns * period_s));
  }
  return run;
}

// The recorder's clock is turned within the recording, where its zone has such a day.
Run turned(Maker& make) {
  Run run = make.clean();
  const auto changes = run.clock->changes_between(1.7e9, 1.76e9);
  if (changes.empty()) return run;
  const ClockChange& change =
      changes[static_cast<std::size_t>(make.whole(0, static_cast<int>(changes.size()) - 1))];
  const double by_s = static_cast<double>(change.unix_s) - make.between(run.first_s, run.last_s);
  run.window.start_unix_s += by_s;
  run.window.end_unix_s += by_s;
  run.first_s += by_s;
  run.last_s += by_s;
  run.loads[0] = moved(run.loads[0], by_s);
  return run;
}

// No samples for an hour, as if a clock had been turned forward; a load around each full hour.
Run hole_of_an_hour(Maker& make) {
  Run run = make.bare(300, 1.7e9 + 3600.0 * make.whole(0, 10000) - 150);
  const double hour_s = std::round((run.window.start_unix_s + 150) / 3600) * 3600;
  run.window = {hour_s - 150, hour_s + 150};
  run.first_s = hour_s - 600;
  run.last_s = hour_s + 3600 + 600;
  run.hole = {hour_s, hour_s + 3600};
  for (const double at_s : {hour_s, hour_s + 3600})
    run.loads.push_back({at_s - 150, at_s + 150, 500});
  run.is_contained = false;
  return run;
}

Run weak_beside_strong(Maker& make) {
  Run run = make.bare(make.between(120, 600), 1.7e9 + make.between(0, 5e7));
  run.noise = 0;
  run.noise_w = 8;
  run.loads = {make.load_of(run.window, make.between(15, 60))};
  Load strong = moved(run.loads[0], make.quarters_s(12));
  strong.watts = make.between(200, 800);
  run.loads.push_back(strong);
  include(run, run.loads[0]);
  include(run, strong);
  return run;
}

// A sweep whose jobs a timer starts. The recorder runs for one job, or for some.
Run timer_driven(Maker& make) {
  Run run = make.of_timer(make.between(40, 200));
  const Load load = make.load_of(run.window, make.idle_to_load_w());
  run.loads = {load};
  run.first_s = run.window.start_unix_s - make.between(15, 40);
  run.last_s = run.window.end_unix_s + make.between(15, 60);
  for (int i = make.whole(-3, 3); i != 0; i += i > 0 ? -1 : 1) {
    run.loads.push_back(moved(load, i * make.timer_s() + make.between(-2, 2)));
    include(run, run.loads.back());
  }
  return run;
}

// The recording is of another job of the same timer: `slots` of them later.
Run of_another_slot(Maker& make, int slots) {
  Run run = make.of_timer(make.between(40, 200));
  const double by_s = slots * make.timer_s() + make.between(-2, 2);
  run.loads = {moved(make.load_of(run.window, make.idle_to_load_w()), by_s)};
  run.first_s = run.loads[0].start_s - make.between(15, 40);
  run.last_s = run.loads[0].end_s + make.between(15, 60);
  run.is_contained = false;
  return run;
}

Run foreign(Maker& make) { return of_another_slot(make, make.whole(1, 4)); }

// All by as much.
Run stale_by_one_hour(Maker& make) {
  return of_another_slot(make, -static_cast<int>(3600 / make.timer_s()));
}

// Started within the window; then another job, perhaps so much later that another zone fits.
Run late(Maker& make) {
  Run run = make.clean();
  const double length_s = run.window.duration_s();
  run.first_s = run.window.start_unix_s + make.between(5, std::min(60.0, length_s / 2));
  const double shift_s = 900 * std::ceil((length_s + 30) / 900) + 900 * make.whole(0, 8);
  run.loads.push_back(moved(run.loads[0], shift_s));
  run.last_s = run.window.end_unix_s + shift_s + make.between(20, 600);
  run.is_contained = false;
  return run;
}

// Died within the window; an earlier job is there whole.
Run stopped(Maker& make) {
  Run run = make.clean();
  const double length_s = run.window.duration_s();
  const double shift_s = 900 * std::ceil((length_s + 30) / 900) + 900 * make.whole(0, 8);
  run.loads.push_back(moved(run.loads[0], -shift_s));
  run.first_s = run.window.start_unix_s - shift_s - make.between(20, 600);
  run.last_s = run.window.end_unix_s - make.between(5, std::min(60.0, length_s / 2));
  run.is_contained = false;
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
      if (at_s > run.hole.start_unix_s && at_s < run.hole.end_unix_s) continue;
      double watts = watts_at(run, at_s);
      if (run.averaged)
        watts = (watts + watts_at(run, at_s - 0.33) + watts_at(run, at_s - 0.66)) / 3;
      wander_w += run.wander_w * noise(random) - 0.001 * wander_w;
      watts = watts * (1 + run.noise * noise(random)) + run.noise_w * noise(random) + wander_w;
      double wall_s = at_s + run.offset_at(at_s);
      if (run.whole_seconds) wall_s = std::floor(wall_s);
      readings.push_back({wall_s - assumed_s, std::max(0.0, watts), gpu});
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
  int wrong = 0;
  int refused() const { return runs - right - wrong; }
};

bool is_right(const Run& run, const ZoneDecision& decision) {
  const Zone zone = decision.winner->zone();
  const auto agrees = [&](double unix_s) {
    return zone.offset_at(static_cast<std::int64_t>(std::floor(unix_s))) == run.offset_at(unix_s);
  };
  return run.is_contained && agrees(run.window.start_unix_s) && agrees(run.window.end_unix_s);
}

void count(const Run& run, const ZoneDecision& decision, Tally& tally, bool must_be_right = true) {
  ++tally.runs;
  if (!decision.winner) return;
  if (is_right(run, decision)) {
    ++tally.right;
    return;
  }
  ++tally.wrong;
  if (!must_be_right) return;
  ADD_FAILURE() << "found " << decision.winner->zone().name() << " by "
                << name_of(decision.report.witnesses[0]) << ", not "
                << offset_text(run.offset_at(run.window.start_unix_s));
}

int runs_of_each() {
  const char* runs = std::getenv("ZONE_RUNS");
  return runs != nullptr ? std::atoi(runs) : test::rounds(kFew);
}

struct Found {
  Run run;
  ZoneFinding finding;
  double written_unix_s = 0;  // when the file was: a little after its last sample

  ZoneVote vote() const {
    return {run.window.start_unix_s, finding.by_edges->offset_s, false, finding.by_edges->idle_w,
            finding.by_edges->load_w};
  }
};

Found found(Maker& make, Run (*make_run)(Maker&)) {
  Found result{.run = make_run(make), .finding = {}};
  ZoneEvidence evidence(result.run.window);
  write(result.run, make.random(), evidence);
  result.finding = evidence.finding();
  result.written_unix_s = result.run.last_s + make.between(0, 30);
  return result;
}

struct Kind {
  const char* name;
  Run (*make)(Maker&);
  double least_right_in_store = 0;  // by edges and consensus
  double least_right_by_file = 0;   // by edges and the file's own time
};

struct Tallies {
  Tally alone;           // nothing but the recording
  Tally one_is_enough;   // the same, by the user's word
  Tally with_file_time;  // alone, and the file's own time is known
  Tally in_store;        // with 19 others of its recorder
};

void count_store(Maker& make, const Kind& kind, Tallies& tallies) {
  make.begin_store();
  std::vector<Found> store;
  ZoneConsensus consensus;
  for (int i = 0; i < kRunsOfStore; ++i) {
    store.push_back(found(make, kind.make));
    const ZoneFinding& finding = store.back().finding;
    if (finding.by_edges) consensus.add(store.back().vote());
    if (finding.has_load_elsewhere) consensus.add_load_elsewhere();
  }
  for (const Found& each : store) {
    const ZoneFinding& finding = each.finding;
    const Window window = each.run.window;
    const auto vote = finding.by_edges ? std::optional(each.vote()) : std::nullopt;
    const OtherWitnesses others{consensus.for_run(window.start_unix_s, vote), {}};
    count(each.run, decide_zone(finding, window, others, false), tallies.in_store);
    count(each.run, decide_zone(finding, window, {}, false), tallies.alone);
    count(each.run, decide_zone(finding, window, {}, true), tallies.one_is_enough, false);
    count(each.run, decide_zone(finding, window, {{}, each.written_unix_s}, false),
          tallies.with_file_time);
  }
}

Run clean(Maker& make) { return make.clean(); }

constexpr Kind kKinds[] = {{"one load", clean, 0.6, 0.8},
                           {"warm-up, load, evaluation", with_phases, 0.5, 0.5},
                           {"ramps", with_ramps, 0.15, 0.25},
                           {"5 % noise", noisy, 0.5, 0.5},
                           {"oscillating", oscillating, 0, 0.1},
                           {"two equal loads", two_equal},
                           {"sweep", sweep, 0.3, 0.4},
                           {"periodic", periodic},
                           {"real change of the clock", turned, 0.2, 0.2},
                           {"hidden beside an equal load", hidden},
                           {"hidden by warm-up", hidden_by_warm_up},
                           {"hole of an hour", hole_of_an_hour},
                           {"weak beside strong", weak_beside_strong},
                           {"part of a longer load", inside_a_longer_load},
                           {"flat", flat},
                           {"timer-driven sweep", timer_driven, 0, 0.2},
                           {"foreign, of the same timer", foreign},
                           {"late", late},
                           {"stopped", stopped},
                           {"stale by one hour", stale_by_one_hour},
                           {"not covered, a load as long", decoys}};

// With so many of each class, a table is printed too.
TEST(ZoneOfRandomRecordings, IsNeverWrongAndRightWhereTwoWitnessesAgree) {
  const auto text = [](const Tally& tally) {
    return fmt::format("{:5}/{:5}/{:3}", tally.right, tally.refused(), tally.wrong);
  };
  for (const Kind& kind : kKinds) {
    Tallies tallies;
    Maker make(kSeed);
    while (tallies.alone.runs < runs_of_each()) count_store(make, kind, tallies);
    if (runs_of_each() > kFew) {
      fmt::print("{:28} {} {} {} {}\n", kind.name, text(tallies.alone), text(tallies.one_is_enough),
                 text(tallies.with_file_time), text(tallies.in_store));
    }
    const double runs = tallies.alone.runs;
    EXPECT_EQ(tallies.alone.right, 0) << kind.name;  // one witness is never enough
    EXPECT_EQ(tallies.alone.wrong + tallies.with_file_time.wrong + tallies.in_store.wrong, 0)
        << kind.name << ", seed " << kSeed;
    EXPECT_GE(tallies.in_store.right, kind.least_right_in_store * runs) << kind.name;
    EXPECT_GE(tallies.with_file_time.right, kind.least_right_by_file * runs) << kind.name;
  }
}

}  // namespace zone_random_test
}  // namespace aggregate_power
