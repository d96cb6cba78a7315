// Finds the runs in the stores of a backfill, round by round, and works on them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/backfill/backfill.h"
#include "store/backfill/recompute.h"
#include "store/backfill/tally.h"
#include "store/backfill/zone_cases.h"
#include "store/catalogue/found_runs.h"
#include "store/catalogue/pieces.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

// One piece of work for a worker.
struct Task {
  StoredRun run = {};
  std::shared_ptr<const Namesakes> namesakes = {};  // null: not searched for yet
  std::string aggregate_text =
      {};  // instead of the run's places: store_path_text() of its aggregate
  // For a run that waited for the others of its recorder: its pieces are known.
  std::shared_ptr<const DecidableRun> decidable = {};
  std::optional<StorePath> archive = {};  // to be walked, instead of a run
  std::string artifact = {};              // of the archive
  std::string only_path = {};  // only the aggregate with this path in the archive is wanted
};

// The walk is only a little ahead of the workers.
class TaskQueue {
 public:
  // Waits for room. After end(), pushed tasks are dropped.
  void push(Task task);
  // Returns several tasks at a time, since most are short; none if there is none at the moment, and
  // then is_over() says whether more may come. Call finished() for each task that was popped.
  std::vector<Task> pop();
  void finished();
  void wait_until_all_are_finished();

  // No more tasks will be pushed; those that wait are still done, or dropped.
  void end(bool drop);
  bool is_over();

 private:
  std::mutex mutex_;
  std::condition_variable has_task_;
  std::condition_variable has_room_;
  std::condition_variable all_finished_;
  std::deque<Task> waiting_;
  std::uint64_t open_ = 0;  // waiting or in progress
  bool is_over_ = false;
};

// The state that the walk and the workers of a backfill share.
struct BackfillState {
  // Throws what Backfill's constructor throws. `request` and `watcher` must outlive this object.
  BackfillState(const BackfillRequest& request, const BackfillWatcher& watcher);
  BackfillState(const BackfillState&) = delete;
  BackfillState& operator=(const BackfillState&) = delete;

  const BackfillRequest& request;
  RecomputeOptions options;
  Selection selection;
  Tally tally;
  std::vector<StorePath> stores;
  MetRuns met;
  std::optional<RunList> list;  // nullopt: all runs in the stores are wanted
  ZoneCases zone_cases;
  TaskQueue tasks;
};

using TakeTask = std::function<void(Task)>;

// The first round: pushes the listed runs, and the content of the stores that are searched. Throws
// Interrupted.
void walk_stores(BackfillState& state);

// The second round: runs whose pieces may be anywhere in the stores, listed runs that were found,
// and those without an aggregate. Throws Interrupted.
void push_those_that_wait(BackfillState& state);

// The third round: runs whose zones are decided together with others of one recorder. Throws
// Interrupted.
void push_those_without_zone(BackfillState& state);

// Walks the archive of a task, and passes its content on. Faults of the archive are counted.
void search_archive(BackfillState& state, const Task& task, const TakeTask& take);

// Takes tasks until no more will come. Results to be written are left to `batch`. Throws
// Interrupted after a signal: the run in progress is dropped, but not runs that only wait to be put
// in place. Faults of a run are counted.
void do_tasks(BackfillState& state, CommitBatch& batch);

}  // namespace aggregate_power
