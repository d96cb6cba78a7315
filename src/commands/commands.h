// Every command of the program, in one table.
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
  Command (*make)();  // its options, its help and what it does
};

// The first row is the program without a command's name.
std::span<const CommandRow> command_rows();

// The names of the others.
std::vector<std::string_view> command_names();

// The one of the others with that name; null if there is none.
const CommandRow* find_command(std::string_view name);

// A command with what its row says.
Command make_command(const CommandRow& row);

std::vector<Command> all_commands();

}  // namespace aggregate_power
