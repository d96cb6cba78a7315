// A result to its files, and to what the caller is told.
#pragma once

#include <string>
#include <vector>

#include "aggregate_power/result.h"
#include "results/transaction.h"

namespace aggregate_power {

// Lines for people without the program's name, and the exit status.
struct CommandOutput {
  int exit_status = 0;
  std::vector<std::string> out;
  std::vector<std::string> err;
};

struct DeliveryOptions {
  bool require_power = false;  // the status of a run that is not valid is 1
  bool dry_run = false;        // says what would change, and writes nothing
};

// Writes `result` to the files that `target` names; what is written comes from the result.
CommandOutput deliver(Result result, WritePlan target, const DeliveryOptions& options);

}  // namespace aggregate_power
