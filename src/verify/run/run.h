// Undoes what one pass of a backfill wrote, by its report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files/tree.h"

namespace aggregate_power {

enum class UndoOutcome {
  removed,        // the aggregate has no members of ours any more, its record is gone
  restored,       // the aggregate has the members of ours that it had before; its record is gone
  undone_before,  // nothing of the pass is there
  changed,        // the aggregate or its record was changed since, and both stay
  missing,        // there is no such aggregate
  failed,         // it could not be written
};
inline constexpr int kUndoOutcomes = 6;
std::string_view undo_outcome_name(UndoOutcome outcome);

struct UndoneRun {
  std::string aggregate;  // as the report names it
  UndoOutcome outcome = UndoOutcome::changed;
  std::string why;                   // of one that was not undone
  bool lost_record = false;          // the pass had replaced an earlier record
  std::vector<std::string> changes;  // of a dry run, for people
};

// Each aggregate that the report says was patched, with or without valid power, in the order of the
// report. Their store is the current folder, from which the report names them. Throws Error if it
// is not the report of a backfill, FileError if it cannot be read.
std::vector<UndoneRun> undo_backfill(const std::string& report, const StoreAccess& access,
                                     bool dry_run);

}  // namespace aggregate_power
