// Prints, and turns the report of a job into an exit status.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runs/measure/deliver.h"

namespace aggregate_power {

// From now on notes and results are not printed (--quiet).
void be_quiet();
bool is_quiet();

// Prints data for programs, as it is. Whether stderr can be written never changes the exit status;
// main() checks stdout once at the end.
void print(std::FILE* stream, const std::string& text);

// Prints lines for people or scripts that may contain text of files: nothing in them is a command
// to a CI service that reads its log.
void print_lines(std::FILE* stream, const std::string& text);

// Prints a text for people on stdout, unless quiet: as print_lines(), and without control
// characters, so that nothing in it is a command to a terminal.
void print_result(const std::string& text);

// The same for one line on stderr, after the program's name; in it a line break is a control
// character. On a terminal the words "error", "warning" and "power not valid" at its beginning are
// coloured.
void print_message(const std::string& line);

// The same for what is not an error: nothing if quiet.
void print_note(const std::string& line);

// How many runs had an outcome.
struct OutcomeRow {
  std::string_view name;
  std::uint64_t runs = 0;
  std::string note = {};
};
// Runs, and below them the number for each outcome that some had.
std::string outcome_table(std::uint64_t runs, bool dry_run, const std::vector<OutcomeRow>& rows);
std::string count_line(const std::string& name, std::uint64_t count, const std::string& note = {});

// Runs a job, prints its lines and returns its exit status. No input may make a benchmark script
// fail with some other status: a job that throws counts as a run that is not valid.
int report(bool require_power, const std::function<CommandOutput()>& job);

}  // namespace aggregate_power
