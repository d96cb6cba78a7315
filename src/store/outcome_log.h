// One line of JSON for each run of a store, for any engine that reads such lines.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace aggregate_power {

// How a run's zone was come by, and how it stands among the runs of its recorder.
struct RunZone {
  std::string recorder;  // empty: not known
  std::string level;     // empty: not decided
  std::vector<std::string> witnesses;
  std::string recorder_timezone;  // empty: not known, or nobody asked
  bool contradicts = false;       // the run says otherwise
};

struct OutcomeLine {
  std::string run;
  std::string layout;
  std::string aggregate;  // these three: empty when there is none
  std::string telemetry;
  std::string benchmark;
  std::string outcome;
  std::vector<std::string> reasons;
  std::vector<std::pair<std::string, double>> metrics;
  std::string timezone;  // empty: not known
  double seconds = 0;
  std::optional<RunZone> zone;  // nothing: no zone matters to it, or it was not looked at
  std::string details;          // of the reasons, and what is doubtful besides; for people
};

// Keys in the order above; bytes that are not UTF-8 become %XX; with a line break at the end.
std::string outcome_line_text(const OutcomeLine& line);

// A file that lines are appended to, each in one piece, also by several processes.
class OutcomeLog {
 public:
  // Throws Error when there is something in the file that is no such report, FileError when it
  // cannot be written. A line that a killed run left unfinished is cut off.
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
