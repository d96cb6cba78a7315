// What the terminal allows: the width of lines, and colour.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file.h"
#include "base/report/json_parts.h"
#include "runs/measure/deliver.h"
#include "store/backfill/tally.h"

namespace aggregate_power {

// The columns of the terminal behind `stream`: $COLUMNS, else what the terminal says, else 80.
std::size_t terminal_columns(std::FILE* stream);

// The width of text for people on stdout: the terminal's, at most 100, because longer lines are
// hard to read.
std::size_t text_width();

bool is_terminal(std::FILE* stream);

// Whether the locale's characters are UTF-8, by $LC_ALL, else $LC_CTYPE, else $LANG.
bool is_utf8_locale();

// Whether what goes to `stream` may be coloured: it is a terminal, and neither NO_COLOR nor
// TERM=dumb speaks against it.
bool has_colour(std::FILE* stream);

// ---- Prints, and turns the report of a job into an exit status.

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

// Prints the lines that follow a report: those with "warning: " or "note: " before them as notes.
void print_after_report(const std::vector<std::string>& lines);

// Throws Error for a file that cannot be opened: with what its name probably means if one of these
// paths leads to nothing, else with what `error` says.
[[noreturn]] void refuse_missing(
    std::initializer_list<std::reference_wrapper<const std::vector<std::string>>> paths,
    const FileError& error);

// How many runs had an outcome.
struct OutcomeRow {
  std::string_view name;
  std::uint64_t runs = 0;
  std::string note = {};
};
// Of each outcome, in the order of their values.
template <typename Run, typename Name>
std::vector<OutcomeRow> outcome_rows(const std::vector<Run>& runs, std::size_t outcomes,
                                     const Name& name) {
  std::vector<OutcomeRow> rows;
  for (std::size_t i = 0; i < outcomes; ++i) {
    rows.push_back({name(static_cast<decltype(Run::outcome)>(i))});
  }
  for (const Run& run : runs) ++rows[static_cast<std::size_t>(run.outcome)].runs;
  return rows;
}
Json outcomes_json(const std::vector<OutcomeRow>& rows);  // {"patched": 2, ...}
// Runs, and below them the number for each outcome that some had.
std::string outcome_table(std::uint64_t runs, bool dry_run, const std::vector<OutcomeRow>& rows);
std::string count_line(const std::string& name, std::uint64_t count, const std::string& note = {});

// Runs a job, prints its lines and returns its exit status. No input may make a benchmark script
// fail with some other status: a job that throws counts as a run that is not valid.
int report(bool require_power, const std::function<CommandOutput()>& job);

// ---- Progress of a long job: a line that is renewed on a terminal, or a line now and then
// elsewhere.

// Prints on standard error. Others print there through print(), so that their text and this line do
// not collide. To be used by one thread at a time.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const BackfillProgress& progress);
  void print(const std::string& line);
  void clear();

 private:
  bool is_terminal_;
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

// "1200/2000 runs, 430/s, 2 s left: 1100 valid, 20 invalid, 60 skipped, 0 failed".
std::string progress_text(const BackfillProgress& progress, double seconds);

}  // namespace aggregate_power
