// The table of all commands of the program.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "commands/options/command.h"

namespace aggregate_power {

// What people want when they look for a command.
enum class CommandGroup { measure, look, decide, past, pipelines };

struct CommandRow {
  std::string_view name;  // "backfill"
  CommandGroup group;
  std::string_view summary;  // a few words
  // The names of the options that people use, with blanks between them; empty: all of them.
  std::string_view common;
  std::string_view usage;  // after the name, on one line
  std::string_view sentence;
  Command (*make)();  // creates its options, its help and its function
};

// Sorted by name. Options without a name are the options of "patch".
std::span<const CommandRow> command_rows();

// The names of the commands.
std::vector<std::string_view> command_names();

// The named one; null if there is none.
const CommandRow* find_command(std::string_view name);

// A command, completed from its row.
Command make_command(const CommandRow& row);

std::vector<Command> all_commands();

}  // namespace aggregate_power
