// Reports one line of JSON for each run of a store, for any engine that reads such lines.
#pragma once

#include <mutex>
#include <string>

#include "store/backfill/recomputed.h"

namespace aggregate_power {

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

}  // namespace aggregate_power
