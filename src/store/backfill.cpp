// Many finished runs.
#include "store/backfill.h"

#include <fnmatch.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "base/interruption.h"
#include "store/artifact_names.h"
#include "store/commit_batch.h"
#include "store/disk_index.h"
#include "store/distinct_stores.h"
#include "store/layouts.h"
#include "store/run_list.h"
#include "store/store.h"
#include "store/tally.h"
#include "store/task_queue.h"
#include "store/zone_cases.h"

namespace aggregate_power {
namespace {

using Clock = std::chrono::steady_clock;

// What the index is told, besides the kinds of pieces.
constexpr std::uint8_t kSeen = 2;     // a run of that name
constexpr std::uint8_t kWaiting = 3;  // its aggregate, which has not all pieces near it
constexpr std::uint8_t kBare = 4;     // a folder that could hold its aggregate, and does not
constexpr std::uint8_t kListed = 5;   // its name is on the list of runs
constexpr std::uint8_t kFound = 6;    // its aggregate, which is worked on if it is on that list
constexpr const char* kOfArtifact = "artifact";  // seen: not a run, but what it lies in

}  // namespace

class Backfill::Work {
 public:
  Work(const BackfillRequest& request, const BackfillWatcher& watcher)
      : request_(request),
        watcher_(watcher),
        options_(request.recompute),
        tally_(request, watcher) {
    find_stores();
    check_output();
    if (!request.runs.empty()) read_list();
    allow_many_open_files();
  }

  BackfillResult run() {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < request_.jobs; ++i) workers.emplace_back([this] { work(); });
    std::jthread watching([this](const std::stop_token& stop) { watch(stop); });
    guarded([&] {
      if (list_) take_listed_paths();
      if (options_.is_searched) {
        const StoreVisitor visitor = visitor_for(push());
        for (const StorePath& store : stores_) walk_store(store, visitor);
      }
      tasks_.wait_until_all_are_finished();
      if (tasks_.is_over()) return;
      push_those_that_wait();
      tasks_.wait_until_all_are_finished();
      if (tasks_.is_over()) return;  // workers may still be at it
      push_those_without_zone();
      tally_.all_found();
    });
    tasks_.end(false);
    workers.clear();
    guarded([&] { writer_.wait(); });
    watching.request_stop();
    watching.join();
    if (fault_) std::rethrow_exception(fault_);
    return tally_.result();
  }

 private:
  void find_stores() {
    for (const std::string& path : request_.stores) {
      if (!find_store(path, "")) throw Error(fmt::format("{}: is no folder and no archive", path));
    }
    std::set<std::string> names;
    const std::vector<NamedStore> stores = distinct_stores(request_.stores);
    const bool is_one = stores.size() == 1;
    for (const auto& [path, real] : stores) {
      std::string below = is_one ? "" : std::string(last_name(real));
      if (!is_one && !request_.recompute.output.empty() && !names.insert(below).second) {
        throw Error(
            fmt::format("--output: two stores are called '{}'; run them one by one", below));
      }
      stores_.push_back(find_store(path, std::move(below)).value());
    }
  }

  // Names meet the runs that the walk finds in the index. Without any there is no walk.
  void read_list() {
    const auto take_name = [this](const std::string& name) { index_.add({kListed, name, {}}); };
    try {
      list_.emplace(request_.runs, stores_, take_name);
    } catch (const FileError& error) {
      throw Error(fmt::format("--runs: {}", error.what()));
    }
    options_.is_searched = list_->has_names();
  }

  void take_listed_paths() {
    list_->for_each_path([&](const std::string& path, const StorePath* store) {
      throw_if_interrupted();
      if (store == nullptr) return add_unfound(path, path, "is not below any of the stores");
      follow(path, path, push(), [&](const StoreVisitor& visitor) {
        walk_store(*store, visitor, route_to(path, *store));
      });
    });
  }

  static std::string_view route_to(std::string_view path, const StorePath& place) {
    path.remove_prefix(place.display.size());
    return path.substr(std::min(path.find_first_not_of('/'), path.size()));
  }

  // Walks the way to one aggregate. When it is not there the shard of `key` says so.
  template <typename WalkTheWay>
  void follow(const std::string& path, const std::string& key,
              const std::function<void(Task)>& take, const WalkTheWay& walk_the_way) {
    bool is_found = false;
    StoreVisitor visitor;
    visitor.run = [&](const StoredRun& run) {
      if (run.aggregate.display != path) return;
      is_found = true;
      if (is_ours(run.name, run.artifact)) take_found(run, take);
    };
    visitor.piece = [](PieceKind, const std::string&, const StorePath&) {};
    visitor.archive = [&](const StorePath& archive, const std::string& artifact) {
      if (route_to(path, archive).empty()) return;
      is_found = true;  // so far
      if (artifact.empty() || is_in_shard(artifact)) {
        take({.archive = archive, .artifact = artifact, .only_path = path});
      }
    };
    visitor.fault = [](const StorePath&, const std::string&) {};
    visitor.folder_link = [] {};
    walk_the_way(visitor);
    if (!is_found) add_unfound(path, key, "there is no such aggregate");
  }

  void add_unfound(const std::string& line, const std::string& key, const std::string& why) {
    if (is_in_shard(key)) add_failure(line, Reason::run_not_found, line + ": " + why);
  }

  // What was written must not be found as if it had been there.
  void check_output() const {
    const std::string& output = request_.recompute.output;
    if (output.empty()) return;
    const std::string target = resolve_what_is_there(output);
    std::filesystem::path there = target;
    std::error_code ignored;
    while (!std::filesystem::exists(there, ignored)) there = there.parent_path();
    if (!disk_tree()->has_folder(there)) {
      throw Error(
          fmt::format("--output: {} is no folder; give a folder, or a new name", there.string()));
    }
    for (const StorePath& store : stores_) {
      if (is_in(target, resolve_links(store.path))) {
        throw Error(fmt::format("--output: {} lies in the store {}; give a folder outside of it",
                                output, store.path));
      }
    }
  }

  // The walk holds a folder open at each level, a batch three files for each run.
  void allow_many_open_files() {
    constexpr rlim_t kEnough = 65536;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = std::min(limit.rlim_max, kEnough);
    std::ignore = ::setrlimit(RLIMIT_NOFILE, &limit);
    runs_in_a_batch_ = runs_in_a_batch(static_cast<std::size_t>(limit.rlim_cur), request_.jobs);
  }

  // What ends all: the first fault is thrown again at the end.
  template <typename Do>
  void guarded(Do action) {
    try {
      action();
    } catch (const Interrupted&) {
      tasks_.end(true);
    } catch (...) {
      const std::lock_guard guard(fault_mutex_);
      if (!fault_) fault_ = std::current_exception();
      tasks_.end(true);
    }
  }

  // Runs of one recorder stay together: they are each other's witnesses.
  bool is_in_shard(const std::string& artifact) const {
    const std::string_view label = recorder_label(artifact);
    return text_hash(label.empty() ? artifact : label) % request_.shards == request_.shard;
  }
  bool is_ours(const std::string& name, const std::string& artifact) const {
    if (!is_in_shard(artifact)) return false;
    return request_.only.empty() || ::fnmatch(request_.only.c_str(), name.c_str(), 0) == 0;
  }

  std::function<void(Task)> push() {
    return [this](Task task) { tasks_.push(std::move(task)); };
  }

  void take_found(const StoredRun& run, const std::function<void(Task)>& take) {
    tally_.add_found();
    take({.run = run});
  }

  StoreVisitor visitor_for(std::function<void(Task)> take) {
    StoreVisitor visitor;
    // What is not ours is noted too: pieces may be anyone's.
    visitor.run = [this, take](const StoredRun& run) {
      if (!run.aggregate.tree) {
        return index_.add({kBare, run.name, letter(run.layout) + store_path_text(run.folder)});
      }
      index_.add({kSeen, run.name, {}});
      // One artifact may be that of several runs.
      if (run.artifact != run.name) index_.add({kSeen, run.artifact, kOfArtifact});
      if (!is_ours(run.name, run.artifact)) return;
      list_ ? keep(kFound, run) : take_found(run, take);
    };
    visitor.piece = [this](PieceKind kind, const std::string& name, const StorePath& place) {
      index_.add({static_cast<std::uint8_t>(kind), name, store_path_text(place)});
    };
    visitor.recording = [this](const StorePath& place) {
      const auto written_ns = place.tree->written_ns(place.path);
      if (written_ns) zone_cases_.add_written(*written_ns, place.display);
    };
    visitor.archive = [this, take](const StorePath& archive, const std::string& artifact) {
      if (!artifact.empty() && !is_in_shard(artifact)) return;
      take({.archive = archive, .artifact = artifact});
    };
    visitor.fault = [this](const StorePath& place, const std::string& what) {
      add_fault(place, {}, Reason::folder_unreadable, what);
    };
    visitor.folder_link = [this] { tally_.add_folder_link(); };
    visitor.temporary = [this](const StorePath& place) {
      const bool is_written_to = !request_.recompute.dry_run && request_.recompute.output.empty();
      if (is_written_to) remove_stale_temporaries(place.path);
    };
    return visitor;
  }

  // A folder or archive of which nobody knows what runs it holds.
  void add_fault(const StorePath& place, const std::string& artifact, Reason reason,
                 const std::string& what) {
    const std::string name(last_name(place.display));
    const bool is_elsewhere = artifact.empty() ? !is_in_shard(name) : !is_ours(artifact, artifact);
    if (!is_elsewhere) add_failure(place.display, reason, what);
  }

  void add_failure(const std::string& path, Reason reason, const std::string& what) {
    Recomputed recomputed;
    recomputed.run.name = last_name(path);
    recomputed.run.folder.display = path;
    recomputed.reasons.add(reason, what);
    std::string lines;
    tally_.add_found();
    tally_.add(recomputed, 0, lines);
    tally_.write(lines);
  }

  static std::string letter(Layout layout) { return {layout_row(layout).letter}; }
  static Layout layout_of(std::string_view text) { return layout_of_letter(text[0]); }

  // The second round: pieces from anywhere in the store.
  void push_those_that_wait() {
    index_.for_each_name([&](const std::string& name, const std::vector<IndexEntry>& entries) {
      throw_if_interrupted();
      Namesakes found;
      for (const IndexEntry& entry : entries) {
        found.runs += entry.kind == kSeen;
        // One too many says that there are too many.
        auto& pieces = found.pieces;
        if (entry.kind >= pieces.size() || pieces[entry.kind].size() > kMostCandidates) continue;
        pieces[entry.kind].push_back(entry.text);
      }
      const auto namesakes = std::make_shared<const Namesakes>(std::move(found));
      const auto has = [&](std::uint8_t kind, const std::string& text) {
        return std::ranges::any_of(entries, [&](const IndexEntry& entry) {
          return entry.kind == kind && entry.text == text;
        });
      };
      const bool is_listed = has(kListed, {});
      for (const IndexEntry& entry : entries) {
        if (entry.kind != kWaiting && !(entry.kind == kFound && is_listed)) continue;
        if (entry.kind == kFound) tally_.add_found();
        push_kept(entry, namesakes);
      }
      const bool is_known = has(kSeen, {}) || (!list_ && has(kSeen, kOfArtifact));
      if (is_known || (list_ && !is_listed) || !is_ours(name, name)) return;
      const bool is_bare = push_bare(name, entries);
      if (is_listed && !is_bare) add_unfound(name, name, "there is no such run");
    });
  }

  // The third round: zones that the runs of a recorder decide together.
  void push_those_without_zone() {
    const bool is_whole = !list_ && request_.only.empty();
    const ZoneCases::Seen seen{.labelled_runs = is_whole,
                               .other_runs = is_whole && request_.shards == 1,
                               .files = options_.is_searched};
    zone_cases_.for_each_that_waits(seen, [&](DecidableRun run) {
      Task task;
      task.run = run.run;
      task.aggregate_text = run.aggregate_text;
      task.decidable = std::make_shared<const DecidableRun>(std::move(run));
      tasks_.push(std::move(task));
    });
  }

  void push_kept(const IndexEntry& entry, const std::shared_ptr<const Namesakes>& namesakes) {
    StoredRun run;
    run.name = entry.name;
    run.layout = layout_of(entry.text);
    const std::size_t artifact_end = entry.text.find('/');
    run.artifact = entry.text.substr(1, artifact_end - 1);
    tasks_.push({.run = std::move(run),
                 .namesakes = namesakes,
                 .aggregate_text = entry.text.substr(artifact_end + 1)});
  }

  // A run of which there is everything but an aggregate, anywhere. False: there is not.
  bool push_bare(const std::string& name, const std::vector<IndexEntry>& entries) {
    constexpr auto kTelemetry = static_cast<std::uint8_t>(PieceKind::telemetry);
    StoredRun run;
    run.name = name;
    for (const IndexEntry& entry : entries) {
      if (entry.kind == kTelemetry && run.folder.display.empty()) {
        run.layout = Layout::bmk;
        run.folder.display = display_of(entry.text);
      } else if (entry.kind == kBare) {
        run.layout = layout_of(entry.text);
        run.folder.display = display_of(std::string_view(entry.text).substr(1));
      }
    }
    if (run.folder.display.empty()) return false;
    take_found(run, push());
    return true;
  }

  // After a signal the run in hand is dropped; those that only wait to be put in place are not.
  void work() {
    guarded([&] {
      CommitBatch batch(tally_, writer_, runs_in_a_batch_);
      guarded([&] { do_tasks(batch); });
      batch.flush();
    });
  }

  void do_tasks(CommitBatch& batch) {
    while (true) {
      const std::vector<Task> tasks = tasks_.pop();
      if (tasks.empty()) {
        batch.flush();
        if (tasks_.is_over()) return;
      }
      for (const Task& task : tasks) {
        throw_if_interrupted();
        if (task.archive) {
          search(task, batch);
        } else {
          recompute_one(task, batch);
        }
        tasks_.finished();
      }
    }
  }

  void search(const Task& task, CommitBatch& batch) {
    batch.flush();  // no one shall wait for its locks meanwhile
    const StorePath& archive = *task.archive;
    const auto take = [&](const Task& found) {
      found.archive ? search(found, batch) : recompute_one(found, batch);
    };
    try {
      if (task.only_path.empty()) {
        walk_archive(archive, task.artifact, visitor_for(take));
      } else {
        const std::string& key = task.artifact.empty() ? task.only_path : task.artifact;
        follow(task.only_path, key, take, [&](const StoreVisitor& visitor) {
          walk_archive(archive, task.artifact, visitor, route_to(task.only_path, archive));
        });
      }
    } catch (const FileError& error) {
      add_fault(archive, task.artifact, Reason::archive_unreadable, error.what());
    }
  }

  void recompute_one(const Task& task, CommitBatch& batch) {
    const auto start = Clock::now();
    std::optional<Recomputed> recomputed;
    try {
      recomputed = try_to_revise(task);
    } catch (const FileError& error) {
      recomputed.emplace();
      recomputed->run.name = task.run.name;
      recomputed->run.layout = task.run.layout;
      recomputed->run.folder.display = task.run.folder.display;
      recomputed->reasons.add(Reason::archive_unreadable, error.what());
    }
    if (!recomputed || must_wait_for_zone(*recomputed, task)) return;
    if (recomputed->plan && request_.recompute.dry_run) show_changes(*recomputed);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (recomputed->plan && !request_.recompute.dry_run) {
      batch.add(std::move(*recomputed), seconds);
    } else {
      batch.add_done(*recomputed, seconds);
    }
  }

  // Whether others of its recorder must be seen first. All that say something of a zone are noted.
  bool must_wait_for_zone(Recomputed& recomputed, const Task& task) {
    if (!recomputed.zone_case) return false;
    if (task.decidable) {
      recomputed.zone_standing = task.decidable->standing;
      return false;
    }
    zone_cases_.add(*recomputed.zone_case, recomputed.run, recomputed.aggregate_text);
    return recomputed.zone_case->waits();
  }

  // Nothing: not all pieces are near, and it waits until all of the store was seen.
  std::optional<Recomputed> try_to_revise(const Task& task) {
    StoredRun run = task.run;
    if (!task.aggregate_text.empty()) {
      run.aggregate = store_path_of(task.aggregate_text);
      run.folder = *run.aggregate.folder;
    }
    if (task.decidable) return revise_decidable(run, *task.decidable);
    if (auto refusal = refused(run, options_)) return refusal;
    auto pieces = layout_row(run.layout).find_pieces(run, task.namesakes.get());
    if (!pieces) {
      keep(kWaiting, run);
      return std::nullopt;
    }
    return recompute(run, std::move(*pieces), options_);
  }

  Recomputed revise_decidable(const StoredRun& run, const DecidableRun& decidable) const {
    const ZoneCase& zone_case = decidable.zone_case;
    OneNodePieces pieces;
    pieces.telemetry = {{store_path_of(zone_case.waiting_telemetry)}, zone_case.are_own};
    pieces.loads = {{store_path_of(zone_case.waiting_benchmark)}, zone_case.are_own};
    pieces.of_agents = layout_row(run.layout).is_of_agents;
    return recompute(run, std::move(pieces), options_, &decidable.witnesses);
  }

  void keep(std::uint8_t kind, const StoredRun& run) {
    // No name of a folder holds a slash.
    index_.add(
        {kind, run.name,
         fmt::format("{}{}/{}", letter(run.layout), run.artifact, store_path_text(run.aggregate))});
  }

  void show_changes(Recomputed& recomputed) {
    Preview changes = preview(*recomputed.plan);
    note_writing_faults(recomputed, changes);
    if (recomputed.outcome != Outcome::patched && recomputed.outcome != Outcome::not_valid) return;
    if (changes.changes) {
      if (!recomputed.valid) {
        changes.lines.push_back(fmt::format("{}: not valid: {}", recomputed.run.aggregate.display,
                                            recomputed.reasons.text()));
      }
      tally_.add_changes(recomputed.run.aggregate.display, changes.lines);
    } else {
      recomputed.outcome = Outcome::unchanged;
    }
  }

  void watch(const std::stop_token& stop) {
    constexpr auto kTick = std::chrono::milliseconds(200);
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    while (!stopped.wait_for(lock, stop, kTick, [&] { return stop.stop_requested(); })) {
      if (interrupting_signal() != 0) tasks_.end(true);
      watcher_.progress(tally_.progress());
    }
  }

  const BackfillRequest& request_;
  const BackfillWatcher& watcher_;
  RecomputeOptions options_;
  std::vector<StorePath> stores_;
  std::optional<RunList> list_;  // nothing: all of the stores is wanted
  std::size_t runs_in_a_batch_ = 1;
  Tally tally_;
  BatchCommitter writer_{tally_};
  DiskIndex index_;
  ZoneCases zone_cases_;
  TaskQueue tasks_;
  std::mutex fault_mutex_;
  std::exception_ptr fault_;
};

std::uint64_t BackfillCounts::done() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : outcomes) sum += count;
  return sum;
}

void RunsOfReason::add(const std::string& name) {
  constexpr std::size_t kMostNames = 3;
  ++runs;
  first_names.insert(name);
  if (first_names.size() > kMostNames) first_names.erase(std::prev(first_names.end()));
}

Backfill::Backfill(const BackfillRequest& request, const BackfillWatcher& watcher)
    : work_(std::make_unique<Work>(request, watcher)) {}

Backfill::~Backfill() = default;

BackfillResult Backfill::run() { return work_->run(); }

}  // namespace aggregate_power
