// Zones by evidence: recordings made by hand. zone_random_test.cpp makes them by chance.
#include "energy/zones/zone_evidence.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace zone_evidence_test {

constexpr double kStart = 1'774'746'900;   // 2026-03-29T01:15:00Z: summer time came 900 s ago
constexpr double kAutumn = 1'761'440'400;  // 2025-10-26T01:00:00Z: in Berlin 03:00 becomes 02:00
constexpr Window kTenMinutes{kStart, kStart + 600};

// All seconds count from kStart.
struct Load {
  double start_s;
  double end_s;
  double watts = 400;
};

struct Recording {
  double first_s = -1000;
  double last_s = 1600;
  std::vector<Load> loads = {{0, 600}};
  std::int32_t offset_s = 0;
  double step_s = 1e9;  // from then on the clock shows so much more
  std::int32_t forward_s = 0;
  double interval_s = 1;
  std::uint32_t device = 0;
};

// Idle is 100 W.
std::vector<Reading> readings_of(const Recording& recording) {
  std::vector<Reading> readings;
  for (double t = recording.first_s; t <= recording.last_s; t += recording.interval_s) {
    double watts = 100;
    for (const Load& load : recording.loads) {
      if (t >= load.start_s && t < load.end_s) watts += load.watts;
    }
    const double wall_s =
        kStart + t + recording.offset_s + (t >= recording.step_s ? recording.forward_s : 0);
    readings.push_back({wall_s, watts, recording.device});
  }
  return readings;
}

std::vector<Reading> joined(std::vector<Reading> readings, const std::vector<Reading>& more) {
  readings.insert(readings.end(), more.begin(), more.end());
  return readings;
}

ZoneFinding finding_from(const std::vector<Reading>& readings, Window window = kTenMinutes) {
  ZoneEvidence evidence(window);
  // In two batches: a batch ends anywhere.
  const std::size_t half = readings.size() / 2;
  evidence.take(std::span(readings).first(half), 0);
  evidence.take(std::span(readings).subspan(half), 0);
  return evidence.finding();
}

ZoneFinding finding_of(const Recording& recording, Window window = kTenMinutes) {
  return finding_from(readings_of(recording), window);
}

std::string name_of(const ZoneFinding& finding) {
  return finding.by_edges ? finding.by_edges->zone().name() : "none: " + finding.why_no_edges;
}

const char kNoEdges[] =
    "none: in no time zone does the power rise at the window's start and fall at its end";
const char kTwice[] =
    "none: the recording's clock goes back, and shows some of the window's time twice";

TEST(ZoneEvidence, FindsEveryOffsetInUse) {
  std::set<std::int32_t> offsets;
  for (const ClockHistory& clock : clock_histories()) offsets.insert(clock.offset_at(kStart));
  for (const std::int32_t offset_s : offsets) {
    EXPECT_EQ(name_of(finding_of({.offset_s = offset_s})), offset_text(offset_s));
  }
  EXPECT_EQ(name_of(finding_of({.offset_s = 5 * 3600 + 45 * 60})), "+05:45");   // Nepal
  EXPECT_EQ(name_of(finding_of({.offset_s = -2 * 3600 - 30 * 60})), "-02:30");  // Newfoundland
  EXPECT_EQ(name_of(finding_of({.offset_s = 13 * 3600 + 45 * 60})), "+13:45");  // Chatham
}

TEST(ZoneEvidence, FindsNoOffsetThatNoZoneUses) {
  for (const std::int32_t offset_s : {900, 1800, 3600 + 300, -12 * 3600, 14 * 3600 + 900}) {
    EXPECT_FALSE(finding_of({.offset_s = offset_s}).by_edges) << offset_s;
  }
  // Newfoundland's clocks show -02:30 by now, no longer -03:30.
  EXPECT_FALSE(finding_of({.offset_s = -3 * 3600 - 30 * 60}).by_edges);
}

TEST(ZoneEvidence, KnowsHowTheStampsWereRead) {
  // The wall shows two hours more than UTC; who read it took it for a clock of -08:00.
  std::vector<Reading> readings = readings_of({.offset_s = 7200});
  for (Reading& reading : readings) reading.unix_s += 28800;
  ZoneEvidence evidence(kTenMinutes);
  evidence.take(readings, -28800);
  EXPECT_EQ(name_of(evidence.finding()), "+02:00");
}

using Standing = ZoneCandidate::Standing;

const ZoneCandidate& candidate_of(const ZoneFinding& finding, std::int32_t offset_s) {
  return *std::ranges::find(finding.candidates, offset_s, &ZoneCandidate::offset_s);
}

TEST(ZoneEvidence, TellsWhatTheRecordingSaysOfEachOffset) {
  // Two hours of idle time on either side: no offset but its own has the window under load.
  const ZoneFinding finding = finding_of({.first_s = -7200, .last_s = 7800, .offset_s = 3600});
  ASSERT_TRUE(finding.by_edges);
  EXPECT_EQ(finding.by_edges->offset_s, 3600);
  EXPECT_EQ(finding.by_edges->edge_w, 400);
  EXPECT_EQ(finding.by_edges->last_unix_s, kStart + 7800);
  EXPECT_EQ(finding.by_edges->idle_w, 100);
  EXPECT_EQ(finding.by_edges->load_w, 500);
  EXPECT_FALSE(finding.is_flat);
  ASSERT_EQ(finding.candidates.size(), 5u);  // -01:00 to +03:00
  EXPECT_EQ(finding.candidates[0].offset_s, 3600);
  for (const std::int32_t offset_s : {-3600, 0, 7200, 10800}) {
    EXPECT_EQ(candidate_of(finding, offset_s).standing, Standing::excluded) << offset_s;
  }
}

TEST(ZoneEvidence, RefusesAStrongLoadWhereAWeakOneFitsToo) {
  // Which of them is the window's cannot be told: one at a concurrency of 1, one at 1024.
  for (const double watts : {30.0, 8.0}) {
    EXPECT_EQ(name_of(finding_of({.last_s = 5000, .loads = {{0, 600, watts}, {3600, 4200}}})),
              "none: the power fits the window in more than one time zone: +01:00, +00:00")
        << watts;
  }
}

// 22 W over 8 W of noise do not show in a few seconds.
TEST(ZoneEvidence, SeesAWeakLoadByItsLevelOverTheWholeWindow) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 8);
  std::vector<Reading> readings =
      readings_of({.last_s = 5000, .loads = {{0, 263, 22}, {3600, 3863}}});
  for (Reading& reading : readings) reading.watts += noise(random);
  EXPECT_EQ(name_of(finding_from(readings, {kStart, kStart + 263})),
            "none: the power fits the window in more than one time zone: +01:00, +00:00");
}

// The window's own load runs from another into another at the same power; an equal one stands free.
TEST(ZoneEvidence, RefusesALoadWhereTheWindowMayLieWhollyUnderLoad) {
  EXPECT_EQ(name_of(finding_of({.last_s = 5000, .loads = {{-300, 900}, {3600, 4200}}})),
            "none: the power fits the window in more than one time zone: +01:00, +00:00");
}

// An hour without readings, as if a clock had been turned: no zone's was on that day.
TEST(ZoneEvidence, DoesNotBridgeAHoleWhereNoClockWasTurned) {
  constexpr double kHour = 1'767'225'600;  // 2026-01-01T00:00:00Z
  std::vector<Reading> readings;
  for (double t = -600; t < 4200; ++t) {
    if (t >= 0 && t < 3600) continue;
    const bool is_load = std::abs(t) < 150 || std::abs(t - 3600) < 150;
    readings.push_back({kHour + t, is_load ? 600.0 : 100.0, 0});
  }
  const ZoneFinding finding = finding_from(readings, {kHour - 150, kHour + 150});
  EXPECT_FALSE(finding.by_edges) << name_of(finding);
  EXPECT_EQ(candidate_of(finding, 0).standing, Standing::possible) << "half of it is not known";
}

// It begins under the window's load; a quarter of an hour, or a whole one, later there is another.
TEST(ZoneEvidence, RefusesAnotherLoadWhereTheRecordingMayHaveBegunLate) {
  const Window window{kStart, kStart + 300};
  const auto finding = [&](double later_s) {
    return finding_of({.first_s = 20,
                       .last_s = later_s + 360,
                       .loads = {{20, 300, 500}, {later_s, later_s + 300, 520}}},
                      window);
  };
  EXPECT_EQ(name_of(finding(3600)),
            "none: the power fits the window in more than one time zone: +01:00, +00:00");
  EXPECT_EQ(
      name_of(finding(900)),
      "none: in no time zone does the recording cover the window: it may belong to another run");
}

TEST(ZoneEvidence, SeesALoadAsLongWhereNoZoneHasTheWindow) {
  EXPECT_TRUE(finding_of({.last_s = 3000, .loads = {{900, 1500}}}).has_load_elsewhere);
  EXPECT_FALSE(finding_of({}).has_load_elsewhere);
  EXPECT_FALSE(finding_of({.loads = {{900, 1400}}}).has_load_elsewhere) << "not as long";
}

TEST(ZoneEvidence, KnowsARecordingWithoutEdges) {
  EXPECT_TRUE(finding_of({.loads = {}}).is_flat);
  EXPECT_TRUE(finding_of({.loads = {{-5000, 5000}}}).is_flat);
  EXPECT_FALSE(finding_of({.loads = {{0, 5000}}}).is_flat);
}

TEST(ZoneEvidence, CountsOnlyReadingsOfPower) {
  std::vector<Reading> readings = readings_of({});
  for (Reading& reading : readings) reading.kind = Reading::Kind::no_power;
  EXPECT_EQ(
      name_of(finding_from(readings)),
      "none: in no time zone does the recording cover the window: it may belong to another run");
}

TEST(ZoneEvidence, AllowsForLoadsThatAreALittleOff) {
  for (const double start_s : {-2, -1, 0, 1, 2, 3}) {
    for (const double end_s : {-4, -2, -1, 0, 1, 2}) {
      EXPECT_EQ(name_of(finding_of({.loads = {{start_s, 600 + end_s}}})), "+00:00")
          << start_s << ", " << end_s;
    }
  }
}

TEST(ZoneEvidence, AsksForBothEdgesEvenWhereOneOffsetIsLeft) {
  const auto name = [](std::vector<Load> loads) {
    const ZoneFinding finding =
        finding_of({.first_s = -100, .last_s = 700, .loads = std::move(loads)});
    EXPECT_EQ(finding.candidates.size(), 1u);
    return name_of(finding);
  };
  EXPECT_EQ(name({{0, 600}}), "+00:00");
  EXPECT_EQ(name({}), kNoEdges) << "idle";
  EXPECT_EQ(name({{-200, 800}}), kNoEdges) << "part of a longer load";
  EXPECT_EQ(name({{0, 800}}), kNoEdges) << "no fall";
  EXPECT_EQ(name({{-200, 600}}), kNoEdges) << "no rise";
  EXPECT_EQ(name({{20, 600}}), kNoEdges) << "late by 20 s";
  EXPECT_EQ(name({{0, 580}}), kNoEdges) << "over 20 s too early";
  EXPECT_EQ(name({{0, 100}, {500, 600}}), kNoEdges) << "the rise of one, the fall of another";
}

TEST(ZoneEvidence, FindsALoadBetweenOthers) {
  // A warm-up at half the power runs into it, an evaluation follows at a quarter.
  EXPECT_EQ(name_of(finding_of({.loads = {{-300, 0, 200}, {0, 600}, {600, 1100, 100}}})), "+00:00");
  EXPECT_EQ(name_of(finding_of({.loads = {{-300, 0}, {0, 600}}})), kNoEdges)
      << "a warm-up at the same power hides the rise";
}

TEST(ZoneEvidence, RefusesWhenTwoOffsetsFit) {
  const auto name = [](Load other) {
    return name_of(finding_of({.last_s = 5000, .loads = {{0, 600}, other}, .offset_s = 3600}));
  };
  const char kTwo[] = "none: the power fits the window in more than one time zone: +01:00, +02:00";
  EXPECT_EQ(name({3600, 4200}), kTwo);
  EXPECT_EQ(name({3600, 4200, 60}), kTwo) << "of another power";
  EXPECT_EQ(name({3608, 4208}), kTwo) << "late by 8 s";
  EXPECT_EQ(name({3500, 4200}), kTwo) << "whose rise a warm-up hides";
  EXPECT_EQ(name({900, 1500}), "+01:00") << "where no zone has the window";
  EXPECT_EQ(name({3700, 4300}), "+01:00") << "late by 100 s: the window would begin in idle time";
}

TEST(ZoneEvidence, RefusesEdgesThatAreCommon) {
  // 60 s of load every 110 s: nowhere else on a quarter hour of the window, but that is luck.
  std::vector<Load> loads;
  for (int i = -8; i < 60; ++i) loads.push_back({i * 110.0, i * 110.0 + 60});
  const auto name = [&](double last_s) {
    return name_of(
        finding_of({.first_s = -850, .last_s = last_s, .loads = loads}, {kStart, kStart + 60}));
  };
  EXPECT_EQ(name(5000),
            "none: the power rises and falls so often that it does not show the time zone");
  EXPECT_EQ(name(850), "+00:00") << "no other offset covers the window";
}

TEST(ZoneEvidence, TellsWhatItCannotUse) {
  EXPECT_EQ(name_of(finding_of(Recording{}, {kStart, kStart + 11})),
            "none: the window is shorter than 12 s, too short to find the time zone by the power");
  EXPECT_EQ(name_of(finding_of(Recording{}, {kStart, kStart + 300'000})),
            "none: the window is longer than 3 days, too long to find the time zone by the power");
  EXPECT_EQ(name_of(finding_of(Recording{}, {NAN, kStart})),
            "none: the window is shorter than 12 s, too short to find the time zone by the power");
  EXPECT_EQ(
      name_of(finding_from({})),
      "none: in no time zone does the recording cover the window: it may belong to another run");
  EXPECT_EQ(
      name_of(finding_of({.first_s = 1, .last_s = 700})),
      "none: in no time zone does the recording cover the window: it may belong to another run");
  const ZoneFinding sparse = finding_of({.interval_s = 10});
  EXPECT_EQ(
      name_of(sparse),
      "none: readings are 10 s apart, more than the 5 s that finding the time zone by the power allows");
  EXPECT_EQ(sparse.candidates.size(), 1u);
}

TEST(ZoneEvidence, TakesDevicesTogetherInAnyOrder) {
  // Each an hour long: back by an hour from one to the next is no change of the clock.
  const Recording first{.first_s = -1500, .last_s = 2100, .offset_s = 3600};
  Recording second = first;
  second.device = 1;
  EXPECT_EQ(name_of(finding_from(joined(readings_of(first), readings_of(second)))), "+01:00");

  std::vector<Reading> mixed;
  for (const Reading& reading : readings_of(first)) {
    mixed.push_back(reading);
    mixed.push_back({reading.unix_s - 0.3, reading.watts, 1});
  }
  EXPECT_EQ(name_of(finding_from(mixed)), "+01:00");
}

// ---- Clocks that are turned

// Berlin's in autumn; seconds count from the window's start.
ZoneFinding finding_in_autumn(double step_s, double length_s = 600) {
  const double start = kAutumn - step_s;
  Recording recording{.first_s = -9000,
                      .last_s = 9000,
                      .loads = {{0, length_s}},
                      .offset_s = 7200,
                      .step_s = step_s,
                      .forward_s = -3600};
  std::vector<Reading> readings = readings_of(recording);
  for (Reading& reading : readings) reading.unix_s += start - kStart;
  return finding_from(readings, {start, start + length_s});
}

TEST(ZoneEvidence, FindsTheWindowBeforeAndAfterAnHourThatComesTwice) {
  const char kBerlin[] = "+02:00, from 2025-10-26T01:00:00Z +01:00";
  EXPECT_EQ(name_of(finding_in_autumn(6300)), kBerlin);
  EXPECT_EQ(name_of(finding_in_autumn(-8100)), kBerlin);
  EXPECT_EQ(name_of(finding_in_autumn(2700)), kTwice) << "the hour before the step comes again";
  EXPECT_EQ(name_of(finding_in_autumn(-900)), kTwice) << "the hour after it was there before";
  EXPECT_EQ(name_of(finding_in_autumn(2700, 6000)), kTwice) << "within the window";
}

TEST(ZoneEvidence, KnowsThatNoClockIsTurnedBackInSpring) {
  EXPECT_EQ(name_of(finding_of({.first_s = -9000,
                                .last_s = 9000,
                                .offset_s = 7200,
                                .step_s = 6300,
                                .forward_s = -3600})),
            "none: the recording's clock goes back at a time when no zone's clock does");
}

TEST(ZoneEvidence, ReadsTheWholeRecordingInTheZoneItFound) {
  const ZoneFinding finding = finding_in_autumn(-8100);
  ASSERT_TRUE(finding.by_edges);
  EXPECT_EQ(finding.by_edges->offset_s, 3600);
  EXPECT_EQ(finding.by_edges->last_unix_s, kAutumn + 8100 + 9000);
  const auto start = static_cast<std::int64_t>(kAutumn) + 8100;
  EXPECT_EQ(finding.by_edges->zone().unix_from_local(start - 12000 + 7200), start - 12000);
  EXPECT_EQ(finding.by_edges->zone().unix_from_local(start + 3600), start);
}

// Berlin's in spring, 900 s before kStart; the window comes 13 hours later: an offset that had it
// in the skipped hour would be none that is used.
TEST(ZoneEvidence, FindsTheWindowAfterASkippedHour) {
  EXPECT_EQ(name_of(finding_of({.first_s = -5000,
                                .last_s = 50000,
                                .loads = {{46800, 47400}},
                                .offset_s = 3600,
                                .step_s = -900,
                                .forward_s = 3600},
                               {kStart + 46800, kStart + 47400})),
            "+02:00");
}

// A recorder in Lagos that paused for this hour would show nothing of the window.
TEST(ZoneEvidence, RefusesAWindowThatMayLieInAHole) {
  EXPECT_EQ(
      name_of(finding_of(
          {.first_s = -5000, .last_s = 6000, .offset_s = 3600, .step_s = -900, .forward_s = 3600})),
      "none: the power fits the window in more than one time zone: +02:00, +01:00");
}

// Berlin skipped the hour, or Lagos's recorder paused: the edges fit under both as far as they
// show.
TEST(ZoneEvidence, RefusesAWindowThatASkippedHourMayHaveCut) {
  const Recording across{.first_s = -3500,
                         .last_s = 9000,
                         .loads = {{-2700, 3300}},
                         .offset_s = 3600,
                         .step_s = -900,
                         .forward_s = 3600};
  const ZoneFinding finding = finding_of(across, {kStart - 2700, kStart + 3300});
  EXPECT_FALSE(finding.by_edges);
  const auto berlin = std::ranges::find_if(
      finding.candidates, [](const ZoneCandidate& each) { return each.step.has_value(); });
  ASSERT_NE(berlin, finding.candidates.end());
  EXPECT_EQ(berlin->zone().name(), "+01:00, from 2026-03-29T01:00:00Z +02:00");
  EXPECT_EQ(berlin->standing, Standing::fits);
  EXPECT_EQ(berlin->last_unix_s, kStart + 9000);
  EXPECT_EQ(candidate_of(finding, 7200).standing, Standing::possible);
}

TEST(ZoneEvidence, RefusesClocksThatJumpTwice) {
  std::vector<Reading> readings = readings_of({.first_s = -5000,
                                               .last_s = 52000,
                                               .loads = {{46800, 47400}},
                                               .offset_s = 3600,
                                               .step_s = -900,
                                               .forward_s = 3600});
  const Window window{kStart + 46800, kStart + 47400};
  EXPECT_EQ(name_of(finding_from(readings, window)), "+02:00") << "it jumps once";
  for (Reading& reading : readings) {
    if (reading.unix_s >= kStart + 49500 + 7200) reading.unix_s += 3600;
  }
  EXPECT_EQ(name_of(finding_from(readings, window)),
            "none: the recording's clock jumps by an hour more than once");
}

TEST(ZoneEvidence, RefusesAWindowAmongRowsThatGoBack) {
  // The recorder was started anew; its clock was set back by ten minutes.
  const auto name = [](double back_at_s) {
    const Recording before{.first_s = -3000, .last_s = back_at_s};
    const Recording after{.first_s = back_at_s - 600, .last_s = 3000};
    return name_of(finding_from(joined(readings_of(before), readings_of(after))));
  };
  EXPECT_EQ(name(-100), "+00:00");
  EXPECT_EQ(name(-5), kTwice);
  EXPECT_EQ(name(1300), "+00:00");
  EXPECT_EQ(name(700), kTwice);
}

}  // namespace zone_evidence_test
}  // namespace aggregate_power
