// Starts the walk and the workers, and collects what they did.
#include "store/backfill/backfill.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/system/interruption.h"
#include "store/catalogue/walk.h"

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

// ---- Checks stores and output, and raises the limit of open files.

namespace {

using NamesByReal = std::map<std::string, std::string>;

// Whether one of the stores above `real` is walked in such a way that it reaches `real`.
bool is_met(const std::filesystem::path& real, const NamesByReal& stores) {
  for (std::filesystem::path above = real; above.has_relative_path();) {
    above = above.parent_path();
    const auto store = stores.find(above);
    if (store == stores.end()) continue;
    const auto place = find_store(store->second, "");
    if (place && walk_meets(*place, real.lexically_relative(above).string())) return true;
  }
  return false;
}

}  // namespace

std::vector<NamedStore> distinct_stores(const std::vector<std::string>& names) {
  NamesByReal by_real;
  std::vector<NamedStore> stores;
  for (const std::string& name : names) {
    std::string real = resolve_links(name);
    if (by_real.emplace(real, name).second) stores.push_back({name, std::move(real)});
  }
  std::erase_if(stores, [&](const NamedStore& store) { return is_met(store.real, by_real); });
  return stores;
}

std::vector<StorePath> stores_to_walk(const std::vector<std::string>& names,
                                      const std::string& output, const StoreAccess& access) {
  for (const std::string& path : names) {
    if (!find_store(path, ""))
      throw Error(fmt::format("{}: is neither a folder nor an archive", path));
  }
  std::vector<StorePath> stores;
  std::set<std::string> taken;
  const std::vector<NamedStore> distinct = distinct_stores(names);
  const bool is_one = distinct.size() == 1;
  for (const auto& [path, real] : distinct) {
    std::string below = is_one ? "" : std::string(last_name(real));
    if (!is_one && !output.empty() && !taken.insert(below).second) {
      throw Error(fmt::format("--output: two stores are called '{}'; give one at a time", below));
    }
    stores.push_back(find_store(path, std::move(below), access).value());
  }
  return stores;
}

void require_output_outside(const std::string& output, const std::vector<StorePath>& stores) {
  const std::string target = resolve_what_is_there(output);
  std::filesystem::path there = target;
  std::error_code ignored;
  while (!std::filesystem::exists(there, ignored)) there = there.parent_path();
  if (!disk_tree()->has_folder(there)) {
    throw Error(
        fmt::format("--output: {} is not a folder; give a folder, or a new name", there.string()));
  }
  for (const StorePath& store : stores) {
    if (is_in(target, resolve_links(store.path))) {
      throw Error(fmt::format("--output: {} is inside the store {}; give a folder outside it",
                              output, store.path));
    }
  }
}

std::optional<std::size_t> allow_many_open_files() {
  constexpr rlim_t kEnough = 65536;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  limit.rlim_cur = std::min(limit.rlim_max, kEnough);
  std::ignore = ::setrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace aggregate_power
