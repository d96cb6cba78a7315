// Counts runs and writes their report.
#include "store/backfill/tally.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <string_view>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/lock.h"
#include "base/files/path.h"
#include "base/report/json_parts.h"
#include "base/system/interruption.h"
#include "base/text/characters.h"
#include "core/record/aggregate.h"
#include "core/record/withdrawal.h"
#include "store/catalogue/layouts.h"

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
    counts.reasons[{entry.reason, entry.obstacle}].add(printable_path(recomputed.run.name),
                                                       printable_path(path_of(recomputed)));
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

// ---- Counts of a backfill.

std::uint64_t BackfillCounts::done() const { return summed<std::uint64_t>(outcomes); }

void RunsOfReason::add(const std::string& name, const std::string& path) {
  constexpr std::size_t kMostNames = 3;
  ++runs;
  first.emplace(name, path);
  if (first.size() > kMostNames) first.erase(std::prev(first.end()));
}

std::vector<std::string> RunsOfReason::first_names() const {
  std::set<std::string> names;
  std::vector<std::string> paths;
  for (const auto& [name, path] : first) {
    names.insert(name);
    paths.push_back(path);
  }
  return names.size() == first.size() ? std::vector(names.begin(), names.end()) : paths;
}

// ---- Formats the lines of a report and appends them under a lock.

namespace {

constexpr std::string_view kBegin = "{\"run\":";

Json path_or_null(const std::string& text) { return text_or_null(printable_path(text)); }

// Reports are appended to under a lock, so text without a line break at the end was left by a
// killed run.
void cut_torn_line(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw FileError(path, "inspect", errno);
  off_t end = status.st_size;
  char byte = '\n';
  while (end > 0 && ::pread(fd, &byte, 1, end - 1) == 1 && byte != '\n') --end;
  if (end != status.st_size && ::ftruncate(fd, end) != 0) throw FileError(path, "shorten", errno);
}

Json zone_json(const Recomputed& recomputed) {
  if (!recomputed.zone_report && !recomputed.zone_case) return nullptr;
  Json level;
  Json witnesses = Json::array();
  if (const auto& report = recomputed.zone_report) {
    level = name_of(report->level);
    for (const ZoneWitness witness : report->witnesses) witnesses.push_back(name_of(witness));
  }
  const ZoneStanding standing = recomputed.zone_standing.value_or(ZoneStanding());
  return {{"recorder", path_or_null(recomputed.zone_case ? recomputed.zone_case->recorder : "")},
          {"level", level},
          {"witnesses", witnesses},
          {"recorder_timezone", path_or_null(standing.recorder_timezone)},
          {"contradicts", standing.contradicts}};
}

// The reasons, and other doubts; for people.
std::string details_of(const Recomputed& recomputed) {
  std::vector<std::string> details = recomputed.warnings;
  if (!recomputed.reasons.empty()) details.insert(details.begin(), recomputed.reasons.text());
  // Whether it waited in vain for the others of its recorder.
  const bool is_open =
      recomputed.zone_standing && recomputed.reasons.contains(Reason::timezone_ambiguous);
  if (is_open && !recomputed.zone_standing->contradictions.empty()) {
    details.push_back(recomputed.zone_standing->contradictions);
  }
  return joined_text(details, "; ");
}

// The members of ours that a patched aggregate had before, and whether its record was replaced.
// Numbers stay as they were spelled.
std::string before_text(const Recomputed& recomputed) {
  return fmt::format("{{\"members\":{},\"record\":{}}}", members_text(recomputed.before),
                     recomputed.had_record);
}

}  // namespace

std::string outcome_line_text(const Recomputed& recomputed, double seconds,
                              const std::string& record_hash) {
  const StoredRun& run = recomputed.run;
  Json metrics = Json::object();
  if (recomputed.stands()) {
    for (const auto& [key, value] : recomputed.metrics) metrics[key] = value;
  }
  const Json json = {{"run", printable_path(run.name)},
                     {"layout", layout_row(run.layout).name},
                     {"aggregate", path_or_null(run.aggregate.display)},
                     {"telemetry", path_or_null(recomputed.telemetry)},
                     {"benchmark", path_or_null(recomputed.benchmark)},
                     {"outcome", outcome_name(recomputed.outcome)},
                     {"reasons", recomputed.reasons.codes()},
                     {"metrics", std::move(metrics)},
                     {"timezone", path_or_null(recomputed.timezone)},
                     {"seconds", seconds},
                     {"details", path_or_null(details_of(recomputed))},
                     {"zone", zone_json(recomputed)},
                     {"schema", "aggregate-power/report-1"}};
  std::string text = line_text(json);
  if (recomputed.is_written() && (!recomputed.before.empty() || recomputed.had_record)) {
    const JsonEdit before{"before", before_text(recomputed)};
    text = patch_json(text, {&before, 1});
  }
  if (!record_hash.empty()) {
    const JsonEdit record{"record_xxh3_128", line_text(record_hash)};
    text = patch_json(text, {&record, 1});
  }
  return text + "\n";
}

OutcomeLog::OutcomeLog(const std::string& path)
    : path_(path), fd_(opened_for_writing(path, O_RDWR | O_APPEND)) {
  std::string begin(kBegin.size(), '\0');
  const ssize_t count = ::pread(fd_, begin.data(), begin.size(), 0);
  if (count > 0 && begin != kBegin) {
    ::close(fd_);
    throw Error(fmt::format(
        "{}: is not a report, so nothing is appended to it; give another --report", path));
  }
}

OutcomeLog::~OutcomeLog() { ::close(fd_); }

// If there are no locks, there is usually one writer, who loses nothing by going on. An interrupted
// writer that cannot get the lock must not write between others' lines: that is a fault.
void OutcomeLog::take_lock() {
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  try {
    wait_for_lock(fd_, path_);
  } catch (const Interrupted&) {
    throw FileError(path_, "lock", EINTR);
  }
}

void OutcomeLog::add(const std::string& lines) {
  const std::lock_guard guard(mutex_);  // threads share the descriptor, and therefore the lock
  take_lock();
  cut_torn_line(fd_, path_);
  try {
    write_all(fd_, lines, path_);
  } catch (const FileError&) {
    std::ignore = ::flock(fd_, LOCK_UN);
    throw;
  }
  std::ignore = ::flock(fd_, LOCK_UN);
}

}  // namespace aggregate_power
