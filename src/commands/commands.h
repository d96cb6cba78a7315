// The table of all commands of the program.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command.h"

namespace aggregate_power {

struct CommandRow {
  std::string_view name;   // "backfill"; empty for the program without a command's name
  std::string_view usage;  // after the name, on one line
  std::string_view sentence;
  Command (*make)();  // creates its options, its help and its function
};

// The first row is the program without a command's name.
std::span<const CommandRow> command_rows();

// The names of the other commands.
std::vector<std::string_view> command_names();

// The named one of the other commands; null if there is none.
const CommandRow* find_command(std::string_view name);

// A command, completed from its row.
Command make_command(const CommandRow& row);

std::vector<Command> all_commands();

}  // namespace aggregate_power
