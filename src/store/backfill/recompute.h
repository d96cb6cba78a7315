// Recomputes one finished run of a store: from its pieces to what is to be written, or to why
// nothing is.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/reason.h"
#include "base/files/tree.h"
#include "base/text/json_patch.h"
#include "core/record/record_read.h"
#include "core/record/transaction.h"
#include "energy/zones/zone_sources.h"
#include "runs/evaluate/run_options.h"
#include "store/catalogue/external_sort.h"
#include "store/catalogue/pieces.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

// ---- The runs in a store whose zones are decided together, after all of it has been searched.

struct ZoneCase {
  // The runner's label in the name of the run or of its artifact; else the host that the recording
  // names; else `hw` of the aggregate. Empty: unknown, and the run has no others.
  std::string recorder;
  bool is_hardware = false;  // the recorder is `hw`
  std::string aggregate;     // its displayed path
  double start_unix_s = 0;
  std::optional<ZoneVote> vote;
  bool has_load_elsewhere = false;         // ZoneFinding's
  std::string telemetry;                   // its displayed path
  std::optional<std::int64_t> written_ns;  // when the telemetry was written
  // If the run waits for the others, its pieces, as store_path_text(). Empty: it does not wait.
  std::string waiting_telemetry;
  std::string waiting_benchmark;
  bool are_own = true;  // Candidates::are_own of both

  bool waits() const { return !waiting_telemetry.empty(); }
};

// How a run compares with the others of its recorder.
struct ZoneStanding {
  std::string recorder_timezone;  // according to most of the recorder's runs; empty: fewer than two
                                  // agree
  bool contradicts = false;       // the run's own zone differs, or its load is elsewhere
  std::string contradictions;     // among all runs of the recorder, for people; empty: none
};

// A run that waited, and what the others say.
struct DecidableRun {
  StoredRun run;               // without places
  std::string aggregate_text;  // store_path_text()
  ZoneCase zone_case;
  OtherWitnesses witnesses;
  ZoneStanding standing;
};

// Memory: a little for each recorder with evidence, and 16 bytes for each run. The runs that wait
// are kept on disk.
class ZoneCases {
 public:
  // These may be called by several threads.
  // When a recording was written; for every recording that the walk finds.
  void add_written(std::int64_t written_ns, const std::string& telemetry);
  // `run` and its aggregate are those of a run that waits.
  void add(const ZoneCase& zone_case, const StoredRun& run, const std::string& aggregate_text);

  // How much of the stores was searched. If a part was not, its runs would be missing among the
  // witnesses and the contradictions, and a file's time could be that of a copy.
  struct Seen {
    bool labelled_runs = true;  // those whose artifacts' names contain the recorder's label
    bool other_runs = true;
    bool files = true;
  };
  // Passes every run that waits, in an order that depends only on the runs. Nothing is added after
  // this.
  void for_each_that_waits(const Seen& seen, const std::function<void(DecidableRun)>& take);

 private:
  struct Recorder {
    ZoneConsensus consensus;
    double first_start_unix_s = std::numeric_limits<double>::infinity();
    double last_start_unix_s = -std::numeric_limits<double>::infinity();
    // The first runs by name for each offset, and the first whose load is elsewhere.
    std::map<std::int32_t, std::map<std::string, ZoneVote>> votes;
    std::map<std::string, ZoneVote> elsewhere;
    std::optional<ZoneStanding> standing;  // set when all is known
  };
  static std::string contradictions_of(const std::string& label, const Recorder& recorder);
  static std::string timezone_of(const Recorder& recorder);
  bool is_copied(const ZoneCase& zone_case) const;
  static const ZoneStanding& standing_of(const std::string& label, Recorder& recorder);
  DecidableRun decidable(const std::string& aggregate_text, std::string_view text,
                         const Seen& seen);

  std::mutex mutex_;
  std::map<std::string, Recorder> recorders_;  // by label
  // When recordings were written, with a hash of each: different recordings written in the same
  // second were copied.
  std::vector<std::pair<std::int64_t, std::uint64_t>> written_;
  ExternalSort waiting_;
};

// What became of one finished run of a store.

enum class Outcome {
  patched,
  unchanged,
  not_valid,
  not_recomputable,
  not_writable,
  ambiguous,
  failed,
};
inline constexpr int kOutcomes = 7;
std::string_view outcome_name(Outcome outcome);

// Holds no file open, so that many can wait.
struct Recomputed {
  StoredRun run;          // without trees
  std::string telemetry;  // its displayed path; empty: none
  std::string benchmark;

  Outcome outcome = Outcome::failed;
  bool valid = false;  // its power is valid, now or as before
  Reasons reasons;
  std::vector<std::string> warnings;  // doubts that are not reasons, for people
  std::vector<std::pair<std::string, double>> metrics;
  std::string timezone;
  std::optional<ZoneReport> zone_report;  // how the timezone was found
  // The run among others of its recorder; if it has to wait for them, it has no outcome yet.
  std::optional<ZoneCase> zone_case;
  std::string aggregate_text;                 // store_path_text() of its aggregate, if it waits
  std::optional<ZoneStanding> zone_standing;  // if it waited

  // Our members of the aggregate before, as text; only where it is patched in its place.
  std::vector<JsonEdit> before;
  bool had_record = false;  // an audit record will be replaced
  std::string record_path;  // of the record, where the aggregate is patched in its place

  // What is to be written, if anything; and the files on disk that were read for it, with their
  // facts at that time.
  std::unique_ptr<WritePlan> plan;
  std::vector<std::pair<std::string, FileFacts>> inputs;

  bool is_written() const { return outcome == Outcome::patched || outcome == Outcome::not_valid; }
  // Whether its aggregate has the metrics, now or as before.
  bool stands() const { return outcome == Outcome::patched || outcome == Outcome::unchanged; }
};

// Whether the files that were read for it have not changed.
bool inputs_are_unchanged(const Recomputed& recomputed);

struct StoredAggregate;

// Options for all runs in a store. Missing ones are taken from each run: the number of GPUs from
// its aggregate, the zone from evidence, the producer's commit from its package.
struct RecomputeOptions : RunSpec {
  std::string output;               // empty: results go where the aggregate is
  std::vector<std::string> stores;  // if there is an output, nothing is written here
  bool is_searched = true;          // search the whole store for pieces, not just near the run
  bool force = false;
  bool verify = false;
  bool republish = false;  // also what was retracted
  StoreAccess access = {};
};

// Why a run cannot be recomputed, whatever its pieces: it has no aggregate, or the aggregate is in
// an archive and there is no other folder for results. Returns nullopt if it can.
std::optional<Recomputed> refused(const StoredRun& run, const RecomputeOptions& options);

// Recomputes a run that is not refused. It is not recomputable if it has no pieces of some kind. If
// there are several, the ones that fit each other are taken, provided that only these do. Never
// throws because of the run. `witnesses` are those of the zone besides the recording; without them,
// a run whose zone nothing states has no outcome yet.
Recomputed recompute(const StoredRun& run, const RunPieces& pieces, const RecomputeOptions& options,
                     const OtherWitnesses* witnesses = nullptr);

// ---- The two kinds of stored runs, each recomputed in its own way, and what they share

// Everything besides its pieces that a run is recomputed with.
struct RecomputeContext {
  const StoredAggregate& aggregate;
  const RecomputeOptions& options;
  const OtherWitnesses* witnesses = nullptr;
};

// `begun` knows its run and the first of its pieces; none is missing. These throw JsonError for an
// aggregate that is not JSON, FileError or Error for other files.
Recomputed recompute_kind(Recomputed begun, const OneNodePieces& pieces,
                          const RecomputeContext& context);
Recomputed recompute_kind(Recomputed begun, const PackagePieces& pieces,
                          const RecomputeContext& context);

// Why a run ends without a result.
struct Ending {
  Outcome outcome = Outcome::failed;
  Reason reason;
  std::string detail;
};
Recomputed ended(Recomputed run, Ending ending);

// Why an aggregate cannot be patched. Throws JsonError.
std::optional<Ending> unusable(const StoredRun& run, const StoredAggregate& aggregate);

// A run that is up to date.
Recomputed unchanged(Recomputed run, const StoredRecord& record, const StoredAggregate& aggregate);

// Notes outcome and metrics of a run whose reasons are known, and plans to write `result`, which
// knows its options and inputs. `others` as in plan_of().
Recomputed planned(Recomputed run, Result result, const InputFile& others,
                   const RecomputeContext& context);

// ---- What a backfill is asked to do.

struct BackfillRequest {
  std::vector<std::string> stores;
  RecomputeOptions recompute;
  std::string report;  // empty: none
  // A file that lists the runs, "-" for standard input (RunList); empty: all runs in the
  // stores.
  std::string runs;
  std::string only;  // a glob that the runs' names must match; empty: all
  std::uint64_t shard = 0;
  std::uint64_t shards = 1;
  unsigned jobs = 1;
  std::set<Outcome> list;  // list the runs with these outcomes
};

}  // namespace aggregate_power
