// Finds runs, hands them to workers, recomputes them, and hands them on.
#include "store/backfill/backfill.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/system/interruption.h"
#include "store/catalogue/layouts.h"
#include "store/catalogue/walk.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostWaiting = 256;
constexpr std::size_t kShare = 8;  // of what waits, leaving enough for the others
constexpr std::size_t kMostAtATime = 8;
constexpr auto kMoment = std::chrono::milliseconds(100);

void add_failure(BackfillState& state, const std::string& path, Reason reason,
                 const std::string& what) {
  Recomputed recomputed;
  recomputed.run.name = last_name(path);
  recomputed.run.folder.display = path;
  recomputed.reasons.add(reason, what);
  std::string lines;
  state.tally.add_found();
  state.tally.add(recomputed, 0, lines);
  state.tally.write(lines);
}

// A folder or archive whose runs are unknown.
void add_fault(BackfillState& state, const StorePath& place, const std::string& artifact,
               Reason reason, const std::string& what) {
  const Selection& selection = state.selection;
  const bool is_ours = artifact.empty()
                           ? selection.has_artifact(std::string(last_name(place.display)))
                           : selection.has_run(artifact, artifact);
  if (is_ours) add_failure(state, place.display, reason, what);
}

// Takes a run that was found and is selected.
void take_found(BackfillState& state, const StoredRun& run, const TakeTask& take) {
  state.tally.add_found();
  take({.run = run});
}

// Counts a line of the list that has no run. Only the shard of `key` does so.
void add_unfound(BackfillState& state, const std::string& line, const std::string& key,
                 const std::string& why) {
  if (state.selection.has_artifact(key)) {
    add_failure(state, line, Reason::run_not_found, line + ": " + why);
  }
}

StoreVisitor visitor_for(BackfillState& state, TakeTask take) {
  StoreVisitor visitor;
  // Runs that are not ours are noted too: pieces may belong to any run.
  visitor.run = [&state, take](const StoredRun& run) {
    if (!run.aggregate.tree) return state.met.add_bare(run);
    state.met.add_run(run);
    if (!state.selection.has_run(run.name, run.artifact)) return;
    state.list ? state.met.keep_found(run) : take_found(state, run, take);
  };
  visitor.piece = [&state](PieceKind kind, const std::string& name, const StorePath& place) {
    state.met.add_piece(kind, name, place);
  };
  visitor.recording = [&state](const StorePath& place) {
    const auto written_ns = place.tree->written_ns(place.path);
    if (written_ns) state.zone_cases.add_written(*written_ns, place.display);
  };
  visitor.archive = [&state, take](const StorePath& archive, const std::string& artifact) {
    if (!artifact.empty() && !state.selection.has_artifact(artifact)) return;
    take({.archive = archive, .artifact = artifact});
  };
  visitor.fault = [&state](const StorePath& place, const std::string& what) {
    add_fault(state, place, {}, Reason::folder_unreadable, what);
  };
  visitor.folder_link = [&state] { state.tally.add_folder_link(); };
  visitor.link_out = [&state](const StorePath& place) {
    state.tally.add_link_out(place.display + ": " + place.tree->way_out(place.path));
  };
  visitor.temporary = [&state](const StorePath& place) {
    const bool is_written_to = !state.options.dry_run && state.options.output.empty();
    if (is_written_to) remove_stale_temporaries(place.path);
  };
  return visitor;
}

std::string_view route_to(std::string_view path, const StorePath& place) {
  path.remove_prefix(place.display.size());
  return path.substr(std::min(path.find_first_not_of('/'), path.size()));
}

// Walks the way to one aggregate. If it is missing, the shard of `key` reports that.
template <typename WalkTheWay>
void follow(BackfillState& state, const std::string& path, const std::string& key,
            const TakeTask& take, const WalkTheWay& walk_the_way) {
  bool is_found = false;
  StoreVisitor visitor;
  visitor.run = [&](const StoredRun& run) {
    if (run.aggregate.display != path) return;
    is_found = true;
    if (state.selection.has_run(run.name, run.artifact)) take_found(state, run, take);
  };
  visitor.piece = [](PieceKind, const std::string&, const StorePath&) {};
  visitor.archive = [&](const StorePath& archive, const std::string& artifact) {
    if (route_to(path, archive).empty()) return;
    is_found = true;  // so far
    if (artifact.empty() || state.selection.has_artifact(artifact)) {
      take({.archive = archive, .artifact = artifact, .only_path = path});
    }
  };
  visitor.fault = [](const StorePath&, const std::string&) {};
  visitor.folder_link = [] {};
  visitor.temporary = [](const StorePath&) {};
  walk_the_way(visitor);
  if (!is_found) add_unfound(state, path, key, "no such aggregate");
}

void take_listed_paths(BackfillState& state, const TakeTask& take) {
  state.list->for_each_path([&](const std::string& path, const StorePath* store) {
    throw_if_interrupted();
    if (store == nullptr) return add_unfound(state, path, path, "is not in any of the stores");
    follow(state, path, path, take, [&](const StoreVisitor& visitor) {
      walk_store(*store, visitor, route_to(path, *store));
    });
  });
}

void push_kept(BackfillState& state, KeptRun kept, const MetName& met) {
  state.tasks.push({.run = std::move(kept.run),
                    .namesakes = met.namesakes,
                    .aggregate_text = std::move(kept.aggregate_text)});
}

// A name without any run: a run that lacks only its aggregate, or none at all.
void push_bare(BackfillState& state, const MetName& met) {
  const bool is_known = met.is_run || (!state.list && met.is_artifact);
  const bool is_wanted = !state.list || met.is_listed;
  if (is_known || !is_wanted || !state.selection.has_run(met.name, met.name)) return;
  if (met.bare) {
    take_found(state, *met.bare, [&](Task task) { state.tasks.push(std::move(task)); });
  } else if (met.is_listed) {
    add_unfound(state, met.name, met.name, "no such run");
  }
}

using Clock = std::chrono::steady_clock;

// A run whose pieces are known, because it waited for its zone.
Recomputed recompute_decidable(const StoredRun& run, const DecidableRun& decidable,
                               const RecomputeOptions& options) {
  const ZoneCase& zone_case = decidable.zone_case;
  OneNodePieces pieces;
  pieces.telemetry = {{store_path_of(zone_case.waiting_telemetry, options.access)},
                      zone_case.are_own};
  pieces.loads = {{store_path_of(zone_case.waiting_benchmark, options.access)}, zone_case.are_own};
  pieces.of_agents = layout_row(run.layout).is_of_agents;
  return recompute(run, pieces, options, &decidable.witnesses);
}

// Returns nullopt if some pieces are not near: then it waits until all stores have been searched.
std::optional<Recomputed> recompute_task(BackfillState& state, const Task& task) {
  StoredRun run = task.run;
  if (!task.aggregate_text.empty()) {
    run.aggregate = store_path_of(task.aggregate_text, state.options.access);
    run.folder = *run.aggregate.folder;
  }
  if (task.decidable) return recompute_decidable(run, *task.decidable, state.options);
  if (auto refusal = refused(run, state.options)) return refusal;
  const auto pieces = layout_row(run.layout).find_pieces(run, task.namesakes.get());
  if (!pieces) {
    state.met.keep_waiting(run);
    return std::nullopt;
  }
  return recompute(run, *pieces, state.options);
}

Recomputed unreadable(const StoredRun& run, const FileError& error) {
  Recomputed recomputed;
  recomputed.run.name = run.name;
  recomputed.run.layout = run.layout;
  recomputed.run.folder.display = run.folder.display;
  recomputed.reasons.add(Reason::archive_unreadable, error.what());
  return recomputed;
}

// Whether others of its recorder must be read first. Every run that is evidence for a zone is
// noted.
bool must_wait_for_zone(BackfillState& state, const Task& task, Recomputed& recomputed) {
  if (!recomputed.zone_case) return false;
  if (task.decidable) {
    recomputed.zone_standing = task.decidable->standing;
    return false;
  }
  state.zone_cases.add(*recomputed.zone_case, recomputed.run, recomputed.aggregate_text);
  return recomputed.zone_case->waits();
}

// For a dry run.
void show_changes(Tally& tally, Recomputed& recomputed) {
  Preview changes = preview(*recomputed.plan);
  note_writing_faults(recomputed, changes);
  if (!recomputed.is_written()) return;
  if (!changes.changes) {
    recomputed.outcome = Outcome::unchanged;
    return;
  }
  const std::string& aggregate = recomputed.run.aggregate.display;
  if (!recomputed.valid) {
    changes.lines.push_back(fmt::format("{}: not valid: {}", aggregate, recomputed.reasons.text()));
  }
  tally.add_changes(aggregate, changes.lines);
}

void do_run(BackfillState& state, const Task& task, CommitBatch& batch) {
  const auto start = Clock::now();
  std::optional<Recomputed> recomputed;
  try {
    recomputed = recompute_task(state, task);
  } catch (const FileError& error) {
    recomputed = unreadable(task.run, error);
  }
  if (!recomputed || must_wait_for_zone(state, task, *recomputed)) return;
  const bool is_dry = state.options.dry_run;
  if (recomputed->plan && is_dry) show_changes(state.tally, *recomputed);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (recomputed->plan && !is_dry) {
    batch.add(std::move(*recomputed), seconds);
  } else {
    batch.add_done(*recomputed, seconds);
  }
}

void do_task(BackfillState& state, const Task& task, CommitBatch& batch) {
  if (!task.archive) return do_run(state, task, batch);
  batch.flush();  // nobody should wait for its locks meanwhile
  search_archive(state, task, [&](const Task& found) { do_task(state, found, batch); });
}

}  // namespace

void TaskQueue::push(Task task) {
  std::unique_lock lock(mutex_);
  has_room_.wait(lock, [&] { return waiting_.size() < kMostWaiting || is_over_; });
  if (is_over_) return;
  waiting_.push_back(std::move(task));
  ++open_;
  has_task_.notify_one();
}

std::vector<Task> TaskQueue::pop() {
  std::unique_lock lock(mutex_);
  has_task_.wait_for(lock, kMoment, [&] { return !waiting_.empty() || is_over_; });
  const std::size_t count = std::min((waiting_.size() + kShare - 1) / kShare, kMostAtATime);
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Task> tasks(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  has_room_.notify_one();
  return tasks;
}

void TaskQueue::finished() {
  const std::lock_guard guard(mutex_);
  if (--open_ == 0) all_finished_.notify_all();
}

void TaskQueue::wait_until_all_are_finished() {
  std::unique_lock lock(mutex_);
  all_finished_.wait(lock, [&] { return open_ == 0 || is_over_; });
}

void TaskQueue::end(bool drop) {
  const std::lock_guard guard(mutex_);
  if (drop) waiting_.clear();
  is_over_ = true;
  has_task_.notify_all();
  has_room_.notify_all();
  all_finished_.notify_all();
}

bool TaskQueue::is_over() {
  const std::lock_guard guard(mutex_);
  return is_over_ && waiting_.empty();
}

BackfillState::BackfillState(const BackfillRequest& asked, const BackfillWatcher& watcher)
    : request(asked),
      options(asked.recompute),
      selection{asked.shard, asked.shards, asked.only},
      tally(asked, watcher),
      stores(stores_to_walk(asked.stores, options.output, options.access)) {
  if (!options.output.empty()) require_output_outside(options.output, stores);
  if (request.runs.empty()) return;
  try {
    list.emplace(request.runs, stores, [this](const std::string& name) { met.add_listed(name); });
  } catch (const FileError& error) {
    throw Error(fmt::format("--runs: {}", error.what()));
  }
  // The walk looks for the names on the list. Without names there is no walk.
  options.is_searched = list->has_names();
}

void walk_stores(BackfillState& state) {
  const TakeTask push = [&state](Task task) { state.tasks.push(std::move(task)); };
  if (state.list) take_listed_paths(state, push);
  if (!state.options.is_searched) return;
  const StoreVisitor visitor = visitor_for(state, push);
  for (const StorePath& store : state.stores) walk_store(store, visitor);
}

void push_those_that_wait(BackfillState& state) {
  state.met.for_each_name([&](MetName met) {
    throw_if_interrupted();
    for (KeptRun& kept : met.waiting) push_kept(state, std::move(kept), met);
    if (met.is_listed) {
      for (KeptRun& kept : met.found) {
        state.tally.add_found();
        push_kept(state, std::move(kept), met);
      }
    }
    push_bare(state, met);
  });
}

void push_those_without_zone(BackfillState& state) {
  const bool is_whole = !state.list && state.selection.only.empty();
  const ZoneCases::Seen seen{.labelled_runs = is_whole,
                             .other_runs = is_whole && state.selection.shards == 1,
                             .files = state.options.is_searched};
  state.zone_cases.for_each_that_waits(seen, [&](DecidableRun run) {
    Task task;
    task.run = run.run;
    task.aggregate_text = run.aggregate_text;
    task.decidable = std::make_shared<const DecidableRun>(std::move(run));
    state.tasks.push(std::move(task));
  });
}

void search_archive(BackfillState& state, const Task& task, const TakeTask& take) {
  const StorePath& archive = *task.archive;
  try {
    if (task.only_path.empty()) {
      return walk_archive(archive, task.artifact, visitor_for(state, take));
    }
    const std::string& key = task.artifact.empty() ? task.only_path : task.artifact;
    follow(state, task.only_path, key, take, [&](const StoreVisitor& visitor) {
      walk_archive(archive, task.artifact, visitor, route_to(task.only_path, archive));
    });
  } catch (const FileError& error) {
    add_fault(state, archive, task.artifact, Reason::archive_unreadable, error.what());
  }
}

void do_tasks(BackfillState& state, CommitBatch& batch) {
  while (true) {
    const std::vector<Task> tasks = state.tasks.pop();
    if (tasks.empty()) {
      batch.flush();
      if (state.tasks.is_over()) return;
    }
    for (const Task& task : tasks) {
      throw_if_interrupted();
      do_task(state, task, batch);
      state.tasks.finished();
    }
  }
}

}  // namespace aggregate_power
