// Puts recomputed runs in place, many at a time, so that they share their syncs.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "aggregate_power/reason.h"
#include "base/files/file.h"
#include "core/record/transaction.h"
#include "store/backfill/recomputed.h"
#include "store/backfill/tally.h"

namespace aggregate_power {

// A run whose temporaries are written.
struct WorkedRun {
  Recomputed recomputed;
  WriteTransaction transaction;
  double seconds = 0;
};

// Puts batches in place, one after another, while the workers continue: all temporaries, one sync,
// the renames that must come first, a sync, the other renames, a sync.
class BatchCommitter {
 public:
  explicit BatchCommitter(Tally& tally);
  ~BatchCommitter();  // waits for what was put
  BatchCommitter(const BatchCommitter&) = delete;
  BatchCommitter& operator=(const BatchCommitter&) = delete;

  // Waits while there is more than enough work. This and wait() throw what went wrong with the
  // report.
  void put(std::vector<WorkedRun> batch);
  // Waits until everything is in place.
  void wait();

 private:
  void work();
  void put_in_place(std::vector<WorkedRun>& batch);
  static std::optional<FileError> sync(const std::vector<std::string>& file_systems);

  Tally& tally_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::vector<WorkedRun>> waiting_;
  bool is_working_ = false;
  bool is_over_ = false;
  std::exception_ptr fault_;
  std::jthread thread_;  // last: it uses the others
};

// How many runs may be put in place together without exceeding the number of files that the process
// may have open.
std::size_t runs_in_a_batch(std::size_t open_files, unsigned jobs);

// What one worker collects for the committer.
class CommitBatch {
 public:
  CommitBatch(Tally& tally, BatchCommitter& writer, std::size_t most_runs)
      : tally_(tally), writer_(writer), most_runs_(most_runs) {}

  void add(Recomputed recomputed, double seconds);
  void add_done(const Recomputed& recomputed, double seconds);
  void flush();

 private:
  Tally& tally_;
  BatchCommitter& writer_;
  std::size_t most_runs_;
  std::vector<WorkedRun> worked_;
  std::string lines_;
};

// Notes as the run's outcome what could not be written, or in a dry run could not be.
void note_writing_faults(Recomputed& recomputed, const WritingFaults& faults);

}  // namespace aggregate_power
