// Recomputes many finished runs in parallel, and skips those that are up to date.
#pragma once

#include <memory>

#include "store/backfill/backfill_progress.h"
#include "store/backfill/backfill_request.h"

namespace aggregate_power {

class Backfill {
 public:
  // Checks the stores and the output, and reads the list of runs to its end. `request` and
  // `watcher` must outlive this object. Throws Error for wrong use (a missing store), FileError if
  // the report cannot be opened.
  Backfill(const BackfillRequest& request, const BackfillWatcher& watcher);
  ~Backfill();
  Backfill(const Backfill&) = delete;
  Backfill& operator=(const Backfill&) = delete;

  // Does the work; to be called exactly once. Faults of a run are counted and reported. After a
  // signal (base/interruption.h) no run is begun, those in progress are put in place or dropped,
  // and the counts are those of what was done. Throws FileError if the report cannot be written,
  // Error if the list of what was found cannot.
  BackfillResult run();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace aggregate_power
