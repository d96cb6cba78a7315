// A man page (troff), generated from the options of all commands.
#pragma once

#include <string>

namespace aggregate_power {

std::string man_page();

}  // namespace aggregate_power
