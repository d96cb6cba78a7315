// Runs that are worked out, put in place many at a time.
#include "aggregate_power/jobs/batch.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/base/file.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostRuns = 64;
constexpr std::size_t kFilesOfRun = 3;  // open while it waits: two temporaries, a lock
constexpr std::size_t kMostBatches = 2;
constexpr std::size_t kMostLineBytes = 65536;

void fail(Revision& revision, Reason reason, std::string detail = {}) {
  revision.outcome = Outcome::failed;
  revision.valid = false;
  revision.reasons.add(reason, std::move(detail));
}

void settle(WorkedRun& run) {
  if (run.revision.outcome == Outcome::failed) return;
  const Published& published = run.publishing.published();
  note_writing_faults(run.revision, published);
  const bool is_done =
      run.revision.outcome == Outcome::patched || run.revision.outcome == Outcome::not_valid;
  if (is_done && !published.changed) run.revision.outcome = Outcome::unchanged;
}

}  // namespace

BatchWriter::BatchWriter(Ledger& ledger) : ledger_(ledger), thread_([this] { work(); }) {}

BatchWriter::~BatchWriter() {
  const std::lock_guard guard(mutex_);
  is_over_ = true;
  changed_.notify_all();
}

void BatchWriter::put(std::vector<WorkedRun> batch) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.size() < kMostBatches || fault_; });
  if (fault_) std::rethrow_exception(fault_);
  waiting_.push_back(std::move(batch));
  changed_.notify_all();
}

void BatchWriter::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return (waiting_.empty() && !is_working_) || fault_; });
  if (fault_) std::rethrow_exception(fault_);
}

void BatchWriter::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !waiting_.empty() || is_over_; });
    if (waiting_.empty()) return;
    std::vector<WorkedRun> batch = std::move(waiting_.front());
    waiting_.pop_front();
    is_working_ = true;
    changed_.notify_all();
    lock.unlock();
    std::exception_ptr fault;
    try {
      put_in_place(batch);
    } catch (...) {
      fault = std::current_exception();
    }
    batch.clear();  // frees its locks
    lock.lock();
    if (!fault_) fault_ = fault;
    is_working_ = false;
    changed_.notify_all();
  }
}

void BatchWriter::put_in_place(std::vector<WorkedRun>& batch) {
  std::set<std::string> folders;
  for (WorkedRun& run : batch) {
    for (std::string& folder : run.publishing.folders()) folders.insert(std::move(folder));
    if (inputs_are_unchanged(run.revision)) continue;
    fail(run.revision, Reason::input_changed);
    run.publishing = Publishing(*run.revision.publication, Sync::later);  // dropped
  }
  const std::vector<std::string> file_systems = one_folder_each(folders);
  std::string fault;
  if (sync(file_systems, fault)) {
    for (WorkedRun& run : batch) run.publishing.commit_first();
    const bool is_safe = sync(file_systems, fault);
    for (WorkedRun& run : batch) run.publishing.commit_second();
    if (!sync(file_systems, fault) || !is_safe) {
      fault += "; what was just written may not outlast a power cut";
      for (WorkedRun& run : batch) fail(run.revision, Reason::aggregate_result_unwritable, fault);
    }
  } else {
    for (WorkedRun& run : batch) fail(run.revision, Reason::aggregate_result_unwritable, fault);
  }
  std::string lines;
  for (WorkedRun& run : batch) {
    settle(run);
    ledger_.add(run.revision, run.seconds, lines);
  }
  ledger_.write(lines);
}

bool BatchWriter::sync(const std::vector<std::string>& file_systems, std::string& fault) {
  try {
    sync_file_systems(file_systems);
    return true;
  } catch (const FileError& error) {
    fault = error.what();
    return false;
  }
}

std::size_t runs_in_a_batch(std::size_t open_files, unsigned jobs) {
  constexpr std::size_t kReserve = 256;  // for the walk, for what is being read
  const std::size_t batches = jobs + kMostBatches + 1;
  const std::size_t room = open_files > kReserve ? open_files - kReserve : 0;
  return std::clamp(room / (kFilesOfRun * batches), std::size_t{1}, kMostRuns);
}

void Batch::add(Revision revision, double seconds) {
  Publishing publishing(*revision.publication, Sync::later);
  // Whoever waits for a lock holds none, so that no two wait for each other.
  if (!publishing.lock(false)) {
    flush();
    writer_.wait();
    publishing.lock(true);
  }
  publishing.prepare();
  worked_.push_back({std::move(revision), std::move(publishing), seconds});
  if (worked_.size() >= most_runs_) flush();
}

void Batch::add_done(const Revision& revision, double seconds) {
  ledger_.add(revision, seconds, lines_);
  if (lines_.size() > kMostLineBytes) ledger_.write(lines_);
}

void Batch::flush() {
  ledger_.write(lines_);
  if (!worked_.empty()) writer_.put(std::exchange(worked_, {}));
}

void note_writing_faults(Revision& revision, const WritingFaults& faults) {
  if (faults.reasons.empty() && faults.sidecar_fault.empty()) return;
  revision.outcome = faults.denied ? Outcome::not_writable : Outcome::failed;
  revision.valid = false;
  revision.reasons.add(faults.reasons);
  if (!faults.sidecar_fault.empty()) {
    revision.reasons.add(Reason::validation_result_unwritable, faults.sidecar_fault);
  }
}

}  // namespace aggregate_power
