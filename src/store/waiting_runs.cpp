// Pushes the runs of the second and third rounds.
#include "store/waiting_runs.h"

#include <memory>
#include <utility>

#include "base/interruption.h"
#include "store/walking.h"

namespace aggregate_power {
namespace {

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

}  // namespace

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

}  // namespace aggregate_power
