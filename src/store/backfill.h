// Recomputes many finished runs in parallel, and skips those that are up to date.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/reason.h"
#include "store/recompute.h"
#include "store/sorted_texts.h"

namespace aggregate_power {

struct BackfillRequest {
  std::vector<std::string> stores;
  RecomputeOptions recompute;
  std::string report;  // empty: none
  // A file that lists the runs, "-" for standard input (store/run_list.h); empty: all runs in the
  // stores.
  std::string runs;
  std::string only;  // a glob that the runs' names must match; empty: all
  std::uint64_t shard = 0;
  std::uint64_t shards = 1;
  unsigned jobs = 1;
  std::set<Outcome> list;  // list the runs with these outcomes
};

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
  std::map<std::pair<Reason, Obstacle>, RunsOfReason> reasons;
  std::uint64_t folder_links = 0;
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
};

struct BackfillResult {
  BackfillCounts counts;
  // Sorted by path. With a list of outcomes: the path of each such run's aggregate (of its folder
  // if there is none), a tab and its reason codes. Otherwise, in a dry run: lines that say what
  // would change.
  SortedTexts lines;
};

class Backfill {
 public:
  // Checks the stores and the output, and reads the list of runs to its end. `request` and
  // `watcher` must outlive this object. Throws Error for wrong use (a missing store), FileError if
  // the report cannot be opened.
  Backfill(const BackfillRequest& request, const BackfillWatcher& watcher);
  ~Backfill();
  Backfill(const Backfill&) = delete;
  Backfill& operator=(const Backfill&) = delete;

  // Does the work; to be called exactly once. Faults of a run are counted and reported. After a
  // signal (base/interruption.h) no run is begun, those in progress are put in place or dropped,
  // and the counts are those of what was done. Throws FileError if the report cannot be written,
  // Error if the list of what was found cannot.
  BackfillResult run();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace aggregate_power
