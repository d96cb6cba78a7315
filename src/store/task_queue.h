// The queue of tasks between the walk that finds them and the workers that do them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/run_pieces.h"
#include "store/stored_run.h"
#include "store/zone_cases.h"

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

}  // namespace aggregate_power
