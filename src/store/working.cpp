// Recomputes the runs of tasks, and hands them on.
#include "store/working.h"

#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/interruption.h"
#include "store/layouts.h"
#include "store/recompute.h"

namespace aggregate_power {
namespace {

using Clock = std::chrono::steady_clock;

// A run whose pieces are known, because it waited for its zone.
Recomputed recompute_decidable(const StoredRun& run, const DecidableRun& decidable,
                               const RecomputeOptions& options) {
  const ZoneCase& zone_case = decidable.zone_case;
  OneNodePieces pieces;
  pieces.telemetry = {{store_path_of(zone_case.waiting_telemetry)}, zone_case.are_own};
  pieces.loads = {{store_path_of(zone_case.waiting_benchmark)}, zone_case.are_own};
  pieces.of_agents = layout_row(run.layout).is_of_agents;
  return recompute(run, pieces, options, &decidable.witnesses);
}

// Returns nullopt if some pieces are not near: then it waits until all stores have been searched.
std::optional<Recomputed> recompute_task(BackfillState& state, const Task& task) {
  StoredRun run = task.run;
  if (!task.aggregate_text.empty()) {
    run.aggregate = store_path_of(task.aggregate_text);
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
  if (recomputed.outcome != Outcome::patched && recomputed.outcome != Outcome::not_valid) return;
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
