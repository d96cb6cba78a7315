// Many finished runs.
#include "aggregate_power/jobs/backfill.h"

#include <fnmatch.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/base/error.h"
#include "aggregate_power/base/hash.h"
#include "aggregate_power/base/path.h"
#include "aggregate_power/jobs/batch.h"
#include "aggregate_power/jobs/ledger.h"
#include "aggregate_power/jobs/piece_index.h"

namespace aggregate_power {
namespace {

using Clock = std::chrono::steady_clock;

// What the index is told, besides the kinds of pieces.
constexpr std::uint8_t kSeen = 2;     // a run of that name
constexpr std::uint8_t kWaiting = 3;  // its aggregate, which has not all pieces near it
constexpr std::uint8_t kBare = 4;     // a folder that should hold its aggregate, and does not
constexpr std::string_view kLayoutLetters = "pbfma";

// What a worker does at a time.
struct Task {
  StoredRun run;
  // Where else in the store its pieces can be; nothing: not looked for yet.
  std::optional<std::array<std::vector<std::string>, 2>> elsewhere;
  std::optional<Place> archive;  // instead of a run: to be walked
};

// Between the walk, which is ahead by a little, and the workers.
class Tasks {
 public:
  void push(Task task) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [&] { return waiting_.size() < kMostWaiting || is_over_; });
    if (is_over_) return;
    waiting_.push_back(std::move(task));
    ++open_;
    has_task_.notify_one();
  }

  // Some at a time: most are short. None when there is none for a moment; is_over() tells whether
  // there will be.
  std::vector<Task> pop() {
    constexpr auto kMoment = std::chrono::milliseconds(100);
    std::unique_lock lock(mutex_);
    has_task_.wait_for(lock, kMoment, [&] { return !waiting_.empty() || is_over_; });
    const std::size_t count = std::min((waiting_.size() + kShare - 1) / kShare, kMostAtATime);
    std::vector<Task> tasks(
        std::make_move_iterator(waiting_.begin()),
        std::make_move_iterator(waiting_.begin() + static_cast<std::ptrdiff_t>(count)));
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
    has_room_.notify_one();
    return tasks;
  }
  void finished() {
    const std::lock_guard guard(mutex_);
    if (--open_ == 0) all_finished_.notify_all();
  }
  void wait_until_all_are_finished() {
    std::unique_lock lock(mutex_);
    all_finished_.wait(lock, [&] { return open_ == 0 || is_over_; });
  }

  void end(bool drop) {
    const std::lock_guard guard(mutex_);
    if (drop) waiting_.clear();
    is_over_ = true;
    has_task_.notify_all();
    has_room_.notify_all();
    all_finished_.notify_all();
  }
  bool is_over() {
    const std::lock_guard guard(mutex_);
    return is_over_ && waiting_.empty();
  }

 private:
  static constexpr std::size_t kMostWaiting = 256;
  static constexpr std::size_t kShare = 8;  // of what waits, leaving enough for the others
  static constexpr std::size_t kMostAtATime = 8;
  std::mutex mutex_;
  std::condition_variable has_task_;
  std::condition_variable has_room_;
  std::condition_variable all_finished_;
  std::deque<Task> waiting_;
  std::uint64_t open_ = 0;  // waiting or being worked on
  bool is_over_ = false;
};

class Backfiller {
 public:
  Backfiller(const BackfillRequest& request, const BackfillWatcher& watcher)
      : request_(request), watcher_(watcher), ledger_(request, watcher) {
    find_stores();
    find_output();
    allow_many_open_files();
  }

  BackfillCounts run() {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < request_.jobs; ++i) workers.emplace_back([this] { work(); });
    std::jthread watching([this](const std::stop_token& stop) { watch(stop); });
    guarded([&] {
      const StoreVisitor visitor = visitor_for([this](Task task) { tasks_.push(std::move(task)); });
      for (const Place& store : stores_) walk_store(store, visitor);
      tasks_.wait_until_all_are_finished();
      push_those_that_wait();
      ledger_.all_found();
    });
    tasks_.end(false);
    workers.clear();
    guarded([&] { writer_.wait(); });
    watching.request_stop();
    watching.join();
    if (fault_) std::rethrow_exception(fault_);
    return ledger_.progress().counts;
  }

 private:
  void find_stores() {
    std::set<std::string> names;
    for (const std::string& path : request_.stores) {
      const bool is_one = request_.stores.size() == 1;
      std::string below = is_one ? "" : path.substr(path.rfind('/') + 1);
      if (!is_one && !request_.revision.output.empty() && !names.insert(below).second) {
        throw Error(
            fmt::format("--output: two stores are called '{}'; run them one by one", below));
      }
      std::optional<Place> store = find_store(path, std::move(below));
      if (!store) throw Error(fmt::format("{}: is no folder and no archive", path));
      stores_.push_back(std::move(*store));
    }
  }

  void find_output() {
    struct stat status {};
    const std::string& output = request_.revision.output;
    if (output.empty() || ::stat(output.c_str(), &status) != 0) return;
    if (!S_ISDIR(status.st_mode)) throw Error(fmt::format("--output: {} is no folder", output));
    output_ = {status.st_dev, status.st_ino};
  }

  // The walk holds a folder open at each level, a batch two files for each run.
  static void allow_many_open_files() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65536);
    std::ignore = ::setrlimit(RLIMIT_NOFILE, &limit);
  }

  // What ends all: the first is thrown again at the end.
  template <typename Do>
  void guarded(Do action) {
    try {
      action();
    } catch (...) {
      const std::lock_guard guard(fault_mutex_);
      if (!fault_) fault_ = std::current_exception();
      tasks_.end(true);
    }
  }

  bool is_in_shard(const std::string& artifact) const {
    return text_hash(artifact) % request_.shards == request_.shard;
  }
  bool is_ours(const std::string& name, const std::string& artifact) const {
    if (!is_in_shard(artifact)) return false;
    return request_.only.empty() || ::fnmatch(request_.only.c_str(), name.c_str(), 0) == 0;
  }

  StoreVisitor visitor_for(std::function<void(Task)> take) {
    StoreVisitor visitor;
    // What is not ours is noted too: pieces may be anyone's.
    visitor.run = [this, take](const StoredRun& run) {
      if (run.layout == Layout::power_audit && !run.aggregate.tree) {
        return index_.add({kBare, run.name, place_text(run.folder)});
      }
      index_.add({kSeen, run.name, {}});
      if (!is_ours(run.name, run.artifact)) return;
      ledger_.add_found();
      take({run, std::nullopt, std::nullopt});
    };
    visitor.piece = [this](PieceKind kind, const std::string& name, const Place& place) {
      index_.add({static_cast<std::uint8_t>(kind), name, place_text(place)});
    };
    visitor.archive = [this, take](const Place& archive) {
      const auto artifact = artifact_run(archive);
      if (!artifact || is_in_shard(*artifact)) take({{}, std::nullopt, archive});
    };
    visitor.fault = [this](const Place& place, const std::string& what) {
      add_fault(place, Reason::folder_unreadable, what);
    };
    visitor.folder_link = [this] { ledger_.add_folder_link(); };
    visitor.skips = [this](const Place& folder) {
      struct stat status {};
      return output_ && !folder.tree->is_archive() && ::stat(folder.path.c_str(), &status) == 0 &&
             output_ == std::pair(status.st_dev, status.st_ino);
    };
    return visitor;
  }

  // A folder or archive of which nobody knows what runs it holds.
  void add_fault(const Place& place, Reason reason, const std::string& what) {
    Revision revision;
    revision.run.name = place.shown.substr(place.shown.rfind('/') + 1);
    if (!is_in_shard(artifact_run(place).value_or(revision.run.name))) return;
    revision.run.folder = place;
    revision.reasons.add(reason, what);
    std::string lines;
    ledger_.add_found();
    ledger_.add(revision, 0, lines);
    ledger_.write(lines);
  }

  // The second round: pieces from anywhere in the store.
  void push_those_that_wait() {
    index_.for_each_name([&](const std::string& name, const std::vector<IndexEntry>& entries) {
      std::array<std::vector<std::string>, 2> pieces;
      for (const IndexEntry& entry : entries) {
        if (entry.kind < pieces.size()) pieces[entry.kind].push_back(entry.text);
      }
      const auto has = [&](std::uint8_t kind) {
        return std::ranges::find(entries, kind, &IndexEntry::kind) != entries.end();
      };
      for (const IndexEntry& entry : entries) {
        if (entry.kind != kWaiting) continue;
        const Place aggregate = place_of(std::string_view(entry.text).substr(1));
        const auto layout = static_cast<Layout>(kLayoutLetters.find(entry.text[0]));
        tasks_.push({{name, name, layout, *aggregate.folder, aggregate}, pieces, std::nullopt});
      }
      if (has(kSeen) || !is_ours(name, name)) return;
      const auto bare = std::ranges::find(entries, kBare, &IndexEntry::kind);
      const auto& telemetry = pieces[static_cast<std::size_t>(PieceKind::telemetry)];
      if (bare != entries.end()) {
        push_bare({name, name, Layout::power_audit, place_of(bare->text), Place{}});
      } else if (!telemetry.empty()) {
        push_bare({name, name, Layout::bmk, *place_of(telemetry[0]).folder, Place{}});
      }
    });
  }

  // A run of which there is everything but an aggregate, anywhere.
  void push_bare(StoredRun run) {
    ledger_.add_found();
    tasks_.push({std::move(run), std::nullopt, std::nullopt});
  }

  void work() {
    guarded([&] {
      Batch batch(ledger_, writer_);
      while (true) {
        const std::vector<Task> tasks = tasks_.pop();
        if (tasks.empty()) {
          batch.flush();
          if (tasks_.is_over()) return;
        }
        for (const Task& task : tasks) {
          if (task.archive) {
            search(*task.archive, batch);
          } else {
            revise_one(task, batch);
          }
          tasks_.finished();
        }
      }
    });
  }

  void search(const Place& archive, Batch& batch) {
    const StoreVisitor visitor = visitor_for([&](Task task) {
      if (task.archive) {
        search(*task.archive, batch);
      } else {
        revise_one(task, batch);
      }
    });
    try {
      walk_archive(archive, visitor);
    } catch (const FileError& error) {
      add_fault(archive, Reason::archive_unreadable, error.what());
    }
  }

  bool needs_pieces(const StoredRun& run) const {
    return run.layout != Layout::multinode && run.layout != Layout::agentic && run.aggregate.tree &&
           (!run.aggregate.tree->is_archive() || !request_.revision.output.empty());
  }

  void revise_one(const Task& task, Batch& batch) {
    const auto start = Clock::now();
    const StoredRun& run = task.run;
    std::array<std::vector<Place>, 2> pieces;
    Revision revision;
    try {
      for (const PieceKind kind : {PieceKind::telemetry, PieceKind::benchmark_result}) {
        if (!needs_pieces(run)) continue;
        std::vector<Place>& found = pieces[static_cast<std::size_t>(kind)];
        found = nearby_pieces(run, kind);
        if (!found.empty()) continue;
        if (!task.elsewhere) return wait(run);
        for (const std::string& text : (*task.elsewhere)[static_cast<std::size_t>(kind)]) {
          found.push_back(place_of(text));
        }
      }
      revision = revise(run, std::move(pieces[0]), std::move(pieces[1]), request_.revision);
    } catch (const FileError& error) {
      revision.run = run;
      revision.reasons.add(Reason::archive_unreadable, error.what());
    }
    if (revision.publication && request_.dry_run) show_changes(revision);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (revision.publication && !request_.dry_run) {
      batch.add(std::move(revision), seconds);
    } else {
      batch.add_done(revision, seconds);
    }
  }

  void wait(const StoredRun& run) {
    const char layout = kLayoutLetters[static_cast<std::size_t>(run.layout)];
    index_.add({kWaiting, run.name, layout + place_text(run.aggregate)});
  }

  void show_changes(Revision& revision) {
    const Preview changes = preview(*revision.publication);
    note_writing_fault(revision, changes.reasons, changes.sidecar_fault, changes.denied);
    if (revision.outcome != Outcome::patched && revision.outcome != Outcome::not_valid) return;
    if (changes.changes) {
      ledger_.tell_changes(changes.lines);
    } else {
      revision.outcome = Outcome::unchanged;
    }
  }

  void watch(const std::stop_token& stop) {
    constexpr auto kTick = std::chrono::milliseconds(200);
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    while (!stopped.wait_for(lock, stop, kTick, [&] { return stop.stop_requested(); })) {
      watcher_.progress(ledger_.progress());
    }
  }

  const BackfillRequest& request_;
  const BackfillWatcher& watcher_;
  std::vector<Place> stores_;
  std::optional<std::pair<dev_t, ino_t>> output_;
  Ledger ledger_;
  BatchWriter writer_{ledger_};
  PieceIndex index_;
  Tasks tasks_;
  std::mutex fault_mutex_;
  std::exception_ptr fault_;
};

}  // namespace

std::uint64_t BackfillCounts::done() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : outcomes) sum += count;
  return sum;
}

BackfillCounts backfill(const BackfillRequest& request, const BackfillWatcher& watcher) {
  return Backfiller(request, watcher).run();
}

}  // namespace aggregate_power
