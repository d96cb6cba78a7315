// Counts runs and writes their report.
#include "store/backfill/tally.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/whole_file.h"
#include "base/text/characters.h"
#include "core/record/aggregate.h"

namespace aggregate_power {
namespace {

// The path of the aggregate, or of the folder that should contain it.
const std::string& path_of(const Recomputed& recomputed) {
  const StoredRun& run = recomputed.run;
  return run.aggregate.display.empty() ? run.folder.display : run.aggregate.display;
}

// By which an undo recognizes it. Empty: none was written, or it is gone already.
std::string hash_of_record(const Recomputed& recomputed) {
  if (!recomputed.is_written() || recomputed.record_path.empty()) return {};
  try {
    return hashed_text(read_file(recomputed.record_path, kAuditRecordFile))
        .hash;  // also after a signal
  } catch (const FileError&) {
    return {};
  }
}

}  // namespace

Tally::Tally(const BackfillRequest& request, const BackfillWatcher& watcher)
    : request_(request),
      watcher_(watcher),
      report_(request.report.empty() ? nullptr : std::make_unique<OutcomeLog>(request.report)) {}

void Tally::add(const Recomputed& recomputed, double seconds, std::string& lines) {
  if (report_) {
    lines += outcome_line_text(recomputed, seconds,
                               request_.recompute.dry_run ? "" : hash_of_record(recomputed));
  }
  const std::lock_guard guard(mutex_);
  if (watcher_.done) watcher_.done(recomputed);
  BackfillCounts& counts = progress_.counts;
  ++counts.outcomes[static_cast<std::size_t>(recomputed.outcome)];
  if (recomputed.stands() && recomputed.valid) {
    ++counts.valid;
    if (!recomputed.warnings.empty()) ++counts.doubtful;
  }
  if (recomputed.outcome == Outcome::unchanged && !recomputed.valid) ++counts.unchanged_not_valid;
  if (recomputed.zone_report) {
    ++counts.zones[recomputed.timezone][std::string(name_of(recomputed.zone_report->level))];
  }
  for (const Reasons::Entry& entry : recomputed.reasons.entries()) {
    counts.reasons[{entry.reason, entry.obstacle}].add(printable_path(recomputed.run.name));
  }
  if (request_.list.contains(recomputed.outcome)) list(recomputed);
  if (recomputed.outcome == Outcome::failed || recomputed.outcome == Outcome::ambiguous) {
    watcher_.trouble(fmt::format("{}: {}: {}", printable_path(path_of(recomputed)),
                                 outcome_name(recomputed.outcome), recomputed.reasons.text()));
  }
}

void Tally::write(std::string& lines) {
  if (report_ && !lines.empty()) report_->add(lines);
  lines.clear();
}

void Tally::list(const Recomputed& recomputed) {
  const std::string& path = path_of(recomputed);
  lines_.add(path, fmt::format("{}\t{}\n", without_controls(path),
                               fmt::join(recomputed.reasons.codes(), ",")));
}

void Tally::add_changes(const std::string& path, const std::vector<std::string>& changes) {
  if (!request_.list.empty()) return;
  std::string lines;
  for (const std::string& change : changes) lines += one_line(change) + '\n';
  const std::lock_guard guard(mutex_);
  lines_.add(path, lines);
}

void Tally::add_found() {
  const std::lock_guard guard(mutex_);
  ++progress_.found;
}

void Tally::add_folder_link() {
  const std::lock_guard guard(mutex_);
  ++progress_.counts.folder_links;
}

void Tally::add_link_out(const std::string& what) {
  const std::lock_guard guard(mutex_);
  ++progress_.counts.links_out;
  watcher_.trouble(not_read(what));
}

void Tally::all_found() {
  const std::lock_guard guard(mutex_);
  progress_.all_found = true;
}

BackfillProgress Tally::progress() const {
  const std::lock_guard guard(mutex_);
  return progress_;
}

BackfillResult Tally::result() { return {progress_.counts, std::move(lines_)}; }

}  // namespace aggregate_power
