// What is to be done with a store, from the walk that finds it to the workers that do it.
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

// What a worker does at a time.
struct Task {
  StoredRun run = {};
  std::shared_ptr<const Namesakes> namesakes = {};  // nothing: not looked for yet
  std::string aggregate_text =
      {};  // instead of the run's places: store_path_text() of its aggregate
  // A run that waited for the others of its recorder: its pieces are known.
  std::shared_ptr<const DecidableRun> decidable = {};
  std::optional<StorePath> archive = {};  // instead of a run: to be walked
  std::string artifact = {};              // of the archive
  std::string only_path = {};  // of the archive nothing is wanted but the aggregate of this path
};

// The walk is ahead of the workers by a little only.
class TaskQueue {
 public:
  // Waits for room. After end() what is pushed is dropped.
  void push(Task task);
  // Some at a time: most are short. None when there is none for a moment; is_over() tells whether
  // there will be. Of each that was popped, finished() is to be told.
  std::vector<Task> pop();
  void finished();
  void wait_until_all_are_finished();

  // There will be no more; those that wait are still done, or dropped.
  void end(bool drop);
  bool is_over();

 private:
  std::mutex mutex_;
  std::condition_variable has_task_;
  std::condition_variable has_room_;
  std::condition_variable all_finished_;
  std::deque<Task> waiting_;
  std::uint64_t open_ = 0;  // waiting or being worked on
  bool is_over_ = false;
};

}  // namespace aggregate_power
