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

constexpr std::string_view kWhere =
    "\n"
    "Without a command's name, files are measured, and options are those of patch:\n"
    "  aggregate-power --csv FILE --bench-result FILE --agg-result FILE [OPTIONS]\n"
    "COMMAND --help-all has all options of a command, 'help options' their rules.\n"
    "\n"
    "good requests (--slo), correct answers (--quality)       help good-work\n"
    "meters of a node: BMC, IPMI, RAPL, Slurm (--witness)     help windows\n"
    "recordings of W&B, MLflow, Prometheus, DCGM and others   help telemetry-formats\n"
    "window unknown, or only estimated (--window)             help measure\n"
    "times without an offset (--timezone)                     help time-zones\n"
    "intervals, sensors, power above idle (--idle)            help uncertainty\n"
    "cost, carbon, PUE                                        help cost\n"
    "runs for other people, without names (--redact)          help bundle\n"
    "a code or a word that the program printed                explain WORD\n";

}  // namespace

std::string where_to_find() { return std::string(kWhere); }

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
