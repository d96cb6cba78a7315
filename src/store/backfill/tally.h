// Counts, log lines and messages of a running backfill. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/backfill/backfill_progress.h"
#include "store/backfill/backfill_request.h"
#include "store/backfill/outcome_log.h"
#include "store/backfill/recomputed.h"

namespace aggregate_power {

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
