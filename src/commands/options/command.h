// A command: its options, its help and the function that it runs.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/system/sandbox.h"
#include "commands/options/options.h"

namespace aggregate_power {

struct Command {
  // From the table of commands.
  std::string name;                 // "aggregate-power backfill"
  std::string sentence;             // what it does
  std::string usage;                // one line for each form
  std::vector<std::string> common;  // names of the options that people use; empty: all
  // From the command's own file.
  std::vector<std::string> forms;  // after its name; empty: the one in the table
  Options options;
  // Options whose abbreviations win over those of others (the original had only these).
  std::vector<std::string> first_choice;
  // What options of other commands are called here: "--csv", "--telemetry".
  std::vector<std::pair<std::string, std::string>> called_here;
  std::string examples;       // one per line
  std::string exit_statuses;  // "0 done; 1 ..."
  std::string notes;          // other text at the end of the help; may be empty
  // Called after parsing, if set: settles what several options decide together; throws Error.
  std::function<void(const Options&)> settle;
  // Set for commands that read what strangers made: they run confined to the places that their
  // options name, and to what this adds; see add_no_sandbox().
  std::function<void(Reach&)> reach;
  std::function<int()> run;  // returns the exit status
};

// Parses as Python's argparse does: options may be abbreviated as long as that is unambiguous and
// not another command's whole option (the original had no options but `first_choice`); an option's
// value does not start with '-' unless it is '-' or a number, and the last occurrence of
// an option counts. Returns the command's exit status; 2 for wrong use, which is reported in one
// line, by `explain_fault` if it is set; 0 after --help and --version.
int run_command(Command command, const std::vector<std::string>& arguments,
                const std::function<int(const std::string&)>& explain_fault = {});

// Whether they are right for the command, and name something without an option. Opens no file.
bool takes_files(Command command, const std::vector<std::string>& arguments);

std::string version_line();

// Reports wrong use of `name`, such as "aggregate-power backfill", and returns its exit status. The
// line ends with a pointer to the help of `name`.
int usage_fault(const std::string& name, const std::string& message);

}  // namespace aggregate_power
