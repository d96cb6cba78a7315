// Recomputes many finished runs in parallel, and skips those that are up to date.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "aggregate_power/reason.h"
#include "aggregate_power/record_facts.h"
#include "aggregate_power/result.h"
#include "base/files/file.h"
#include "base/files/tree.h"
#include "core/record/record_read.h"
#include "core/record/transaction.h"
#include "energy/zones/zone_sources.h"
#include "runs/measure/evaluate.h"
#include "store/backfill/recompute.h"
#include "store/backfill/tally.h"
#include "store/catalogue/found_runs.h"
#include "store/catalogue/pieces.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

class Backfill {
 public:
  // Checks the stores and the output, and reads the list of runs to its end. `request` and
  // `watcher` must outlive this object. Throws Error for wrong use (a missing store), FileError if
  // the report cannot be opened.
  Backfill(const BackfillRequest& request, const BackfillWatcher& watcher);
  ~Backfill();
  Backfill(const Backfill&) = delete;
  Backfill& operator=(const Backfill&) = delete;

  // Does the work; to be called exactly once. Faults of a run are counted and reported. After a
  // signal (base/system/interruption.h) no run is begun, those in progress are put in place or
  // dropped, and the counts are of what was done. Throws FileError if the report cannot be
  // written, Error if the list of what was found cannot.
  BackfillResult run();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

// ---- Where a backfill reads and writes, checked before it starts.

struct NamedStore {
  std::string named;
  std::string real;  // the path it leads to
};

// The stores in their order, without second names of a store and without stores that the walk of an
// outer one reaches. Throws FileError for a missing one.
std::vector<NamedStore> distinct_stores(const std::vector<std::string>& names);

// The stores to walk, without duplicates. `output`: empty, or the folder for results, in which each
// store then has its own folder. Throws Error for a name that is neither a folder nor an archive,
// and for stores whose results would have the same name.
std::vector<StorePath> stores_to_walk(const std::vector<std::string>& names,
                                      const std::string& output, const StoreAccess& access);

// The walk must not find what the backfill writes: throws Error if `output` is in one of the
// stores, or is not a folder.
void require_output_outside(const std::string& output, const std::vector<StorePath>& stores);

// Raises the limit of open files as far as the system allows and the work needs: the walk holds one
// folder open per level, a batch three files per run. Returns the limit; nullopt: unknown.
std::optional<std::size_t> allow_many_open_files();

// ---- Tries one recording with one load: the result, and the time zone.

// The result has its inputs, except the other files of its run.
struct Pairing : ZonedResult {
  StorePath telemetry;
  StorePath benchmark;
  std::optional<std::int64_t> written_ns;  // when the recording was written; nullopt: copied, or
                                           // unknown
  std::string host;                        // if the recording names exactly one
  std::vector<InputFile> inputs;
  std::vector<std::pair<std::string, FileFacts>> opened;  // on disk, as they were then
  bool has_window = false;  // the load has one; otherwise there is no verdict
};

struct PairRequest {
  const RecomputeOptions& options;
  std::optional<std::int64_t> expected_num_gpus = {};
  std::string gpus_fault = {};  // of the aggregate, which states a number that cannot be read
  // Witnesses of the zone besides the recording; without them, a zone that nothing states is not
  // decided.
  const OtherWitnesses* witnesses = nullptr;
  // The aggregate's text, and its file's name.
  std::string_view aggregate = {};
  std::string_view aggregate_name = {};
  // What the aggregate calls the GPUs, if an uncertainty or idle power is wanted of this pair;
  // nullopt: neither is.
  std::optional<std::string> hardware = {};
};

// `benchmark` may be the records of an AIPerf profile. Throws FileError, or Error for a recording
// that could not be read to its end.
Pairing try_pair(const StorePath& telemetry, const StorePath& benchmark,
                 const PairRequest& request);

// Whether the window is inside the telemetry of at least one GPU. Unreadable files are neither a
// fit nor apart.
bool fits(const Pairing& pairing);
bool is_apart(const Pairing& pairing);

// ---- Chooses the recording and the benchmark result that belong together, among a run's
// candidates.

struct PairChoice {
  std::optional<Pairing> pairing;  // nullopt: that is undecidable
  bool are_own = false;            // its files certainly belong to the run
  std::string why_none;
};

using TryPair = std::function<Pairing(const StorePath& telemetry, const StorePath& load)>;

// The only pair that fits; or the only pair there is, unless its parts certainly belong to two
// runs. There must be at least one candidate of each kind. Throws FileError, and what `try_pair`
// throws.
PairChoice choose_pair(const StoredRun& run, const OneNodePieces& pieces, const TryPair& try_pair);

// The candidates without copies of each other. Throws FileError.
std::vector<StorePath> distinct_files(std::vector<StorePath> files);

// ---- Puts recomputed runs in place, many at a time, so that they share their syncs.

// A run whose temporaries are written.
struct WorkedRun {
  Recomputed recomputed;
  WriteTransaction transaction;
  double seconds = 0;
};

// Puts batches in place, one after another, while the workers continue: all temporaries, one sync,
// the renames that must come first, a sync, the other renames, a sync.
class BatchCommitter {
 public:
  explicit BatchCommitter(Tally& tally);
  ~BatchCommitter();  // waits for what was put
  BatchCommitter(const BatchCommitter&) = delete;
  BatchCommitter& operator=(const BatchCommitter&) = delete;

  // Waits while there is more than enough work. This and wait() throw what went wrong with the
  // report.
  void put(std::vector<WorkedRun> batch);
  // Waits until everything is in place.
  void wait();

 private:
  void work();
  void put_in_place(std::vector<WorkedRun>& batch);
  static std::optional<FileError> sync(const std::vector<std::string>& file_systems);

  Tally& tally_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::vector<WorkedRun>> waiting_;
  bool is_working_ = false;
  bool is_over_ = false;
  std::exception_ptr fault_;
  std::jthread thread_;  // last: it uses the others
};

// How many runs may be put in place together without exceeding the number of files that the process
// may have open.
std::size_t runs_in_a_batch(std::size_t open_files, unsigned jobs);

// What one worker collects for the committer.
class CommitBatch {
 public:
  CommitBatch(Tally& tally, BatchCommitter& writer, std::size_t most_runs)
      : tally_(tally), writer_(writer), most_runs_(most_runs) {}

  void add(Recomputed recomputed, double seconds);
  void add_done(const Recomputed& recomputed, double seconds);
  void flush();

 private:
  Tally& tally_;
  BatchCommitter& writer_;
  std::size_t most_runs_;
  std::vector<WorkedRun> worked_;
  std::string lines_;
};

// Notes as the run's outcome what could not be written, or in a dry run could not be.
void note_writing_faults(Recomputed& recomputed, const WritingFaults& faults);

// ---- What a stored run tells the other runs of its recorder about their zone.

// Returns nullopt if the run has no window. `aggregate` is the aggregate's text.
std::optional<ZoneCase> zone_case_of(const StoredRun& run, std::string_view aggregate,
                                     const Pairing& pairing);

// The same for a run that is up to date, from its record.
ZoneCase past_zone_case(const StoredRun& run, const ZoneEvidenceRecord& evidence);

// ---- The aggregate of a stored run, and where its results go.

struct RunTarget {
  std::string aggregate;
  std::string record;
  std::string root;           // both are inside it
  bool is_elsewhere = false;  // not where the aggregate is
};

struct StoredAggregate {
  std::string text;
  RunTarget target;
};

// The audit record where a run's is to be written; nullopt: there is none, or none that can be
// read, such as a link out of the store, which is not replaced either.
std::optional<std::string> earlier_record(const std::string& path);

// Throws FileError.
StoredAggregate read_aggregate(const StoredRun& run, const RecomputeOptions& options);

// Why an aggregate must not be replaced in its place: its mount does not allow that safely. Returns
// nullopt if it may be.
std::optional<std::string> replacement_fault(const StoredAggregate& aggregate);
// Throws JsonError if it is not JSON at all.
bool is_object(const StoredAggregate& aggregate);

// Whether `retract` withdrew the run's numbers, in the store or where its results go. Throws
// FileError.
bool is_retracted(const StoredRun& run, const StoredAggregate& aggregate);

// `path` relative to a folder of the store; both are relative to the store.
std::string relative_path(std::string_view folder, std::string_view path);

// The plan to write a result of the run, with all files that were read for it. `others` are the
// members of the aggregate that are not ours: the plan is good as long as they do not change.
std::unique_ptr<WritePlan> plan_of(const StoredRun& run, const StoredAggregate& aggregate,
                                   const InputFile& others,
                                   const std::vector<std::pair<std::string, FileFacts>>& inputs,
                                   const RecomputeOptions& options, Result result);

// ---- Whether a stored run was recomputed before, and the files that it was computed from are
// unchanged.

struct PastInputs {
  const StorePath& telemetry;
  const StorePath& benchmark;
  bool zone_files_count;           // false if a zone was given
  bool model_files_count;          // they do for an interval
  const std::string& calibration;  // normal path; empty: none was given
};

// Checks the two files and those beside the telemetry: everything that was read exists, nothing
// else exists that would be read, all have their recorded sizes, and none was modified at
// `record_ns` or later. A file written in the same clock tick as the record may have been written
// after it.
bool have_the_sizes(const PastInputs& inputs, const Sources& sources, std::int64_t record_ns);

// The same, but compares the recorded contents. Throws FileError.
bool have_the_hashes(const PastInputs& inputs, const Sources& sources);

// What would be done now. The paths are relative to the store.
struct PreviousQuestion {
  Contract contract;
  std::vector<RecordedOption> options;
  std::string telemetry;
  std::string benchmark;
  // Whether the inputs are as they were when the record was written. May throw FileError.
  std::function<bool(const Sources& sources, std::int64_t record_ns)> is_as_read;
};

// The record of the same run, written by this version with the same options, from inputs and an
// aggregate that have not changed since. Returns nullopt if the run must be recomputed. Throws
// FileError.
std::optional<StoredRecord> previous_record(const StoredRun& run, const StoredAggregate& aggregate,
                                            const PreviousQuestion& question);

// ---- The runs in the stores of a backfill, found round by round and worked on.

// One piece of work for a worker.
struct Task {
  StoredRun run = {};
  std::shared_ptr<const Namesakes> namesakes = {};  // null: not searched for yet
  std::string aggregate_text =
      {};  // instead of the run's places: store_path_text() of its aggregate
  // For a run that waited for the others of its recorder: its pieces are known.
  std::shared_ptr<const DecidableRun> decidable = {};
  std::optional<StorePath> archive = {};  // to be walked, instead of a run
  std::string artifact = {};              // of the archive
  std::string only_path = {};  // only the aggregate with this path in the archive is wanted
};

// The walk is only a little ahead of the workers.
class TaskQueue {
 public:
  // Waits for room. After end(), pushed tasks are dropped.
  void push(Task task);
  // Returns several tasks at a time, since most are short; none if there is none at the moment, and
  // then is_over() says whether more may come. Call finished() for each task that was popped.
  std::vector<Task> pop();
  void finished();
  void wait_until_all_are_finished();

  // No more tasks will be pushed; those that wait are still done, or dropped.
  void end(bool drop);
  bool is_over();

 private:
  std::mutex mutex_;
  std::condition_variable has_task_;
  std::condition_variable has_room_;
  std::condition_variable all_finished_;
  std::deque<Task> waiting_;
  std::uint64_t open_ = 0;  // waiting or in progress
  bool is_over_ = false;
};

// The state that the walk and the workers of a backfill share.
struct BackfillState {
  // Throws what Backfill's constructor throws. `request` and `watcher` must outlive this object.
  BackfillState(const BackfillRequest& request, const BackfillWatcher& watcher);
  BackfillState(const BackfillState&) = delete;
  BackfillState& operator=(const BackfillState&) = delete;

  const BackfillRequest& request;
  RecomputeOptions options;
  Selection selection;
  Tally tally;
  std::vector<StorePath> stores;
  MetRuns met;
  std::optional<RunList> list;  // nullopt: all runs in the stores are wanted
  ZoneCases zone_cases;
  TaskQueue tasks;
};

using TakeTask = std::function<void(Task)>;

// The first round: pushes the listed runs, and the content of the stores that are searched. Throws
// Interrupted.
void walk_stores(BackfillState& state);

// The second round: runs whose pieces may be anywhere in the stores, listed runs that were found,
// and those without an aggregate. Throws Interrupted.
void push_those_that_wait(BackfillState& state);

// The third round: runs whose zones are decided together with others of one recorder. Throws
// Interrupted.
void push_those_without_zone(BackfillState& state);

// Walks the archive of a task, and passes its content on. Faults of the archive are counted.
void search_archive(BackfillState& state, const Task& task, const TakeTask& take);

// Takes tasks until no more will come. Results to be written are left to `batch`. Throws
// Interrupted after a signal: the run in progress is dropped, but not runs that only wait to be put
// in place. Faults of a run are counted.
void do_tasks(BackfillState& state, CommitBatch& batch);

}  // namespace aggregate_power
