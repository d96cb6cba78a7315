// What the runs of a recorder say together.
#include "energy/zones/zone_sources.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text/time_zone.h"

namespace aggregate_power {
namespace zone_consensus_test {

constexpr double kWinter = 1'767'225'600;  // 2026-01-01T00:00:00Z
constexpr double kSummer = 1'783'000'000;  // 2026-07-02
constexpr std::int32_t kHour = 3600;

// Starts that share no timer: 0, 230 and 137 s after five minutes; 0, 50 and 17 s after a minute.
constexpr double kStarts[] = {kWinter, kWinter + 5030, kWinter + 9137};

ZoneVote vote(double start_unix_s, std::int32_t offset_s, bool is_stated = false) {
  return {start_unix_s, offset_s, is_stated, 100, 500};
}

ZoneConsensus consensus_of(const std::vector<ZoneVote>& votes) {
  ZoneConsensus consensus;
  for (const ZoneVote& each : votes) consensus.add(each);
  return consensus;
}

// The offsets that all clocks of the consensus show then; "none" where there is no consensus.
std::string said(const ZoneConsensus& consensus, double start_unix_s,
                 const std::optional<ZoneVote>& own = {}) {
  std::set<std::string> offsets;
  for (const ClockHistory* clock : consensus.for_run(start_unix_s, own).clocks) {
    offsets.insert(offset_text(clock->offset_at(start_unix_s)));
  }
  std::string text;
  for (const std::string& offset : offsets) text += (text.empty() ? "" : " ") + offset;
  return text.empty() ? "none" : text;
}

TEST(ZoneConsensus, TakesTwoOthers) {
  const ZoneVote own = vote(kStarts[0], kHour);
  EXPECT_EQ(said(consensus_of({}), kWinter), "none");
  EXPECT_EQ(said(consensus_of({vote(kStarts[1], kHour)}), kWinter), "none");
  EXPECT_EQ(said(consensus_of({own, vote(kStarts[1], kHour)}), kStarts[0], own), "none")
      << "one of them is the run itself";
  EXPECT_EQ(said(consensus_of({vote(kStarts[1], kHour), vote(kStarts[2], kHour)}), kWinter),
            "+01:00");
  EXPECT_EQ(
      said(consensus_of({own, vote(kStarts[1], kHour), vote(kStarts[2], kHour)}), kStarts[0], own),
      "+01:00");
}

TEST(ZoneConsensus, IsNoneWhereOneContradicts) {
  const ZoneVote own = vote(kStarts[0], 0);
  const ZoneConsensus consensus = consensus_of(
      {own, vote(kStarts[1], kHour), vote(kStarts[2], kHour), vote(kWinter + 20000 + 75, 0)});
  EXPECT_EQ(said(consensus, kWinter + 33), "none");
  EXPECT_EQ(said(consensus, kStarts[0], own), "none");
  const ZoneConsensus others =
      consensus_of({own, vote(kStarts[1], kHour), vote(kStarts[2], kHour)});
  EXPECT_EQ(said(others, kStarts[0], own), "+01:00") << "the run alone does; its edges will tell";
  EXPECT_TRUE(others.contradicts(own));
  EXPECT_FALSE(others.contradicts(vote(kStarts[1], kHour)));
  EXPECT_EQ(others.contradictions(), 1u);
}

TEST(ZoneConsensus, AllowsForAZonesOwnChanges) {
  // +01:00 in winter and +02:00 in summer: Berlin, and no zone that stays.
  const ZoneConsensus both = consensus_of({vote(kStarts[1], kHour), vote(kSummer + 35, 2 * kHour)});
  EXPECT_EQ(said(both, kWinter), "+01:00");
  EXPECT_EQ(said(both, kSummer + 207), "+02:00");
  // Of winter alone, Berlin and Lagos are left.
  const ZoneConsensus winter = consensus_of({vote(kStarts[1], kHour), vote(kStarts[2], kHour)});
  EXPECT_EQ(said(winter, kSummer), "+01:00 +02:00");
  // No zone has +01:00 in summer and +02:00 in winter, but for none at all.
  EXPECT_EQ(said(consensus_of({vote(kStarts[1], 2 * kHour), vote(kSummer + 35, kHour)}), kWinter),
            "none");
}

// A recording of the job before would show the same edges, one job off.
TEST(ZoneConsensus, DoesNotTakeRunsOfOneTimer) {
  for (const double period_s : {300.0, 900.0, 1200.0, 3600.0, 420.0, 60.0}) {
    std::vector<ZoneVote> votes;
    for (int i = 1; i < 20; ++i) votes.push_back(vote(kWinter + i * period_s + i % 3, kHour));
    EXPECT_EQ(said(consensus_of(votes), kWinter + 1), "none") << period_s;
  }
  // Of two timers: each has votes of the other only.
  const ZoneConsensus two = consensus_of({vote(kWinter + 3600, kHour), vote(kWinter + 7200, kHour),
                                          vote(kWinter + 130, kHour), vote(kWinter + 3730, kHour)});
  EXPECT_EQ(said(two, kWinter), "none");
  EXPECT_EQ(said(two, kWinter + 50), "+01:00") << "a run of neither";
}

TEST(ZoneConsensus, TakesStatedZonesWhateverStartedTheRuns) {
  EXPECT_EQ(said(consensus_of({vote(kWinter, kHour, true), vote(kWinter + 3600, kHour, true)}),
                 kWinter + 7200),
            "+01:00");
  EXPECT_EQ(
      said(consensus_of({vote(kWinter, kHour, true), vote(kWinter + 3600, kHour)}), kWinter + 7200),
      "none")
      << "the other shares the run's timer";
  EXPECT_EQ(
      said(consensus_of({vote(kWinter, kHour, true), vote(kStarts[1], kHour)}), kWinter + 7200),
      "+01:00");
}

// The same window twice is one run, copied.
TEST(ZoneConsensus, TakesARunAndItsCopiesForOne) {
  const ZoneVote stated = vote(kStarts[1], kHour, true);
  const ZoneVote copied = vote(kStarts[1], kHour);
  EXPECT_EQ(said(consensus_of({stated, stated}), kWinter), "none");
  EXPECT_EQ(said(consensus_of({stated, copied}), kWinter), "none");
  EXPECT_EQ(said(consensus_of({stated, vote(kStarts[2], kHour, true)}), kStarts[1]), "none")
      << "one of them is a copy of the run itself";
}

TEST(ZoneConsensus, IsNoneWhereManyLoadsLieElsewhere) {
  std::vector<ZoneVote> votes;
  for (int i = 0; i < 8; ++i) votes.push_back(vote(kWinter + i * 4321, kHour));
  ZoneConsensus consensus = consensus_of(votes);
  consensus.add_load_elsewhere();
  consensus.add_load_elsewhere();
  EXPECT_EQ(said(consensus, kWinter + 50), "+01:00") << "2 of 10";
  consensus.add_load_elsewhere();
  EXPECT_EQ(said(consensus, kWinter + 50), "none") << "3 of 11";
  EXPECT_EQ(consensus.contradictions(), 3u);
}

TEST(ZoneConsensus, KnowsWhatALoadDrawsAtLeast) {
  ZoneConsensus consensus;
  consensus.add({kStarts[1], kHour, false, 120, 700});
  consensus.add({kStarts[2], kHour, false, 100, 400});
  // Half way from the highest idle power, 120 W, to the lowest load, 400 W.
  EXPECT_EQ(consensus.for_run(kWinter, {}).least_load_w, 260);
}

}  // namespace zone_consensus_test
}  // namespace aggregate_power
