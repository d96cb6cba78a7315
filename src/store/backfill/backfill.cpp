// Starts the walk and the workers, and collects what they did.
#include "store/backfill/backfill.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <iterator>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/system/interruption.h"
#include "store/backfill/workers.h"
#include "store/backfill/backfill_places.h"
#include "store/backfill/commit_batch.h"

namespace aggregate_power {
namespace {

// Keeps the first fault of several threads. A fault ends everything, like a signal.
class FirstFault {
 public:
  explicit FirstFault(TaskQueue& tasks) : tasks_(tasks) {}

  template <typename Do>
  void guard(Do action) {
    try {
      action();
    } catch (const Interrupted&) {
      tasks_.end(true);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!fault_) fault_ = std::current_exception();
      tasks_.end(true);
    }
  }

  // To be called when the threads have ended.
  void rethrow() const {
    if (fault_) std::rethrow_exception(fault_);
  }

 private:
  TaskQueue& tasks_;
  std::mutex mutex_;
  std::exception_ptr fault_;
};

// The rounds: what the walk finds, what waited for all of it, and what waited for other runs.
void push_all(BackfillState& state) {
  walk_stores(state);
  state.tasks.wait_until_all_are_finished();
  if (state.tasks.is_over()) return;
  push_those_that_wait(state);
  state.tasks.wait_until_all_are_finished();
  if (state.tasks.is_over()) return;  // workers may still be busy
  push_those_without_zone(state);
  state.tally.all_found();
}

void watch(BackfillState& state, const BackfillWatcher& watcher, const std::stop_token& stop) {
  constexpr auto kTick = std::chrono::milliseconds(200);
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (!stopped.wait_for(lock, stop, kTick, [&] { return stop.stop_requested(); })) {
    if (interrupting_signal() != 0) state.tasks.end(true);
    watcher.progress(state.tally.progress());
  }
}

}  // namespace

class Backfill::Work {
 public:
  Work(const BackfillRequest& request, const BackfillWatcher& watcher)
      : watcher_(watcher), state_(request, watcher) {
    if (const auto open_files = allow_many_open_files()) {
      runs_in_a_batch_ = runs_in_a_batch(*open_files, request.jobs);
    }
  }

  BackfillResult run() {
    std::vector<std::jthread> workers;
    fault_.guard([&] { start(workers); });
    std::jthread watching;
    fault_.guard([&] {
      watching =
          std::jthread([this](const std::stop_token& stop) { watch(state_, watcher_, stop); });
    });
    fault_.guard([&] { push_all(state_); });
    state_.tasks.end(false);
    workers.clear();
    fault_.guard([&] { committer_.wait(); });
    watching = std::jthread();  // stops and joins it
    fault_.rethrow();
    return state_.tally.result();
  }

 private:
  // As many as the system allows; throws std::system_error when that is none.
  void start(std::vector<std::jthread>& workers) {
    try {
      while (workers.size() < state_.request.jobs) workers.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      if (workers.empty()) throw;
    }
  }

  // After a signal the run in progress is dropped, but not runs that only wait to be put in place.
  void work() {
    fault_.guard([&] {
      CommitBatch batch(state_.tally, committer_, runs_in_a_batch_);
      fault_.guard([&] { do_tasks(state_, batch); });
      batch.flush();
    });
  }

  const BackfillWatcher& watcher_;
  BackfillState state_;
  std::size_t runs_in_a_batch_ = 1;
  BatchCommitter committer_{state_.tally};
  FirstFault fault_{state_.tasks};
};

Backfill::Backfill(const BackfillRequest& request, const BackfillWatcher& watcher)
    : work_(std::make_unique<Work>(request, watcher)) {}

Backfill::~Backfill() = default;

BackfillResult Backfill::run() { return work_->run(); }

}  // namespace aggregate_power
