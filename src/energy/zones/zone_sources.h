// Decides whether enough independent witnesses support one UTC offset of a recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aggregate_power/record_facts.h"
#include "aggregate_power/sample.h"
#include "base/text/time_zone.h"
#include "energy/zones/zone_evidence.h"

namespace aggregate_power {

// What the runs of one recorder together say about the zone of its clock.

// What the other runs say about one run.
struct ZoneAgreement {
  std::vector<const ClockHistory*> clocks;  // those that agree with every vote; empty: no consensus
  // Halfway between what the others draw when idle and under their weakest load: a run that shows
  // no edges must draw that much in its window.
  double least_load_w = 0;
  // Whether it may settle what the run's own recording leaves open. It may not if the runs share
  // only their kind of hardware, which may be in several zones.
  bool may_settle = true;
};

// Needs at least two other runs, and none against. Runs that start at the same instant are one run
// and its copies. Votes by edges count only between runs that do not start on a common timer, of
// one minute or of five minutes: a recording of the timer's previous job would show the same edges,
// an hour off. Runs whose load is where no zone has it may be a fifth of all: if there are more, a
// recorder's files have been mixed up.
class ZoneConsensus {
 public:
  ZoneConsensus();
  void add(const ZoneVote& vote);
  void add_load_elsewhere() { ++loads_elsewhere_; }

  // For a run that starts at `start_unix_s`; `own` is its own vote, already added.
  ZoneAgreement for_run(double start_unix_s, const std::optional<ZoneVote>& own) const;
  // The clock with the most votes, the first such in the table; nullptr if it has fewer than two.
  const ClockHistory* favourite() const;
  bool contradicts(const ZoneVote& vote) const;
  // The number of votes that contradict, plus the number of loads elsewhere.
  std::size_t contradictions() const;
  std::size_t votes() const { return votes_; }

 private:
  bool has_independent(double start_unix_s) const;

  std::size_t votes_ = 0;
  std::size_t loads_elsewhere_ = 0;
  std::vector<std::uint32_t> votes_for_;   // indexed like clock_histories()
  std::set<double> stated_starts_unix_s_;  // of some runs: more than two add nothing
  std::set<int> phases_s_;  // starts of the votes by edges, after a full five minutes
  double highest_idle_w_ = 0;
  double lowest_load_w_;
};

// Evidence for an offset besides the recording itself.
struct OtherWitnesses {
  ZoneAgreement consensus;
  std::optional<double> file_unix_s;  // when the file was last written; nullopt: unknown
};

struct ZoneDecision {
  std::optional<ZoneCandidate> winner;
  ZoneReport report;     // the winner's
  std::string why_none;  // for people; empty if there is a winner
};

// Needs two witnesses that do not contradict each other, or one with `one_is_enough`; otherwise
// there is no winner. The witnesses are the edges of the load, the consensus of the recorder's
// other runs, and the file's own time within a minute after its last reading. If the edges fit
// several offsets, or the whole recording has no edges, the consensus settles the offset.
ZoneDecision decide_zone(const ZoneFinding& finding, Window window, const OtherWitnesses& others,
                         bool one_is_enough);

// Whether the zone of the process, which nothing states, may be the recording's.
struct OwnZoneVerdict {
  bool is_confirmed = false;  // by the edges, by the file's time, or since no other zone covers
  std::string contradiction = {};  // for people; empty: nothing speaks against it
  std::string doubt = {};          // the same, of what may be an accident
};
// `offset_s` is the zone's. The file's time counts where the edges do not fit, and where they fit
// loads of other power in other zones as closely. A copy has any later
// time: another zone's is a contradiction only within 10 s after its last reading, a doubt within a
// minute, and only if the recording covers the window in that zone.
OwnZoneVerdict judge_own_zone(const ZoneFinding& finding, std::int32_t offset_s,
                              const std::optional<double>& file_unix_s);

}  // namespace aggregate_power
