// What every command has: its options, and what it does with them.
#pragma once

#include <charconv>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/files/path.h"
#include "base/text/zone.h"
#include "recorders/schema.h"
#include "results/deliver.h"

namespace aggregate_power {

struct Command {
  std::unique_ptr<CLI::App> options;
  // Options whose abbreviations go before those of others (the original had only these).
  std::vector<std::string> first_choice;
  // By option: words that it takes, for the completion to offer.
  std::map<std::string, std::vector<std::string>> words;
  std::string usage;          // behind the command's name
  std::string examples;       // one a line
  std::string exit_statuses;  // "0 done; 1 ..."
  std::string notes;          // what else the help ends with; may be empty
  std::function<int()> run;   // after parsing; gives the exit status
};

Command aggregate_command();
Command agentic_command();
Command backfill_command();
Command inspect_command();
Command multinode_command();
Command synthesize_command();

// All of them; the first has no name of its own.
std::vector<Command> all_commands();

// Parses as Python's argparse does: options may be abbreviated while that is unambiguous, an
// option's value does not start with '-' unless it is '-' or a number, the last of a repeated
// option wins. Gives what the command gives; 2 for wrong use; 0 after --help and --version.
int run_command(const Command& command, const std::vector<std::string>& arguments);

// The text of --help.
std::string help(const Command& command);

// A man page (troff) and a bash completion, made from the options of all commands.
std::string man_page();
std::string bash_completion();

// Prints what a command has to say. Whether anyone can read stderr never changes what the command
// gives; main() looks at stdout once at the end.
void say(std::FILE* stream, const std::string& text);

// Does a job and says what it has to say; gives its exit status. No input may break a benchmark
// script with another one: what a job throws counts as a run that is not valid.
int print(bool require_power, const std::function<CommandOutput()>& job);

// Whether $REQUIRE_POWER is 1, true or yes.
bool required_by_environment();

// Options that several commands share. What they set is plain text; zone_of() and such come after.
struct TelemetryOptionTexts {
  ColumnNames columns;
  std::string power_unit;
  std::string timezone;
};
void add_telemetry_options(Command& command, TelemetryOptionTexts& texts);
void add_power_unit(Command& command, std::string& text);

// Of the commands that work out one run.
struct RunOptionTexts {
  std::string agg_result;
  std::string max_sample_gap = "3";
  bool extended = false;
  bool require_power = false;
  bool dry_run = false;
};
void add_agg_result(CLI::App& app, RunOptionTexts& texts);
void add_max_sample_gap(CLI::App& app, RunOptionTexts& texts);
// --extended, which differs, --require-power and --dry-run.
void add_outcome_options(CLI::App& app, RunOptionTexts& texts, const std::string& extended);

// What every such request has.
template <typename Request>
void set_run_options(Request& request, const RunOptionTexts& texts) {
  request.agg_result = normal_path(texts.agg_result);
  request.extended = texts.extended;
  request.require_power = texts.require_power || required_by_environment();
  request.dry_run = texts.dry_run;
}

// The raw benchmark result, which must be given.
void add_bench_result(CLI::App& app, std::string& path);

ColumnNames columns_of(const TelemetryOptionTexts& texts);

// An option that was not given gives no zone, and an empty path.
std::optional<Zone> zone_of(const std::string& text);
std::string path_of(const std::string& text);

// What an option's value must be; the message says `what` was expected.
CLI::Validator expecting(const std::string& what,
                         const std::function<bool(const std::string&)>& is_good);

// Anything but nothing: an empty path, be it of a shell's unset variable, is no folder.
CLI::Validator not_empty();

// A whole number, a number of seconds, as Python's int() and float() read them.
CLI::Validator whole_number();
CLI::Validator seconds();

// A number between two bounds, both allowed. The parser's own check speaks its own words.
template <typename T>
CLI::Validator between(T least, T most) {
  const char* const what = std::is_integral_v<T> ? "a whole number" : "a number";
  return expecting(
      fmt::format("{} from {} to {}", what, least, most), [=](const std::string& text) {
        T value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        return error == std::errc() && end == text.data() + text.size() && value >= least &&
               value <= most;
      });
}

// The option takes no other words than these, and the completion offers them.
void take_one_of(Command& command, CLI::Option& option, const std::vector<std::string>& words);

// Declares an option of which the last occurrence counts.
template <typename T>
CLI::Option* add_option(CLI::App& app, const std::string& name, T& value, const std::string& help) {
  return app.add_option(name, value, help)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}
// CLI11 reads numbers through long double: that rounds twice, and not alike on every processor.
inline CLI::Option* add_option(CLI::App& app, const std::string& name, double& value,
                               const std::string& help) {
  const auto read = [&value](const CLI::results_t& texts) {
    const std::string& text = texts.back();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  };
  return app.add_option(name, read, help)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

// Declares an option that may be given several times, each time with one value.
CLI::Option* add_list_option(CLI::App& app, const std::string& name,
                             std::vector<std::string>& values, const std::string& help);

}  // namespace aggregate_power
