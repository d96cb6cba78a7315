// What all ways of measuring a run share: options, and files named by the caller.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/column_names.h"
#include "aggregate_power/contract.h"
#include "aggregate_power/facility.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/record_facts.h"
#include "aggregate_power/request.h"
#include "base/files/tree.h"
#include "base/text/time_zone.h"
#include "core/energy/integrate.h"
#include "core/telemetry/gpu_identity.h"
#include "runs/deployment/roles.h"
#include "runs/measure/deliver.h"

namespace aggregate_power {

// A host's recording.
struct HostFile {
  std::string host;
  std::string csv;    // normal path
  std::string fault;  // why there is none, beyond `csv` not existing
};

// How recordings are read.
struct RecordingOptions {
  ColumnNames columns = {};
  std::optional<Zone> zone =
      {};  // for stamps without an offset; nullopt: as captured, or by evidence
};

// What the caller states; it goes before what the result says.
struct GivenLoad {
  std::optional<double> start_unix_s = {};
  std::optional<double> end_unix_s = {};
  std::optional<double> duration_s = {};
  std::optional<std::int64_t> output_tokens = {};
  std::optional<std::int64_t> input_tokens = {};
  std::optional<std::int64_t> requests = {};

  bool has_window() const { return start_unix_s || end_unix_s; }
  bool operator==(const GivenLoad&) const = default;
};

// Receives what a file would hold, instead of writing it.
using TakeText = std::function<void(const std::string& text)>;

// What is asked about the requests of a load.
struct RequestOptions {
  std::string file = {};         // normal path of a result that lists them; empty: the load's own
  std::string per_request = {};  // normal path of a new file with a line for each; empty: none
  RequestShare share = RequestShare::equal;
  bool phases = false;
  Slo slo = {};              // which of them are good
  TakeText take_lines = {};  // empty: they are written

  // Whether their energies are.
  bool shares() const { return !file.empty() || !per_request.empty() || phases; }
  bool is_asked() const { return shares() || slo.is_asked(); }
};

// How many answers of the same configuration are correct.
struct QualityOptions {
  std::string file = {};                // normal path of what an evaluation wrote; empty: none
  std::optional<double> accuracy = {};  // instead, with
  std::optional<std::int64_t> questions = {};

  bool is_asked() const { return !file.empty() || accuracy; }
};

struct RunOptions : RecordingOptions {
  Contract contract = Contract::october;
  int schema_version = 2;
  std::optional<std::int64_t> expected_num_gpus = {};  // of those selected
  bool finds_gpus = false;   // expected are as many as the aggregate or the load's result names
  bool finds_zone = false;   // a zone that nothing states is found by evidence, not the process's
  bool one_witness = false;  // one witness is enough for that
  GpuSelection gpus = {};    // for a run on one node
  double max_sample_gap_s = kDefaultMaxSampleGapS;
  double clock_offset_s = 0;  // to be added to the recording's times
  std::string idle = {};      // where idle power is from, as --idle says it; empty: not asked for
  UncertaintyOptions uncertainty = {};
  bool shows_interval = false;   // for people, although no --uncertainty asks for it
  RowKeys keys = RowKeys::seed;  // of the aggregate; others need schema 2
  // Faults elsewhere in a package do not invalidate a run; the energy of one that lacks nothing but
  // samples is bounded.
  bool salvage = false;
  std::vector<Reason> accepted = {};  // with these reasons, too, the run is published
  bool require_power = false;         // exit with status 1 if a run is not valid
  bool dry_run = false;               // report what would change; write nothing
  bool json = false;                  // report as one JSON object
  std::string select = {};  // which benchmark of a result with several; empty: the only one
  GivenLoad given = {};
  // How it was run, by the names that aggregates use; it goes before what the files say.
  std::vector<std::pair<std::string, std::string>> settings = {};
  // A window that is not exact and is used nevertheless.
  enum class Accepted { exact, estimated, wrapped };
  Accepted accepted_window = Accepted::exact;
  std::optional<Zone> result_zone = {};  // of times that the result states without an offset
  // Normal paths of what sensors beside the GPUs recorded: never summed with the GPUs.
  std::vector<std::string> witnesses = {};
  std::string calibration = {};   // normal path of a profile of `calibrate`; empty: none
  RequestOptions requests = {};   // of a run on one node, under schema 2
  FacilityOptions facility = {};  // of commands that report and publish nothing
  QualityOptions quality = {};    // the same
  TakePlan take_plan = {};        // empty: the run is written

  // Whether the readings around the window are looked at again for an interval.
  bool may_need_interval() const { return uncertainty.is_wanted || shows_interval || salvage; }
  DeliveryOptions delivery() const { return {require_power, dry_run, json, take_plan}; }
};

// One run: its files by role, as normal paths, and its options. A command uses those that it has;
// an empty one is found, or there is none.
struct RunSpec : RunOptions, PackageOptions {
  std::vector<std::string> telemetry = {};  // recordings; "-": standard input
  std::string power_dir = {};               // a package instead
  // Through which packages and the folders of agents are read.
  std::shared_ptr<const Tree> tree = disk_tree();
  bool lacks_contract = false;  // there was no place for a package's windows
  std::string bench_result = {};
  std::string agg_result = {};
  std::string validation_result = {};  // empty: the usual path, if the run has an audit record
  std::string out = {};                // a new file: the aggregate of `measure`, a picture

  // Of agents.
  std::string result_dir = {};
  std::string artifact_dir = {};                 // empty: found in result_dir
  std::optional<Zone> profile_zone = {};         // absent: as the requests show it
  std::optional<std::string> audit_source = {};  // asks for power_audit, with that source

  // Of several hosts.
  std::vector<HostFile> hosts = {};   // in the order in which they are read and recorded
  std::string no_hosts = {};          // why there are none
  std::string telemetry_source = {};  // as named in the audit record
  std::vector<RoleShare> roles = {};  // none: one whole deployment
  std::map<std::string, double> clock_offsets_s = {};  // by host; added to its stamps

  bool has_window() const { return !bench_result.empty() || given.has_window(); }
};

}  // namespace aggregate_power
