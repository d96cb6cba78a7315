// A man page (troff) and a bash completion, generated from the options of all commands.
#pragma once

#include <string>

namespace aggregate_power {

std::string man_page();
std::string bash_completion();

}  // namespace aggregate_power
