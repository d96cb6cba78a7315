// Two witnesses, or none.
#include "energy/zones/zone_sources.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace aggregate_power {
namespace zone_witnesses_test {

using Standing = ZoneCandidate::Standing;

constexpr Window kWindow{1'767'225'600, 1'767'225'900};  // five minutes from 2026-01-01T00:00:00Z
constexpr double kLast = 1'767'226'000;                  // of the recording, under +00:00

ZoneCandidate candidate(std::int32_t offset_s, Standing standing) {
  ZoneCandidate candidate;
  candidate.offset_s = offset_s;
  candidate.covers = true;
  candidate.standing = standing;
  candidate.idle_w = 100;
  candidate.load_w = 500;
  candidate.last_unix_s = kLast - offset_s;
  return candidate;
}

ZoneFinding finding_of(std::vector<ZoneCandidate> candidates, bool by_edges) {
  ZoneFinding finding;
  if (by_edges) finding.by_edges = candidates[0];
  finding.why_no_edges = by_edges ? "" : "more than one offset is possible";
  finding.candidates = std::move(candidates);
  finding.last_shown_s = kLast;
  return finding;
}

const ClockHistory* clock_of(std::string_view zone) {
  return &*std::ranges::find(clock_histories(), zone, &ClockHistory::zone);
}

OtherWitnesses consensus(std::vector<std::string_view> zones) {
  OtherWitnesses others;
  for (const std::string_view zone : zones) others.consensus.clocks.push_back(clock_of(zone));
  others.consensus.least_load_w = 300;
  return others;
}

OtherWitnesses written(double unix_s) { return {.consensus = {}, .file_unix_s = unix_s}; }

std::string text(const ZoneDecision& decision) {
  if (!decision.winner) return "none: " + decision.why_none;
  std::vector<std::string_view> witnesses;
  for (const ZoneWitness witness : decision.report.witnesses) witnesses.push_back(name_of(witness));
  std::string text = fmt::format("{} {}: {}", decision.winner->zone().name(),
                                 name_of(decision.report.level), fmt::join(witnesses, ", "));
  if (!decision.report.rivals.empty()) {
    text += fmt::format("; but {}", fmt::join(decision.report.rivals, ", "));
  }
  return text;
}

std::string decided(const ZoneFinding& finding, const OtherWitnesses& others,
                    bool one_is_enough = false) {
  return text(decide_zone(finding, kWindow, others, one_is_enough));
}

const char kOnlyOne[] = "but nothing else confirms it: this recording may belong to another run";
const ZoneFinding kEdges = finding_of({candidate(0, Standing::fits)}, true);

TEST(ZoneWitnesses, AreTwoOrNone) {
  EXPECT_EQ(decided(kEdges, {}),
            "none: by the rise and fall of the power, the time zone is +00:00, but nothing else "
            "confirms it: this recording may belong to another run");
  EXPECT_EQ(decided(kEdges, consensus({"UTC"})), "+00:00 two_witnesses: edges, consensus");
  EXPECT_EQ(decided(kEdges, written(kLast + 20)), "+00:00 two_witnesses: edges, file_time");
}

TEST(ZoneWitnesses, AreEnoughAloneByTheUsersWord) {
  EXPECT_EQ(decided(kEdges, {}, true), "+00:00 one_witness: edges; but not_in_recording");
  const ZoneFinding two =
      finding_of({candidate(0, Standing::fits), candidate(3600, Standing::possible)}, false);
  EXPECT_EQ(decided(two, {}, true), "none: more than one offset is possible");
  EXPECT_EQ(decided(two, written(kLast + 20), true),
            "+00:00 one_witness: file_time; but +01:00, not_in_recording");
}

TEST(ZoneWitnesses, MustNotContradict) {
  EXPECT_EQ(
      decided(kEdges, consensus({"Africa/Lagos"}), true),
      "none: by the rise and fall of the power, the time zone is +00:00; by the recorder's other runs, it is +01:00");
  EXPECT_EQ(
      decided(kEdges, written(kLast + 20 - 3600), true),
      "none: by the rise and fall of the power, the time zone is +00:00; by the time when the recording was last written, it is +01:00");
  OtherWitnesses both = consensus({"UTC"});
  both.file_unix_s = kLast + 20 - 3600;
  EXPECT_EQ(
      decided(kEdges, both),
      "none: by the rise and fall of the power, the time zone is +00:00; by the time when the recording was last written, it is +01:00");
}

TEST(ZoneWitnesses, TakeAFilesTimeWithinAMinuteAfterItsLastReading) {
  for (const double late_s : {-1.0, 0.0, 60.0}) {
    EXPECT_EQ(decided(kEdges, written(kLast + late_s)), "+00:00 two_witnesses: edges, file_time");
  }
  for (const double late_s : {-2.0, 61.0, 500.0}) {
    EXPECT_TRUE(decided(kEdges, written(kLast + late_s)).ends_with(kOnlyOne)) << late_s;
  }
}

TEST(ZoneWitnesses, LetTheConsensusSettleTwoEqualLoads) {
  const ZoneFinding two =
      finding_of({candidate(0, Standing::fits), candidate(3600, Standing::fits)}, false);
  EXPECT_EQ(decided(two, consensus({"Africa/Lagos"})), "+01:00 two_witnesses: edges, consensus");
  EXPECT_EQ(decided(two, written(kLast + 5)),
            "none: by the time when the recording was last written, the time zone is +00:00, but "
            "nothing else confirms it: +01:00 is possible too, and this recording may belong to "
            "another run");
}

TEST(ZoneWitnesses, LetTheConsensusSettleARecordingWithoutEdges) {
  ZoneFinding flat = finding_of({candidate(0, Standing::possible)}, false);
  EXPECT_TRUE(decided(flat, consensus({"UTC"})).starts_with("none: by the recorder's other runs"))
      << "it shows edges, though elsewhere";
  flat.is_flat = true;
  EXPECT_EQ(decided(flat, consensus({"UTC"})),
            "+00:00 two_witnesses: consensus; but not_in_recording");
  flat.candidates[0].load_w = 299;
  EXPECT_TRUE(decided(flat, consensus({"UTC"})).starts_with("none: by the recorder's other runs"))
      << "no more than idle power";
  OtherWitnesses both = consensus({"UTC"});
  both.file_unix_s = kLast + 5;
  EXPECT_EQ(decided(flat, both), "+00:00 two_witnesses: consensus, file_time");
}

// Machines of one kind may stand in several zones.
TEST(ZoneWitnesses, LetRunsOnTheSameHardwareConfirmAndNotSettle) {
  OtherWitnesses hardware = consensus({"UTC"});
  hardware.consensus.may_settle = false;
  EXPECT_EQ(decided(kEdges, hardware), "+00:00 two_witnesses: edges, consensus");
  const ZoneFinding two =
      finding_of({candidate(0, Standing::fits), candidate(3600, Standing::fits)}, false);
  EXPECT_EQ(decided(two, hardware), "none: more than one offset is possible");
}

TEST(ZoneWitnesses, RefuseARecordingWhoseLoadLiesWhereNoZoneHasTheWindow) {
  ZoneFinding elsewhere = finding_of({candidate(0, Standing::possible)}, false);
  elsewhere.has_load_elsewhere = true;
  OtherWitnesses both = consensus({"UTC"});
  both.file_unix_s = kLast + 5;
  EXPECT_EQ(
      decided(elsewhere, both, true),
      "none: the recording shows a load as long as the window, but at a time that no time zone makes the window's: it may belong to another run");
}

TEST(ZoneWitnesses, RefuseWhereTheConsensusHasIdlePowerInTheWindow) {
  const ZoneFinding idle = finding_of({candidate(0, Standing::excluded)}, false);
  OtherWitnesses both = consensus({"UTC"});
  both.file_unix_s = kLast + 5;
  EXPECT_EQ(decided(idle, both, true), "none: in +00:00 the GPUs are idle during the window");
}

TEST(ZoneWitnesses, RefuseWhereTheConsensusDoesNotCoverTheWindow) {
  const ZoneFinding none = finding_of({}, false);
  EXPECT_EQ(decided(none, consensus({"Africa/Lagos"})),
            "none: by the recorder's other runs, the time zone is +01:00, in which the recording "
            "does not cover the window");
}

// Berlin and New York differ; Berlin and Lagos do not in winter.
TEST(ZoneWitnesses, NeedClocksThatAgree) {
  const ZoneFinding finding = finding_of({candidate(3600, Standing::fits)}, true);
  EXPECT_EQ(decided(finding, consensus({"Europe/Berlin", "Africa/Lagos"})),
            "+01:00 two_witnesses: edges, consensus");
  EXPECT_TRUE(
      decided(finding, consensus({"Europe/Berlin", "America/New_York"})).ends_with(kOnlyOne));
}

TEST(ZoneWitnesses, DoNotHelpWhereTheClockIsInDoubt) {
  ZoneFinding finding = finding_of({candidate(0, Standing::fits)}, false);
  finding.candidates[0].doubt = "the recording's clock goes back";
  EXPECT_EQ(decided(finding, consensus({"UTC"})), "none: the recording's clock goes back");
}

// ---- The process's own zone

std::string own_zone(const ZoneFinding& finding, std::int32_t offset_s,
                     std::optional<double> file_unix_s = {}) {
  const OwnZoneVerdict verdict = judge_own_zone(finding, offset_s, file_unix_s);
  if (!verdict.contradiction.empty()) return verdict.contradiction;
  if (!verdict.doubt.empty()) return "doubt: " + verdict.doubt;
  return verdict.is_confirmed ? "confirmed" : "open";
}

TEST(OwnZone, IsConfirmedByEdges) {
  const auto own = candidate(0, Standing::fits);
  EXPECT_EQ(own_zone(finding_of({own, candidate(3600, Standing::excluded)}, true), 0), "confirmed");
  EXPECT_EQ(own_zone(finding_of({own, candidate(3600, Standing::fits)}, false), 0), "confirmed");
  // Also against the time of a file that may have been copied.
  EXPECT_EQ(own_zone(finding_of({own}, true), 0, kLast - 3600 + 30), "confirmed");
}

// A load every hour: the power does not say which one is the window's.
TEST(OwnZone, IsNotConfirmedByEdgesOfLoadsOfOtherPower) {
  auto own = candidate(0, Standing::fits);
  auto other = candidate(3600, Standing::fits);
  own.load_w = 500;
  other.load_w = 480;
  EXPECT_EQ(own_zone(finding_of({own, other}, false), 0), "confirmed");
  other.load_w = 300;
  const ZoneFinding finding = finding_of({own, other}, false);
  EXPECT_EQ(own_zone(finding, 0),
            "nothing states the time zone; power rises and falls with the window in +00:00, the "
            "process's own zone, and with other power in +01:00");
  EXPECT_EQ(own_zone(finding, 0, kLast + 30), "confirmed");
  EXPECT_EQ(own_zone(finding_of({own, candidate(3600, Standing::excluded)}, true), 0), "confirmed");
}

// The window ends with the load in the own zone; the other load is seconds off.
TEST(OwnZone, IsConfirmedByEdgesThatFitMoreClosely) {
  auto own = candidate(0, Standing::fits);
  auto other = candidate(3600, Standing::fits);
  own.load_w = 500;
  other.load_w = 300;
  ZoneFinding finding = finding_of({own, other}, false);
  const auto verdict = [&](double own_off_s, double other_off_s) {
    finding.candidates[0].edges_off_s = own_off_s;
    finding.candidates[1].edges_off_s = other_off_s;
    return own_zone(finding, 0).substr(0, 9);
  };
  EXPECT_EQ(verdict(0.5, 3), "confirmed");
  EXPECT_EQ(verdict(0.5, 1.5), "nothing s");
  EXPECT_EQ(verdict(3, 0.5), "nothing s");
  finding.edges_within_s = 5;
  EXPECT_EQ(verdict(0.5, 3), "nothing s");
}

TEST(OwnZone, IsContradictedByEdges) {
  const ZoneFinding finding =
      finding_of({candidate(7200, Standing::fits), candidate(0, Standing::excluded)}, true);
  const std::string text =
      "in +00:00, the process's own zone, the GPUs are idle at an end of the window; by the rise "
      "and fall of the power, the time zone is +02:00";
  EXPECT_EQ(own_zone(finding, 0), text);
  EXPECT_EQ(own_zone(finding, 0, kLast + 30), text);
  EXPECT_EQ(own_zone(finding, 7200), "confirmed");
}

TEST(OwnZone, IsJudgedByTheTimeOfTheFileWhereThePowerSaysNothing) {
  const ZoneFinding finding =
      finding_of({candidate(0, Standing::possible), candidate(19800, Standing::possible)}, false);
  EXPECT_EQ(own_zone(finding, 0), "open");
  EXPECT_EQ(own_zone(finding, 0, kLast + 30), "confirmed");
  EXPECT_EQ(own_zone(finding, 0, kLast + 300), "open");  // no zone has it
  const std::string text =
      "by the time when the recording was last written, the time zone is +05:30, and not +00:00, "
      "the process's own";
  EXPECT_EQ(own_zone(finding, 0, kLast - 19800 + 2), text);
  EXPECT_EQ(own_zone(finding, 0, kLast - 19800 + 30), "doubt: " + text);  // or a copy
  // The recording does not have the window in that zone.
  EXPECT_EQ(own_zone(finding, 0, kLast - 3600 + 2), "open");
}

TEST(OwnZone, IsConfirmedIfTheRecordingCoversTheWindowInNoOther) {
  EXPECT_EQ(own_zone(finding_of({candidate(0, Standing::possible)}, false), 0), "confirmed");
  EXPECT_EQ(own_zone(finding_of({candidate(0, Standing::excluded)}, false), 0), "open");
}

}  // namespace zone_witnesses_test
}  // namespace aggregate_power
