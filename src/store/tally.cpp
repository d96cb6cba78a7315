// What is said of the runs of a store.
#include "store/tally.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files/path.h"
#include "base/text/unicode.h"

namespace aggregate_power {
namespace {

// Of the aggregate, or of the folder that should hold it.
const std::string& path_of(const Revision& revision) {
  const StoredRun& run = revision.run;
  return run.aggregate.shown.empty() ? run.folder.shown : run.aggregate.shown;
}

// For scripts: bytes that are not UTF-8 stay, but nothing may look like the end of a line or a
// word.
std::string without_controls(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; }, '?');
  return text;
}

// Whether it waited for the others of its recorder in vain.
bool is_open(const Revision& revision) {
  return revision.zone_standing && revision.reasons.contains(Reason::timezone_ambiguous);
}

std::optional<RunZone> zone_of(const Revision& revision) {
  if (!revision.zone_report && !revision.zone_case) return std::nullopt;
  RunZone zone;
  if (revision.zone_case) zone.recorder = revision.zone_case->recorder;
  if (const auto& report = revision.zone_report) {
    zone.level = name_of(report->level);
    for (const ZoneWitness witness : report->witnesses)
      zone.witnesses.emplace_back(name_of(witness));
  }
  if (const auto& standing = revision.zone_standing) {
    zone.recorder_timezone = standing->recorder_timezone;
    zone.contradicts = standing->contradicts;
  }
  return zone;
}

std::string details_of(const Revision& revision) {
  std::vector<std::string> details = revision.warnings;
  if (!revision.reasons.empty()) details.insert(details.begin(), revision.reasons.text());
  if (is_open(revision) && !revision.zone_standing->contradictions.empty()) {
    details.push_back(revision.zone_standing->contradictions);
  }
  return fmt::format("{}", fmt::join(details, "; "));
}

RunLine line_of(const Revision& revision, double seconds) {
  RunLine line;
  line.run = revision.run.name;
  line.layout = layout_name(revision.run.layout);
  line.aggregate = revision.run.aggregate.shown;
  line.telemetry = revision.telemetry;
  line.benchmark = revision.benchmark;
  line.outcome = outcome_name(revision.outcome);
  line.reasons = revision.reasons.codes();
  line.details = details_of(revision);
  const bool stands =
      revision.outcome == Outcome::patched || revision.outcome == Outcome::unchanged;
  if (stands) line.metrics = revision.metrics;
  line.timezone = revision.timezone;
  line.seconds = seconds;
  line.zone = zone_of(revision);
  return line;
}

}  // namespace

Ledger::Ledger(const BackfillRequest& request, const BackfillWatcher& watcher)
    : request_(request), watcher_(watcher) {
  if (!request.report.empty()) report_.emplace(request.report);
}

void Ledger::add(const Revision& revision, double seconds, std::string& lines) {
  if (report_) lines += run_line_text(line_of(revision, seconds));
  const std::lock_guard guard(mutex_);
  BackfillCounts& counts = progress_.counts;
  ++counts.outcomes[static_cast<std::size_t>(revision.outcome)];
  const bool stands =
      revision.outcome == Outcome::patched || revision.outcome == Outcome::unchanged;
  if (stands && revision.valid) ++counts.valid;
  if (revision.outcome == Outcome::unchanged && !revision.valid) ++counts.unchanged_not_valid;
  if (revision.zone_report) {
    ++counts.zones[revision.timezone][std::string(name_of(revision.zone_report->level))];
  }
  for (const Reasons::Entry& entry : revision.reasons.entries()) {
    counts.reasons[{entry.reason, entry.obstacle}].add(printable_path(revision.run.name));
  }
  if (request_.list.contains(revision.outcome)) list(revision);
  if (revision.outcome == Outcome::failed || revision.outcome == Outcome::ambiguous) {
    watcher_.trouble(fmt::format("{}: {}: {}", printable_path(path_of(revision)),
                                 outcome_name(revision.outcome), revision.reasons.text()));
  }
}

void Ledger::write(std::string& lines) {
  if (report_ && !lines.empty()) report_->add(lines);
  lines.clear();
}

void Ledger::list(const Revision& revision) {
  const std::string& path = path_of(revision);
  lines_.add(path, fmt::format("{}\t{}\n", without_controls(path),
                               fmt::join(revision.reasons.codes(), ",")));
}

void Ledger::add_changes(const std::string& path, const std::vector<std::string>& changes) {
  if (!request_.list.empty()) return;
  std::string lines;
  for (const std::string& change : changes) lines += one_line(change) + '\n';
  const std::lock_guard guard(mutex_);
  lines_.add(path, lines);
}

void Ledger::add_found() {
  const std::lock_guard guard(mutex_);
  ++progress_.found;
}

void Ledger::add_folder_link() {
  const std::lock_guard guard(mutex_);
  ++progress_.counts.folder_links;
}

void Ledger::all_found() {
  const std::lock_guard guard(mutex_);
  progress_.all_found = true;
}

BackfillProgress Ledger::progress() const {
  const std::lock_guard guard(mutex_);
  return progress_;
}

BackfillResult Ledger::result() { return {progress_.counts, std::move(lines_)}; }

}  // namespace aggregate_power
