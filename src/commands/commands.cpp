// Every command of the program.
#include "commands/commands.h"

namespace aggregate_power {

std::vector<Command> all_commands() {
  std::vector<Command> commands;
  commands.push_back(aggregate_command());
  commands.push_back(agentic_command());
  commands.push_back(backfill_command());
  commands.push_back(inspect_command());
  commands.push_back(multinode_command());
  commands.push_back(synthesize_command());
  return commands;
}

}  // namespace aggregate_power
