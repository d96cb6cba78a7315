// Sets up the shared state from the request.
#include "store/backfill_state.h"

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "store/backfill_places.h"

namespace aggregate_power {

BackfillState::BackfillState(const BackfillRequest& asked, const BackfillWatcher& watcher)
    : request(asked),
      options(asked.recompute),
      selection{asked.shard, asked.shards, asked.only},
      tally(asked, watcher),
      stores(stores_to_walk(asked.stores, options.output)) {
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

}  // namespace aggregate_power
