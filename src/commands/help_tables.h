// Tables of the help pages, generated from the program's own rows.
#pragma once

#include <string_view>

#include "base/text/markdown.h"

namespace aggregate_power {

// The table for a line `<!-- table: NAME -->`: "options", "options COMMAND", "reasons GROUP",
// "metrics", "schemas", "exit-statuses", "environment" or "files". An unknown name is an error in
// the page.
markdown::Table help_table(std::string_view name);

}  // namespace aggregate_power
