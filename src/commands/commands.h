// Every command of the program.
#pragma once

#include <vector>

#include "commands/command.h"

namespace aggregate_power {

Command aggregate_command();
Command agentic_command();
Command backfill_command();
Command inspect_command();
Command multinode_command();
Command synthesize_command();

// All of them; the first has no name of its own.
std::vector<Command> all_commands();

}  // namespace aggregate_power
