// The tables that help pages take from the program's own rows.
#pragma once

#include <string_view>

#include "base/text/markdown.h"

namespace aggregate_power {

// The table of a line `<!-- table: NAME -->`: "options", "options COMMAND", "reasons GROUP",
// "metrics", "schemas", "exit-statuses", "environment" or "files". An unknown name is a fault of
// the page.
markdown::Table help_table(std::string_view name);

}  // namespace aggregate_power
