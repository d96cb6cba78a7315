// Groups the table of commands.
#include "commands/help_pages/overview.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "commands/commands.h"

namespace aggregate_power {
namespace {

constexpr std::pair<CommandGroup, std::string_view> kGroups[] = {
    {CommandGroup::measure, "measure"},    {CommandGroup::look, "look"},
    {CommandGroup::decide, "decide"},      {CommandGroup::past, "past runs"},
    {CommandGroup::pipelines, "pipeline"},
};

constexpr std::string_view kBeginning =
    "Energy of GPU benchmark runs, from power recordings that are checked:\n"
    "  aggregate-power result.json power.csv           joules per token\n"
    "  aggregate-power compare before --with after     whether they changed\n"
    "  aggregate-power-monitor run -- COMMAND          record while it runs\n"
    "\n";

constexpr std::string_view kEnd =
    "\nOptions: COMMAND --help.  Pages: 'help topics', 'help WORD'.\n";

}  // namespace

std::string overview() {
  std::string text(kBeginning);
  for (const auto& [group, heading] : kGroups) {
    std::string_view before = heading;
    for (const CommandRow& row : command_rows()) {
      if (row.group != group) continue;
      text += fmt::format("{:9} {:11} {}\n", before, row.name, row.summary);
      before = "";
    }
  }
  return text + std::string(kEnd);
}

}  // namespace aggregate_power
