// The runs that were published: the numbers of aggregates with what audit records know of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/files/tree.h"
#include "base/text/json_value.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

class Recording;

// An interval of 95 % and its standard uncertainty, in the unit of the number.
struct Spread {
  double estimate = 0;  // which is not the middle of all bounds
  double standard_uncertainty = 0;
  double low = 0;
  double high = 0;
};

struct PublishedNumber {
  std::string key;
  double value = 0;
  // Of the energy that flowed, and of the same boards; nullopt: the record states none.
  std::optional<Spread> flowed = {};
  std::optional<Spread> repeatability = {};
};

enum class PowerState {
  valid,
  not_valid,  // refused, or the aggregate and its record contradict each other
  none,       // the aggregate has no power
};

struct PublishedRun {
  std::string name;      // of the file that it was read from, for people
  std::string identity;  // the same for whatever leads to the file; empty: it was not read from one
  std::string aggregate;  // displayed path; empty: there is none
  std::optional<StorePath> record;

  PowerState state = PowerState::none;
  std::vector<std::string> reasons;   // of a run that is not valid
  std::vector<std::string> accepted;  // reasons that its caller accepted
  std::string doubt;                  // why it was made not valid here; empty: it was not
  bool is_impossible = false;         // the doubt is about its numbers alone, not about its record

  JsonValue members;  // of the aggregate, without lists: what the benchmark wrote, and our keys
  // The metrics in their order; empty unless the run is valid.
  std::vector<PublishedNumber> numbers;

  // From the record, or else from the aggregate's power_audit; 0, NaN or empty where they do not
  // say.
  double start_unix_s = 0;
  double duration_s = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t completed_requests = 0;
  std::vector<std::string> gpu_ids;    // sorted
  std::vector<std::string> gpu_uuids;  // sorted; of all GPUs, or empty
  std::vector<std::string> hosts;      // sorted
  // The energy of each GPU, in the order of the record; empty unless the run is valid.
  std::vector<std::pair<std::string, double>> gpu_energies_j;
  std::string telemetry;  // as the record names it
  // Of a run that was measured here: its recording, and what a record would say of how it was read.
  std::optional<StorePath> recording;
  JsonValue read_as;
  std::string collector;
  std::string schema;
  std::string scope;  // of the sensor: "gpu", "module", "node"; hosts that differ: empty
  std::string tool_version;
  std::vector<std::string> verdicts;

  // Nullopt: the run has no such number, or is not valid.
  std::optional<PublishedNumber> number(std::string_view key) const;
  // A member of the aggregate as people write it ("4", "fp8", "true"); empty: there is none. A path
  // such as "parallelism.tp" leads into objects.
  std::string text_of(std::string_view key) const;
};

// What the configuration of a run is called: the members of its aggregate that say how it was run,
// not what came out. Ordered: hardware, software, model, parallelism, load.
using Configuration = std::vector<std::pair<std::string, std::string>>;
// `keys`: the members to use; empty: all that are known to say how a run was run. Missing ones are
// left out. What `measure --set` named counts, too.
Configuration configuration_of(const PublishedRun& run, const std::vector<std::string>& keys);
// Those known ones.
std::span<const std::string_view> configuration_keys();
// "hw=h100 tp=8 conc=16"; "(no configuration)" if it is empty.
std::string configuration_text(const Configuration& configuration);

// Throws Error, with the nearest name, for one of `keys` that no run has: it is misspelt. `option`
// gave them.
void require_members(std::string_view option, const std::vector<const PublishedRun*>& runs,
                     const std::vector<std::string>& keys);

// When it began and how long it took; else 0 and all numbers of ours; a value that was measured;
// and the GPUs by id, UUID and host.
using MeasurementIdentity =
    std::tuple<double, double, std::vector<std::pair<std::string, double>>, double,
               std::vector<std::string>, std::vector<std::string>, std::vector<std::string>>;
// Equal for copies alone: two runs on the same GPUs do not begin at the same instant, and two runs
// do not agree in every digit of several numbers. Returns nullopt if it is not known when the run
// began and fewer than two of its numbers have five digits.
std::optional<MeasurementIdentity> measurement_identity(const PublishedRun& run, double value);

// The schema of its metrics: 1, the mean of samples times the duration, or 2, integrals. 0: it has
// none.
int metric_schema(const PublishedRun& run);

// `members`: the aggregate's; an object without members if it was not found. `record`: nullptr if
// there is none. The places are the caller's to fill in.
PublishedRun published_run_of(JsonValue members, const JsonValue* record);

// One of the runs in the output of `measure --json`.
PublishedRun measured_run_of(const JsonValue& measured);

// "power_validation*.json"
bool is_run_record_name(std::string_view name);
// "*.json": of a record, too, if an option named it
bool is_json_name(std::string_view name);
// The results of agents, with their record, are this far below what their aggregate is in.
inline constexpr int kNearLevels = 5;
// "agg_*.json"
bool is_aggregate_name(std::string_view name);

struct PublishedRuns {
  std::vector<PublishedRun> runs;     // in the order of the places, sorted within a folder
  std::vector<std::string> warnings;  // files that were passed over, and why
  std::vector<std::string> notes;     // what was done besides reading
};

// The runs at `places`, each once, read in parallel. A place is an aggregate, an array of them, an
// audit record, the output of `measure --json`, the report of a backfill (.jsonl), or a folder or
// archive with any of the first two at any depth; archives below a folder count as folders. Throws
// FileError for a place that cannot be opened, Error for a file that is none of these. Within a
// folder such files are passed over.
PublishedRuns read_published_runs(const std::vector<std::string>& places, unsigned most_threads,
                                  const StoreAccess& access = {});

// The recording that a run's record names, where it is now, or by which it was measured here.
// Returns nullopt if its store has none. May throw FileError.
std::optional<StorePath> telemetry_of(const PublishedRun& run);
// What is recorded of a run that has one. Throws FileError.
JsonValue record_of(const PublishedRun& run);
// Opens that recording, as it was read then. `telemetry`: a file. `record`: the run's audit record,
// which says how its stamps and columns were understood. Throws FileError.
std::unique_ptr<Recording> recording_of_run(const StorePath& telemetry, const JsonValue& record);

}  // namespace aggregate_power
