// Formats the lines of a report and appends them under a lock.
#include "store/backfill/outcome_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/lock.h"
#include "base/files/path.h"
#include "base/system/interruption.h"
#include "base/report/json_parts.h"
#include "core/record/withdrawal.h"
#include "store/catalogue/layouts.h"

namespace aggregate_power {
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
  return fmt::format("{}", fmt::join(details, "; "));
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
                     {"zone", zone_json(recomputed)}};
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
  std::string_view rest = lines;
  while (!rest.empty()) {
    const ssize_t count = ::write(fd_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const FileError error(path_, "write", errno);
      std::ignore = ::flock(fd_, LOCK_UN);
      throw error;
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  std::ignore = ::flock(fd_, LOCK_UN);
}

}  // namespace aggregate_power
