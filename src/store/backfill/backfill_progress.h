// What a backfill has done so far, for those who watch it and for its summary.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "aggregate_power/reason.h"
#include "store/catalogue/external_sort.h"
#include "store/backfill/recomputed.h"

namespace aggregate_power {

// Runs with a reason: how many, and the first names in order.
struct RunsOfReason {
  std::uint64_t runs = 0;
  std::set<std::string> first_names;

  void add(const std::string& name);
};

struct BackfillCounts {
  std::array<std::uint64_t, kOutcomes> outcomes{};  // by Outcome
  std::uint64_t valid = 0;                          // among the patched and unchanged ones
  std::uint64_t unchanged_not_valid = 0;
  std::uint64_t doubtful = 0;  // among the valid ones: with warnings
  std::map<std::pair<Reason, Obstacle>, RunsOfReason> reasons;
  std::uint64_t folder_links = 0;
  std::uint64_t links_out = 0;  // files that links out of the store stand for
  // Runs by their timezone, and by how it was found (ZoneLevel).
  std::map<std::string, std::map<std::string, std::uint64_t>> zones;

  std::uint64_t of(Outcome outcome) const { return outcomes[static_cast<std::size_t>(outcome)]; }
  std::uint64_t done() const;
};

// For observers. `found` grows until everything is found.
struct BackfillProgress {
  BackfillCounts counts;
  std::uint64_t found = 0;
  bool all_found = false;
};

struct BackfillWatcher {
  // Observers' functions; called by one thread at a time.
  std::function<void(const std::string&)> trouble;  // why a run failed
  std::function<void(const BackfillProgress&)> progress;
  // Each run with what became of it; in a dry run, with what would be written. May be empty.
  std::function<void(const Recomputed&)> done = {};
};

struct BackfillResult {
  BackfillCounts counts;
  // Sorted by path. With a list of outcomes: the path of each such run's aggregate (of its folder
  // if there is none), a tab and its reason codes. Otherwise, in a dry run: lines that say what
  // would change.
  ExternalSort lines;
};

}  // namespace aggregate_power
