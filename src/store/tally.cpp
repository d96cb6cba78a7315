// Counts runs and writes their report.
#include "store/tally.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/unicode.h"
#include "results/aggregate_json.h"
#include "store/layouts.h"

namespace aggregate_power {
namespace {

// The path of the aggregate, or of the folder that should contain it.
const std::string& path_of(const Recomputed& recomputed) {
  const StoredRun& run = recomputed.run;
  return run.aggregate.display.empty() ? run.folder.display : run.aggregate.display;
}

// For scripts: bytes that are not UTF-8 stay, but nothing may look like the end of a line or a
// word.
std::string without_controls(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; }, '?');
  return text;
}

// Whether it waited in vain for the others of its recorder.
bool is_open(const Recomputed& recomputed) {
  return recomputed.zone_standing && recomputed.reasons.contains(Reason::timezone_ambiguous);
}

std::optional<RunZone> zone_of(const Recomputed& recomputed) {
  if (!recomputed.zone_report && !recomputed.zone_case) return std::nullopt;
  RunZone zone;
  if (recomputed.zone_case) zone.recorder = recomputed.zone_case->recorder;
  if (const auto& report = recomputed.zone_report) {
    zone.level = name_of(report->level);
    for (const ZoneWitness witness : report->witnesses)
      zone.witnesses.emplace_back(name_of(witness));
  }
  if (const auto& standing = recomputed.zone_standing) {
    zone.recorder_timezone = standing->recorder_timezone;
    zone.contradicts = standing->contradicts;
  }
  return zone;
}

std::string details_of(const Recomputed& recomputed) {
  std::vector<std::string> details = recomputed.warnings;
  if (!recomputed.reasons.empty()) details.insert(details.begin(), recomputed.reasons.text());
  if (is_open(recomputed) && !recomputed.zone_standing->contradictions.empty()) {
    details.push_back(recomputed.zone_standing->contradictions);
  }
  return fmt::format("{}", fmt::join(details, "; "));
}

OutcomeLine line_of(const Recomputed& recomputed, double seconds) {
  OutcomeLine line;
  line.run = recomputed.run.name;
  line.layout = layout_row(recomputed.run.layout).name;
  line.aggregate = recomputed.run.aggregate.display;
  line.telemetry = recomputed.telemetry;
  line.benchmark = recomputed.benchmark;
  line.outcome = outcome_name(recomputed.outcome);
  line.reasons = recomputed.reasons.codes();
  line.details = details_of(recomputed);
  const bool stands =
      recomputed.outcome == Outcome::patched || recomputed.outcome == Outcome::unchanged;
  if (stands) line.metrics = recomputed.metrics;
  line.timezone = recomputed.timezone;
  line.seconds = seconds;
  line.zone = zone_of(recomputed);
  const bool is_written =
      recomputed.outcome == Outcome::patched || recomputed.outcome == Outcome::not_valid;
  if (is_written) {
    line.before = recomputed.before;
    line.had_record = recomputed.had_record;
  }
  return line;
}

// By which an undo recognizes it. Empty: none was written, or it is gone already.
std::string hash_of_record(const Recomputed& recomputed) {
  const bool is_written =
      recomputed.outcome == Outcome::patched || recomputed.outcome == Outcome::not_valid;
  if (!is_written || recomputed.record_path.empty()) return {};
  try {
    return hashed_text(read_file(recomputed.record_path)).hash;  // also after a signal
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
    OutcomeLine line = line_of(recomputed, seconds);
    if (!request_.recompute.dry_run) line.record_hash = hash_of_record(recomputed);
    lines += outcome_line_text(line);
  }
  const std::lock_guard guard(mutex_);
  if (watcher_.done) watcher_.done(recomputed);
  BackfillCounts& counts = progress_.counts;
  ++counts.outcomes[static_cast<std::size_t>(recomputed.outcome)];
  const bool stands =
      recomputed.outcome == Outcome::patched || recomputed.outcome == Outcome::unchanged;
  if (stands && recomputed.valid) ++counts.valid;
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
