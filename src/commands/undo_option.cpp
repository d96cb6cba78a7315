// Prints what was taken back, and what was not.
#include "commands/undo_option.h"

#include <array>
#include <cstdio>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file_error.h"
#include "base/files/near_file.h"
#include "base/text/unicode.h"
#include "commands/output.h"
#include "publication/undo_backfill.h"

namespace aggregate_power {
namespace {

std::string undo_text(const std::vector<UndoneRun>& runs, bool dry_run) {
  std::array<std::size_t, kUndoOutcomes> counts{};
  for (const UndoneRun& run : runs) ++counts[static_cast<std::size_t>(run.outcome)];
  std::vector<OutcomeRow> rows;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    rows.push_back({undo_outcome_name(static_cast<UndoOutcome>(i)), counts[i]});
  }
  return outcome_table(runs.size(), dry_run, rows);
}

int print_undone(const std::vector<UndoneRun>& runs, bool dry_run) {
  std::size_t lost_records = 0;
  for (const UndoneRun& run : runs) {
    if (run.lost_record) ++lost_records;
    for (const std::string& change : run.changes) print_result(one_line(change) + "\n");
  }
  print_result(undo_text(runs, dry_run));
  std::ignore = std::fflush(stdout);  // the counts come before what is said about them
  if (lost_records > 0) {
    print_note(fmt::format(
        "warning: {} of them had an earlier audit record, which the pass replaced and which is lost",
        lost_records));
  }
  bool is_complete = true;
  for (const UndoneRun& run : runs) {
    if (run.why.empty()) continue;
    is_complete = false;
    print_message(one_line(
        fmt::format("{}: {}: {}", run.aggregate, undo_outcome_name(run.outcome), run.why)));
  }
  return is_complete ? 0 : 1;
}

}  // namespace

void add_undo_option(Options& options, std::string& report) {
  options
      .value(
          "--undo", "REPORT", into_path(report),
          "Take back what the pass with this --report wrote, where nothing changed it since; takes --dry-run, --lock-timeout, --follow-links and --artifacts")
      .check(not_empty());
}

void settle_undo(const Options& options) {
  if (!options.is_given("--undo")) return;
  const std::set<std::string> useful = {"--undo",         "--dry-run",   "--lock-timeout",
                                        "--follow-links", "--artifacts", "--quiet"};
  for (const Option& option : options.all()) {
    const std::string& name = option.is_positional() ? option.name : option.long_name();
    if (option.given.empty() || useful.contains(name)) continue;
    throw Error(fmt::format(
        "backfill: {} has no effect beside --undo: what is undone is in the report", name));
  }
}

int undo_by_report(const std::string& report, const StoreAccess& access, bool dry_run) {
  try {
    return print_undone(undo_backfill(report, access, dry_run), dry_run);
  } catch (const FileError& error) {
    const std::string hint = missing_file_hint(report);
    throw Error(hint.empty() ? error.what() : hint);
  }
}

}  // namespace aggregate_power
