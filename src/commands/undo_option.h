// backfill --undo: takes back what one pass wrote.
#pragma once

#include <string>

#include "base/files/tree.h"
#include "commands/options.h"

namespace aggregate_power {

void add_undo_option(Options& options, std::string& report);
// Throws Error for an option that has no effect beside it.
void settle_undo(const Options& options);

// Returns the exit status. Throws Error.
int undo_by_report(const std::string& report, const StoreAccess& access, bool dry_run);

}  // namespace aggregate_power
