// Reports one line of JSON for each run of a store, for any engine that reads such lines.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text/json_patch.h"

namespace aggregate_power {

// How a run's zone was found, and how it compares with the other runs of its recorder.
struct RunZone {
  std::string recorder;  // empty: unknown
  std::string level;     // empty: not decided
  std::vector<std::string> witnesses;
  std::string recorder_timezone;  // empty: unknown, or not asked for
  bool contradicts = false;       // the run's own zone differs
};

struct OutcomeLine {
  std::string run;
  std::string layout;
  std::string aggregate;  // these three are empty if there is none
  std::string telemetry;
  std::string benchmark;
  std::string outcome;
  std::vector<std::string> reasons;
  std::vector<std::pair<std::string, double>> metrics;
  std::string timezone;  // empty: unknown
  double seconds = 0;
  std::optional<RunZone> zone;  // nullopt: no zone matters to it, or it was not checked
  // The members of ours that a patched aggregate had before, and whether its record was replaced.
  std::vector<JsonEdit> before;
  bool had_record = false;
  std::string record_hash;  // of the record that was written in place; empty: none
  std::string details;      // of the reasons, and other doubts; for people
};

// Keys in the order above; bytes that are not UTF-8 become %XX; ends with a line break.
std::string outcome_line_text(const OutcomeLine& line);

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
