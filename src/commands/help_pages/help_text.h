// The text of a command's --help.
#pragma once

#include <cstddef>
#include <string>

#include "commands/options/command.h"

namespace aggregate_power {

// Usage, sentence, the options that people use, examples, exit statuses and notes, in lines of at
// most `width` columns except longer words.
std::string help_of(const Command& command, std::size_t width);
std::string help_with_all_options(const Command& command, std::size_t width);

}  // namespace aggregate_power
