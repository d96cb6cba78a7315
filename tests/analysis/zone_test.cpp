// Zones by evidence: recordings made by hand. zone_random_test.cpp makes them by chance.
#include "aggregate_power/analysis/zone.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace {

constexpr double kStart = 1'774'746'900;  // 2026-03-29T01:15:00Z
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
  return finding.winner ? finding.winner->zone().name() : "none: " + finding.why_none;
}

const char kNoEdges[] = "none: no edges of the load lie on the window's edges";
const char kTwice[] =
    "none: the recording's clock goes back, and shows some of the window's time twice";

TEST(ZoneEvidence, FindsEveryOffset) {
  for (std::int32_t offset_s = -12 * 3600; offset_s <= 14 * 3600; offset_s += 900) {
    EXPECT_EQ(name_of(finding_of({.offset_s = offset_s})), offset_text(offset_s));
  }
  EXPECT_EQ(name_of(finding_of({.offset_s = 5 * 3600 + 45 * 60})), "+05:45");   // Nepal
  EXPECT_EQ(name_of(finding_of({.offset_s = -3 * 3600 - 30 * 60})), "-03:30");  // Newfoundland
  EXPECT_EQ(name_of(finding_of({.offset_s = 12 * 3600 + 45 * 60})), "+12:45");  // Chatham
}

TEST(ZoneEvidence, FindsNoOffsetThatIsNotInUse) {
  EXPECT_FALSE(finding_of({.offset_s = 14 * 3600 + 900}).winner);
  EXPECT_FALSE(finding_of({.offset_s = -12 * 3600 - 900}).winner);
  EXPECT_FALSE(finding_of({.offset_s = 3600 + 300}).winner);
}

TEST(ZoneEvidence, KnowsHowTheStampsWereRead) {
  // The wall shows two hours more than UTC; who read it took it for a clock of -08:00.
  std::vector<Reading> readings = readings_of({.offset_s = 7200});
  for (Reading& reading : readings) reading.unix_s += 28800;
  ZoneEvidence evidence(kTenMinutes);
  evidence.take(readings, -28800);
  EXPECT_EQ(name_of(evidence.finding()), "+02:00");
}

TEST(ZoneEvidence, TellsHowSureItIs) {
  // Power rises and falls by 400 W. 1000 s of idle before and after the window leave room for one
  // quarter hour on either side.
  const ZoneFinding alone = finding_of({.offset_s = 3600});
  ASSERT_TRUE(alone.winner);
  EXPECT_EQ(alone.winner->offset_s, 3600);
  EXPECT_EQ(alone.winner->edge_w, 400);
  EXPECT_EQ(alone.margin, 1);
  EXPECT_EQ(alone.why_none, "");
  ASSERT_EQ(alone.left.size(), 3u);
  EXPECT_EQ(alone.left[0].offset_s, 3600);
  EXPECT_EQ(alone.left[1].offset_s, 2700);
  EXPECT_EQ(alone.left[2].offset_s, 4500);
  EXPECT_EQ(alone.left[2].edge_w, 0);

  // 30 W about a quarter hour later: less than a tenth is no rival, but counts.
  const ZoneFinding ahead = finding_of({.loads = {{0, 600}, {906, 1506, 30}}});
  EXPECT_EQ(name_of(ahead), "+00:00");
  EXPECT_LT(ahead.margin, 1);
  EXPECT_GE(ahead.margin, 1 - 30.0 / 400);
}

TEST(ZoneEvidence, RefusesAStrongLoadWhereAWeakOneFitsToo) {
  // Which of them is the window's cannot be told: one at a concurrency of 1, one at 1024.
  EXPECT_EQ(name_of(finding_of({.loads = {{0, 600, 30}, {900, 1500}}})),
            "none: more than one offset fits or nearly fits: +00:15, +00:00");
  EXPECT_EQ(name_of(finding_of({.loads = {{0, 600}, {900, 1500, 30}}})),
            "none: more than one offset fits or nearly fits: +00:00, +00:15");
}

TEST(ZoneEvidence, CountsOnlyReadingsOfPower) {
  std::vector<Reading> readings = readings_of({});
  for (Reading& reading : readings) reading.kind = Reading::Kind::no_power;
  EXPECT_EQ(name_of(finding_from(readings)),
            "none: the recording covers the window in no UTC offset");
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
    EXPECT_EQ(finding.left.size(), 1u);
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
    return name_of(finding_of({.last_s = 2000, .loads = {{0, 600}, other}, .offset_s = 3600}));
  };
  EXPECT_EQ(name({900, 1500}), "none: more than one offset fits or nearly fits: +01:00, +01:15");
  EXPECT_EQ(name({900, 1500, 60}), "none: more than one offset fits or nearly fits: +01:00, +01:15")
      << "of another power";
  EXPECT_EQ(name({908, 1508}), "none: more than one offset fits or nearly fits: +01:00, +01:15")
      << "late by 8 s";
  EXPECT_EQ(name({800, 1500}), "none: more than one offset fits or nearly fits: +01:00, +01:15")
      << "whose rise a warm-up hides";
  EXPECT_EQ(name({930, 1530}), "+01:00") << "late by half a minute";
}

TEST(ZoneEvidence, RefusesEdgesThatAreCommon) {
  // 60 s of load every 110 s: nowhere else on a quarter hour of the window, but that is luck.
  std::vector<Load> loads;
  for (int i = -8; i < 14; ++i) loads.push_back({i * 110.0, i * 110.0 + 60});
  const auto name = [&](double last_s) {
    return name_of(
        finding_of({.first_s = -850, .last_s = last_s, .loads = loads}, {kStart, kStart + 60}));
  };
  EXPECT_EQ(name(1500),
            "none: edges such as those on the window's edges are common in the recording");
  EXPECT_EQ(name(850), "+00:00") << "no other offset covers the window";
}

TEST(ZoneEvidence, TellsWhatItCannotUse) {
  EXPECT_EQ(name_of(finding_of(Recording{}, {kStart, kStart + 11})),
            "none: the window is shorter than 12 s");
  EXPECT_EQ(name_of(finding_of(Recording{}, {kStart, kStart + 300'000})),
            "none: the window is longer than 3 days");
  EXPECT_EQ(name_of(finding_of(Recording{}, {NAN, kStart})),
            "none: the window is shorter than 12 s");
  EXPECT_EQ(name_of(finding_from({})), "none: the recording covers the window in no UTC offset");
  EXPECT_EQ(name_of(finding_of({.first_s = 1, .last_s = 700})),
            "none: the recording covers the window in no UTC offset");
  const ZoneFinding sparse = finding_of({.interval_s = 10});
  EXPECT_EQ(name_of(sparse), "none: readings are 10 s apart, more than 5 s");
  EXPECT_EQ(sparse.left.size(), 3u);
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

// ---- Clocks that are turned. kStart is a quarter past the full hour.

TEST(ZoneEvidence, FindsTheWindowBeforeAndAfterAnHourThatComesTwice) {
  const auto name = [](double step_s, std::int32_t size_s) {
    return name_of(finding_of({.first_s = -9000,
                               .last_s = 9000,
                               .offset_s = 7200,
                               .step_s = step_s,
                               .forward_s = -size_s}));
  };
  // 03:00 becomes 02:00, 6300 s after the window's start or 8100 s before it.
  EXPECT_EQ(name(6300, 3600), "+02:00, from 2026-03-29T03:00:00Z +01:00");
  EXPECT_EQ(name(-8100, 3600), "+02:00, from 2026-03-28T23:00:00Z +01:00");
  EXPECT_EQ(name(2700, 1800), "+02:00, from 2026-03-29T02:00:00Z +01:30") << "as on Lord Howe";
  EXPECT_EQ(name(2700, 3600), kTwice) << "the hour before the step comes again";
  EXPECT_EQ(name(-900, 3600), kTwice) << "the hour after the step was there before";
}

TEST(ZoneEvidence, RefusesAWindowInWhichTheClockIsTurnedBack) {
  const Recording recording{
      .last_s = 8000, .loads = {{0, 6000}}, .step_s = 2700, .forward_s = -3600};
  EXPECT_EQ(name_of(finding_of(recording, {kStart, kStart + 6000})), kTwice);
}

TEST(ZoneEvidence, ReadsTheWholeRecordingInTheZoneItFound) {
  const Recording recording{
      .first_s = -13000, .last_s = 9000, .offset_s = 7200, .step_s = -8100, .forward_s = -3600};
  const ZoneFinding finding = finding_of(recording);
  ASSERT_TRUE(finding.winner);
  EXPECT_EQ(finding.winner->offset_s, 3600);
  const auto start = static_cast<std::int64_t>(kStart);
  EXPECT_EQ(finding.winner->zone().unix_from_local(start - 12000 + 7200), start - 12000);
  EXPECT_EQ(finding.winner->zone().unix_from_local(start + 3600), start);
}

TEST(ZoneEvidence, FindsTheWindowAroundASkippedHour) {
  const auto name = [](double step_s) {
    Recording recording{.first_s = -5000, .last_s = 6000, .offset_s = 3600, .forward_s = 3600};
    recording.step_s = step_s;
    return name_of(finding_of(recording));
  };
  // Next to the window it does not matter whether the clock was turned or the recorder paused.
  EXPECT_EQ(name(2700), "+01:00");
  EXPECT_EQ(name(-900), "+02:00");
  const Recording across{.first_s = -1500,
                         .last_s = 12000,
                         .loads = {{0, 6000}},
                         .offset_s = 3600,
                         .step_s = 2700,
                         .forward_s = 3600};
  const ZoneFinding finding = finding_of(across, {kStart, kStart + 6000});
  ASSERT_EQ(name_of(finding), "+01:00, from 2026-03-29T02:00:00Z +02:00");
  const auto start = static_cast<std::int64_t>(kStart);
  EXPECT_EQ(finding.winner->zone().unix_from_local(start + 3600), start);
  EXPECT_EQ(finding.winner->zone().unix_from_local(start + 6000 + 7200), start + 6000);
}

TEST(ZoneEvidence, TakesAnHourWithoutReadingsForAPauseWhereThatFits) {
  std::vector<Reading> readings = readings_of({.last_s = 8000, .loads = {{0, 7000}}});
  std::erase_if(readings, [](const Reading& reading) {
    return reading.unix_s > kStart + 2699 && reading.unix_s < kStart + 2700 + 3600;
  });
  EXPECT_EQ(name_of(finding_from(readings, {kStart, kStart + 7000})), "+00:00");
}

TEST(ZoneEvidence, RefusesClocksThatJumpTwice) {
  std::vector<Reading> readings =
      readings_of({.first_s = -9000, .last_s = 9000, .step_s = -8100, .forward_s = 3600});
  EXPECT_EQ(name_of(finding_from(readings)), "+01:00") << "it jumps once";
  for (Reading& reading : readings) {
    if (reading.unix_s >= kStart + 2700 + 3600) reading.unix_s += 3600;
  }
  EXPECT_EQ(name_of(finding_from(readings)),
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

}  // namespace
}  // namespace aggregate_power
