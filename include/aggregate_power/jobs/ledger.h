// What is said of the runs of a store, by all who work on them: counts, report, lines for people.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/jobs/backfill.h"
#include "aggregate_power/jobs/revision.h"
#include "aggregate_power/jobs/run_report.h"

namespace aggregate_power {

// May be used by several threads.
class Ledger {
 public:
  // Throws what RunReport's constructor throws.
  Ledger(const BackfillRequest& request, const BackfillWatcher& watcher);

  // Counts a run; its line of the report is added to `lines`, for write().
  void add(const Revision& revision, double seconds, std::string& lines);
  // Throws FileError.
  void write(std::string& lines);

  void tell_changes(const std::vector<std::string>& lines);
  void tell_trouble(const std::string& line);
  void add_found();
  void add_folder_link();
  void all_found();
  BackfillProgress progress() const;

 private:
  const BackfillWatcher& watcher_;
  std::optional<RunReport> report_;
  mutable std::mutex mutex_;
  BackfillProgress progress_;
};

}  // namespace aggregate_power
