// Progress of a long job: a line that is renewed on a terminal, or a line now and then elsewhere.
#pragma once

#include <chrono>
#include <string>

#include "store/backfill/backfill_progress.h"

namespace aggregate_power {

// Prints on standard error. Others print there through print(), so that their text and this line do
// not collide. To be used by one thread at a time.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const BackfillProgress& progress);
  void print(const std::string& line);
  void clear();

 private:
  bool is_terminal_;
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

// "1200/2000 runs, 430/s, 2 s left: 1100 valid, 20 invalid, 60 skipped, 0 failed".
std::string progress_text(const BackfillProgress& progress, double seconds);

}  // namespace aggregate_power
