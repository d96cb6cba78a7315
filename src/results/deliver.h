// A finished run to its files, and to what its caller is told.
#pragma once

#include <string>
#include <vector>

#include "aggregate_power/reason.h"
#include "results/transaction.h"

namespace aggregate_power {

// What to tell the caller: lines for people without the program's name, and the exit status.
struct CommandOutput {
  int exit_status = 0;
  std::vector<std::string> out;
  std::vector<std::string> err;
};

struct FinishedRun {
  Reasons reasons;                 // empty: valid
  WritePlan plan;                  // its `sidecar` says what `reasons` says
  std::string success_line;        // what is said of a valid run
  Reasons causes;                  // what is behind the reasons: only their remedies are said
  std::vector<std::string> hints;  // said last of a run that is not valid
  std::vector<std::string> warnings;
};

struct DeliveryOptions {
  bool require_power = false;  // the status of a run that is not valid is 1
  bool dry_run = false;        // says what would change, and writes nothing
};

CommandOutput deliver(const FinishedRun& run, const DeliveryOptions& options);

}  // namespace aggregate_power
