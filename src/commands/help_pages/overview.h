// What the program is, on one screen.
#pragma once

#include <string>

namespace aggregate_power {

// At most 30 lines of at most 70 columns: a sentence, examples, and the commands in groups.
std::string overview();

// What --help adds, as narrow: how options are asked for, and where to look for what.
std::string where_to_find();

}  // namespace aggregate_power
