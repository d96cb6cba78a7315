// Writes a result to its files and reports it to the caller.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "aggregate_power/result.h"
#include "core/record/transaction.h"

namespace aggregate_power {

// Lines for people without the program's name, and the exit status.
struct CommandOutput {
  int exit_status = 0;
  std::vector<std::string> out;
  std::string json;                   // on stdout, instead of `out`
  std::vector<std::string> warnings;  // on stderr, before the errors
  std::vector<std::string> err;
  // On stderr, too, and first: lines as the original prints them, without the program's name.
  std::vector<std::string> original_err = {};
};

// Receives what a run would write. Nothing is written or reported then.
using TakePlan = std::function<void(const WritePlan& plan)>;

struct DeliveryOptions {
  bool require_power = false;  // exit with status 1 if the run is not valid
  bool dry_run = false;        // report what would change; write nothing
  bool json = false;           // report the run as one JSON object instead
  TakePlan take = {};          // empty: the result is written
};

// Takes from the reasons of a result those that its caller accepts, and warns of each.
void accept_reasons(Result& result);

// Writes `result` to the files that `target` names. The rest of the plan is built from the result.
CommandOutput deliver(Result result, WritePlan target, const DeliveryOptions& options);

}  // namespace aggregate_power
