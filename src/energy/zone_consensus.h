// What the runs of one recorder together say about the zone of its clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/text/zone_table.h"

#include "aggregate_power/zone_report.h"

namespace aggregate_power {

// What the others say about one run.
struct ZoneAgreement {
  std::vector<const ClockHistory*> clocks;  // all that agree with every vote; empty: no consensus
  // Half way between what the others draw in idle time and under their weakest load: a run that
  // shows no edges must draw that much in its window.
  double least_load_w = 0;
  // Whether it may settle what the run's own recording leaves open: not where the runs are of one
  // kind of hardware only, which may stand in several zones.
  bool may_settle = true;
};

// Two other runs at least, and none against. Runs that start at one instant are one run and its
// copies. Votes by edges count only between runs that
// do not start on a common timer, of minutes or of five minutes: a recording of the timer's
// previous job would show the same edges, an hour off. Runs whose load lies where no zone has it
// may be a fifth of all: a recorder's files have been mixed up where there are more.
class ZoneConsensus {
 public:
  ZoneConsensus();
  void add(const ZoneVote& vote);
  void add_load_elsewhere() { ++loads_elsewhere_; }

  // For a run that starts at `start_unix_s`; `own` is its own vote, which was added.
  ZoneAgreement for_run(double start_unix_s, const std::optional<ZoneVote>& own) const;
  // The clock that most votes are for, the first in the table's order; nothing without two.
  const ClockHistory* favourite() const;
  bool contradicts(const ZoneVote& vote) const;
  // How many votes do so, and how many loads lie elsewhere.
  std::size_t contradictions() const;
  std::size_t votes() const { return votes_; }

 private:
  bool has_independent(double start_unix_s) const;

  std::size_t votes_ = 0;
  std::size_t loads_elsewhere_ = 0;
  std::vector<std::size_t> votes_for_;     // by clock_histories()
  std::set<double> stated_starts_unix_s_;  // of some runs: more than two tell no more
  std::set<int> phases_s_;  // of the starts of those by edges, after a full five minutes
  double highest_idle_w_ = 0;
  double lowest_load_w_;
};

}  // namespace aggregate_power
