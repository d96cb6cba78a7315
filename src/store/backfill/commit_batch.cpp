// Collects recomputed runs in batches, and commits them on a thread.
#include "store/backfill/backfill.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace aggregate_power {
namespace {

constexpr std::size_t kMostRuns = 64;
constexpr std::size_t kFilesOfRun =
    5;  // open while it waits: two temporaries, their folders, a lock
constexpr std::size_t kMostBatches = 2;
constexpr std::size_t kMostWaitingBytes = 65536;

void fail(Recomputed& recomputed, Reason reason, std::string detail = {},
          Obstacle obstacle = Obstacle::none) {
  recomputed.outcome = Outcome::failed;
  recomputed.valid = false;
  recomputed.reasons.add(reason, std::move(detail), obstacle);
}

void fail_all(std::vector<WorkedRun>& batch, const FileError& fault, const char* more = "") {
  for (WorkedRun& run : batch) {
    fail(run.recomputed, Reason::aggregate_result_unwritable,
         fmt::format("{}{}", fault.what(), more), obstacle_of(fault.code().value()));
  }
}

void settle(WorkedRun& run) {
  if (run.recomputed.outcome == Outcome::failed) return;
  const WriteOutcome& outcome = run.transaction.outcome();
  note_writing_faults(run.recomputed, outcome);
  const bool is_done =
      run.recomputed.outcome == Outcome::patched || run.recomputed.outcome == Outcome::not_valid;
  if (is_done && !outcome.changed) run.recomputed.outcome = Outcome::unchanged;
}

}  // namespace

BatchCommitter::BatchCommitter(Tally& tally) : tally_(tally), thread_([this] { work(); }) {}

BatchCommitter::~BatchCommitter() {
  const std::lock_guard guard(mutex_);
  is_over_ = true;
  changed_.notify_all();
}

void BatchCommitter::put(std::vector<WorkedRun> batch) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.size() < kMostBatches || fault_; });
  if (fault_) std::rethrow_exception(fault_);
  waiting_.push_back(std::move(batch));
  changed_.notify_all();
}

void BatchCommitter::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return (waiting_.empty() && !is_working_) || fault_; });
  if (fault_) std::rethrow_exception(fault_);
}

void BatchCommitter::work() {
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
    batch.clear();  // releases its locks
    lock.lock();
    if (!fault_) fault_ = fault;
    is_working_ = false;
    changed_.notify_all();
  }
}

void BatchCommitter::put_in_place(std::vector<WorkedRun>& batch) {
  std::set<std::string> folders;
  for (WorkedRun& run : batch) {
    for (std::string& folder : run.transaction.folders()) folders.insert(std::move(folder));
    if (inputs_are_unchanged(run.recomputed)) continue;
    fail(run.recomputed, Reason::input_changed);
    run.transaction = WriteTransaction(*run.recomputed.plan, Sync::later);  // dropped
  }
  const std::vector<std::string> file_systems = one_folder_each(folders);
  if (const auto fault = sync(file_systems)) {
    fail_all(batch, *fault);
  } else {
    for (WorkedRun& run : batch) run.transaction.commit_first();
    const auto first = sync(file_systems);
    for (WorkedRun& run : batch) run.transaction.commit_second();
    const auto second = sync(file_systems);
    if (first || second) {
      fail_all(batch, second ? *second : *first,
               "; what was just written may not survive a power failure");
    }
  }
  std::string lines;
  for (WorkedRun& run : batch) {
    settle(run);
    tally_.add(run.recomputed, run.seconds, lines);
  }
  tally_.write(lines);
}

std::optional<FileError> BatchCommitter::sync(const std::vector<std::string>& file_systems) {
  try {
    sync_file_systems(file_systems);
    return std::nullopt;
  } catch (const FileError& error) {
    return error;
  }
}

std::size_t runs_in_a_batch(std::size_t open_files, unsigned jobs) {
  constexpr std::size_t kReserve = 256;  // for the walk, and for files that are being read
  const std::size_t batches = jobs + kMostBatches + 1;
  const std::size_t room = open_files > kReserve ? open_files - kReserve : 0;
  return std::clamp(room / (kFilesOfRun * batches), std::size_t{1}, kMostRuns);
}

void CommitBatch::add(Recomputed recomputed, double seconds) {
  WriteTransaction transaction(*recomputed.plan, Sync::later);
  // A thread that waits for a lock holds none, so that no two threads wait for each other.
  if (!transaction.lock(false)) {
    flush();
    writer_.wait();
    transaction.lock(true);
  }
  transaction.prepare();
  worked_.push_back({std::move(recomputed), std::move(transaction), seconds});
  if (worked_.size() >= most_runs_) flush();
}

void CommitBatch::add_done(const Recomputed& recomputed, double seconds) {
  tally_.add(recomputed, seconds, lines_);
  if (lines_.size() > kMostWaitingBytes) tally_.write(lines_);
}

void CommitBatch::flush() {
  tally_.write(lines_);
  if (!worked_.empty()) writer_.put(std::exchange(worked_, {}));
}

void note_writing_faults(Recomputed& recomputed, const WritingFaults& found) {
  Reasons faults = found.reasons;
  if (!found.record_fault.empty()) {
    faults.add(Reason::validation_result_unwritable, found.record_fault, found.record_obstacle);
  }
  if (faults.empty()) return;
  const bool is_denied = std::ranges::any_of(faults.entries(), [](const Reasons::Entry& fault) {
    return fault.obstacle == Obstacle::denied || fault.obstacle == Obstacle::read_only;
  });
  recomputed.outcome = is_denied || found.leads_out ? Outcome::not_writable : Outcome::failed;
  recomputed.valid = false;
  recomputed.reasons.add(faults);
}

}  // namespace aggregate_power
