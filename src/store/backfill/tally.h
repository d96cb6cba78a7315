// Counts, log lines and messages of a running backfill. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/reason.h"
#include "store/backfill/recompute.h"
#include "store/catalogue/external_sort.h"

namespace aggregate_power {

// What a backfill has done so far, for those who watch it and for its summary.

// Runs with a reason: how many, and the first of them in order.
struct RunsOfReason {
  std::uint64_t runs = 0;
  std::set<std::pair<std::string, std::string>> first;  // name and path

  void add(const std::string& name, const std::string& path = {});
  // Their paths if the names are not enough to tell the runs apart.
  std::vector<std::string> first_names() const;
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

// ---- Reports one line of JSON for each run of a store, for any engine that reads such lines.

// The line of a run that took `seconds`; ends with a line break. Bytes that are not UTF-8 become
// %XX. `record_hash`: of the record that was written in place; empty: none.
std::string outcome_line_text(const Recomputed& recomputed, double seconds,
                              const std::string& record_hash);

// A file that lines are appended to, each in one piece, even by several processes.
class OutcomeLog {
 public:
  // Throws Error if the file contains something other than such a report, FileError if it cannot be
  // written. A line that a killed run left unfinished is removed.
  explicit OutcomeLog(const std::string& path);
  ~OutcomeLog();
  OutcomeLog(const OutcomeLog&) = delete;
  OutcomeLog& operator=(const OutcomeLog&) = delete;

  // May be called by several threads. Throws FileError.
  void add(const std::string& lines);

 private:
  void take_lock();

  std::string path_;
  std::mutex mutex_;
  int fd_ = -1;
};

// May be used by several threads.
class Tally {
 public:
  // Throws what OutcomeLog's constructor throws.
  Tally(const BackfillRequest& request, const BackfillWatcher& watcher);

  // Counts a run; its line of the report is appended to `lines`, for write().
  void add(const Recomputed& recomputed, double seconds, std::string& lines);
  // Throws FileError.
  void write(std::string& lines);

  // Notes what a dry run would change in the aggregate at `path`.
  void add_changes(const std::string& path, const std::vector<std::string>& changes);
  void add_found();
  void add_folder_link();
  // `what`: as in "store/x.csv: leads out of store, to /etc/x".
  void add_link_out(const std::string& what);
  void all_found();
  BackfillProgress progress() const;
  // To be called after the last run was added.
  BackfillResult result();

 private:
  void list(const Recomputed& recomputed);

  const BackfillRequest& request_;
  const BackfillWatcher& watcher_;
  std::unique_ptr<OutcomeLog> report_;  // null: none is wanted
  mutable std::mutex mutex_;
  BackfillProgress progress_;
  ExternalSort lines_;
};

}  // namespace aggregate_power
