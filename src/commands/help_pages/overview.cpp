// Groups the table of commands.
#include "commands/help_pages/overview.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text/wrap.h"
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

constexpr std::string_view kWhere =
    "\n"
    "Without a command, files are measured, and options are of patch:\n"
    "  aggregate-power --csv FILE --bench-result FILE --agg-result FILE\n";

constexpr std::string_view kTopics =
    "What they mean: COMMAND --help-all.  Their rules: 'help options'.\n"
    "\n"
    "good requests (--slo), correct answers         help good-work\n"
    "meters of a node: BMC, RAPL, Slurm (--witness) help windows\n"
    "recordings of W&B, MLflow, Prometheus, DCGM    help telemetry-formats\n"
    "a window that is unknown or estimated          help measure\n"
    "times without an offset (--timezone)           help time-zones\n"
    "intervals, sensors, power above idle           help uncertainty\n"
    "cost, carbon, PUE                              help cost\n"
    "runs for others, without names (--redact)      help bundle\n"
    "a code or a word that was printed              explain WORD\n";

}  // namespace

// Scripts have looked there for the names of options ever since.
std::string where_to_find() {
  constexpr std::size_t kColumns = 70;
  std::string names;
  const Command patch = make_command(*find_command("patch"));
  for (const Option& option : patch.options.all()) names += " " + option.long_name();
  return fmt::format("{}{}{}", kWhere, wrapped(names.substr(1), "  ", 2, kColumns), kTopics);
}

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
