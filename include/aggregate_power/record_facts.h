// What a run was computed from: telemetry, time zone, files, options.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "aggregate_power/contract.h"
#include "aggregate_power/gpu.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/sample.h"

namespace aggregate_power {

// How the time zone of a recording was found.

enum class ZoneWitness { stamps, zone_file, option, edges, consensus, file_time, process_zone };
enum class ZoneLevel { stated, two_witnesses, one_witness };
std::string_view name_of(ZoneWitness witness);
std::string_view name_of(ZoneLevel level);
// The inverse of name_of(). These throw Error for unknown names.
ZoneWitness witness_of(std::string_view name);
ZoneLevel level_of(std::string_view name);

// How a zone was found, for the record.
struct ZoneReport {
  ZoneLevel level = ZoneLevel::stated;
  std::vector<ZoneWitness> witnesses;
  // What the witnesses do not rule out: other offsets, kNotInRecording, and kAnyZone.
  std::vector<std::string> rivals;
};
// The recording belongs to another run: it is late, stale, foreign, or stopped.
inline constexpr const char* kNotInRecording = "not_in_recording";
// The window's own local times were read in the process's zone, which nothing states.
inline constexpr const char* kAnyZone = "any_zone";

// One run whose recording shows its offset, either by edges that fit only one candidate or by a
// zone file.
struct ZoneVote {
  double start_unix_s = 0;  // of its window
  std::int32_t offset_s = 0;
  bool is_stated = false;  // by a zone file
  double idle_w = 0;       // ZoneFinding's; 0 if unknown
  double load_w = 0;
};

// What measured the power, as far as the recording shows it.
struct Sensor {
  std::string collector = "unknown";  // the program or library that asked: "nvidia-smi", "DCGM"
  std::string name = "unknown";       // the metric or column
  std::string scope = "unknown";      // "gpu", "package", "module", "rail", "node", "wall"
  std::string averaging = "unknown";  // "instantaneous", "1 s"

  bool operator==(const Sensor&) const = default;
};

// A cumulative counter of each GPU's energy, recorded beside the power.
struct EnergyCounter {
  std::string name;   // of the column or metric
  std::string unit;   // of its numbers: "mJ", "J"
  double unit_j = 1;  // the same in joules
  // Else the unit is "unknown", and 1 J until the power shows which it is: only to compare the two.
  bool is_unit_stated = true;

  bool operator==(const EnergyCounter&) const = default;
};

// What the beginning of a recording says about it, in any format.
struct SeriesFacts {
  std::string schema = {};                           // "nvidia-smi", ...; empty: not recognised
  std::optional<std::string> timestamp_column = {};  // nullopt: there is none
  std::optional<std::string> power_column = {};
  std::optional<std::string> device_column = {};
  PowerUnit::Size unit = PowerUnit::Size::watt;
  bool names_hosts = false;   // a device's name is "host/device"
  bool naive_is_utc = false;  // the recorder writes UTC without saying so
  Interpolation interpolation = Interpolation::linear;
  bool time_of_day = false;  // its times have no date
  Sensor sensor = {};
  std::vector<std::string> gpu_models = {};  // that its beginning names, each once
  // "driver" and "550.54.15": what its columns of settings say in all of the first rows.
  std::vector<std::pair<std::string, std::string>> settings = {};
  bool has_average_power = false;  // it has a column power.draw.average
  // Other columns of the power that is read, its value at once or its mean; none if the caller
  // names the column.
  std::vector<std::string> same_power = {};
  bool has_power_limit = false;               // its rows may state their GPU's power limit
  std::optional<EnergyCounter> counter = {};  // nullopt: none, or none is seen so far
  Reasons reasons = {};                       // why it cannot be used; the contract's codes first
  std::vector<std::string> warnings = {};
  std::string foreign = {};  // what the file is instead, and what to do; empty: nothing is known
  std::vector<std::string> first_lines = {};    // for people; none of a binary file
  std::vector<std::string> given_columns = {};  // their names, if not from the file
  // A column that names the same devices as the device column, otherwise.
  struct OtherNames {
    std::string column;
    std::vector<std::string> names = {};  // in the first rows, each once
  };
  std::vector<OtherNames> other_names = {};
  // For people: where each quantity is and why it was looked for there.
  struct Line {
    std::string what;   // "timestamp", "unit"
    std::string value;  // "'power.draw [W]'", "W"; "none"
    std::string why;    // "named by --power-column"; empty: nothing to say
  };
  std::vector<Line> lines = {};

  bool has_times() const { return !reasons.contains(Reason::timestamp_column_missing); }
  bool has_power() const { return !reasons.contains(Reason::power_column_missing); }
  bool has_devices() const { return !reasons.contains(Reason::gpu_identity_column_missing); }
};

// How the telemetry was understood.
struct TelemetryFacts {
  SeriesFacts series;
  // Rows without a reading, by cause.
  std::vector<std::pair<std::string_view, std::uint64_t>> skipped;
  std::uint64_t stamps = 0;
  std::uint64_t naive_stamps = 0;  // without an offset, so read in `timezone`
  std::string timezone;            // "local", "UTC", "+05:30", "Europe/Berlin"
  // "option", "file", "default", "evidence", or "stamps": every stamp has an offset.
  std::string timezone_source;
  std::string utc_offset;                       // of that zone at the window's start
  std::vector<std::string> silent_series = {};  // of power, without a single value
  // All GPUs that it names, selected or not, and who they are.
  std::vector<std::pair<std::string, GpuKey>> gpus = {};
  std::vector<std::string> unread_gpus = {};  // selected, with readings, and none for the window
};

// A file as it was read. Its content, not its times, later decides whether it is still the same.
struct InputFile {
  std::string role;  // "telemetry", "benchmark_result", "aggregate_result", ...
  std::uint64_t bytes = 0;
  std::string hash;  // ContentHash
};

// Longest gap allowed between two samples of a GPU, unless the user gives another.
inline constexpr double kDefaultMaxSampleGapS = 3.0;

// What is asked of the interval of an energy, and what is known of its sensors.
struct UncertaintyOptions {
  bool is_wanted = false;
  std::string gpu = {};                        // model of the GPUs; empty: as the files say
  std::optional<double> sensor_accuracy = {};  // relative, standard; nullopt: as the table says
  // Between the clocks of recorder and load generator, standard; nullopt: by the number of hosts.
  std::optional<double> clock_uncertainty_s = {};

  bool operator==(const UncertaintyOptions&) const = default;
};

// What is accepted of a package, and where its files are.
struct PackageOptions {
  std::string expected_producer_sha = {};  // the trusted recorder; empty: none was named
  bool consumer_gaps = false;              // gaps are judged as the original's reader does
  std::string logs_root = {};              // normal path
  std::optional<std::string> expected_cpu_source = {};
  // With RunOptions::finds_gpus a run on one node has as many as the aggregate says.
  RoleCounts role_gpus = {};
};

// An option as a record shows it.
struct RecordedOption {
  std::string name;
  std::variant<std::string, double, std::int64_t, bool> value;

  bool operator==(const RecordedOption&) const = default;
};

// The files and options that a run was computed from. Of a run that is not in a store, only the
// options that its record does not say elsewhere, all as texts.
struct Sources {
  bool is_of_store = false;
  std::string aggregate;          // the path that was given, as of the inputs; not of a store
  std::vector<InputFile> inputs;  // of a run that is not in a store, without the aggregate
  std::vector<RecordedOption> options;
};

// How the zone of a run in a store was found.
struct ZoneEvidenceRecord {
  ZoneReport report;
  std::string recorder;  // whose other runs are the witnesses; empty: unknown
  std::optional<ZoneVote> vote;
};

// ---- What sensors beside the GPUs say of a node. It is compared with the energy of the GPUs, and
// never added to it.

struct NodeWitness {
  enum class Kind {
    counter,  // readings of an energy that goes up, in J
    power,    // readings of power, in W
    total,    // one energy for the whole of `span`
  };
  struct Reading {
    double unix_s = 0;
    double value = 0;
  };

  std::string name = {};    // of the sensor: "energy", "package-0", "job 38113"
  std::string source = {};  // what recorded it: "pm_counters", "sacct"
  // What it measures: "node", "job", "module", "cpu", "memory", "rail", "unknown".
  std::string scope = "unknown";
  Kind kind = Kind::power;
  std::vector<Reading> readings = {};
  // The energies at which the counter may start again from 0, in ascending order; empty: it does
  // not.
  std::vector<double> wraps_j = {};
  bool states_wrap = false;  // the recording says at which
  Window span = {};
  double total_j = 0;

  // Whether it measures the GPUs too, with other parts.
  bool includes_gpus() const { return scope == "node" || scope == "job"; }
};

// What a witness saw in a window.
struct WitnessEnergy {
  std::string fault = {};  // why its energy there is not known; empty: it is
  double energy_j = 0;
};

// A total, compared with the GPUs' energy in its own span.
struct WitnessSpan {
  Window span = {};
  double energy_j = 0;
  std::optional<double> gpu_energy_j = {};  // nullopt: `gpu_fault`
  std::string gpu_fault = {};
};

struct WitnessFacts {
  std::string name = {};  // among all files; the rest as in NodeWitness
  std::string source = {};
  std::string scope = {};
  std::string file = {};
  bool includes_gpus = false;
  std::optional<WitnessSpan> own_span = {};  // of a total
};

// A witness in the window of a run.
struct WitnessResult {
  WitnessFacts facts;
  WitnessEnergy seen;
  std::optional<double> gpu_ratio = {};  // the GPUs' energy to its, of a valid run
};

// What a meter of the node would have shown, by a profile of `calibrate`: never measured.
struct ModelledNode {
  std::string calibration = {};  // the profile's path
  std::string meter = {};        // whose readings it stands for
  std::string reason = {};       // why there is no energy; empty: there is one
  std::optional<double> energy_j = {};
  double low_j = 0;  // 95 %
  double high_j = 0;
};

// ---- The energy in a recorder's own report: a witness, which no number depends on.

// One leg of power_energy_*.json. Contract-october.md 9.7.
struct ReportedEnergy {
  std::string file;
  std::string leg;  // "gpu", "cpu"
  Window window;    // the report's own, which may not be the run's
  double reported_j = 0;
  std::optional<double> measured_j = {};  // by us, over that window; nullopt: `fault`
  double tolerance_j = 0;  // half an interval at each edge, which it does not interpolate
  std::string fault = {};
};

// ---- Which keys of power a run writes into its aggregate, the row that is published.
// Contract-october.md 9.2.

enum class RowKeys {
  seed,        // the keys of the original script
  row,         // those that the original's collector accepts
  agentx_row,  // the same of a run of agents
  all,         // those for dashboards, too
};
inline constexpr std::string_view kRowKeys[] = {"seed", "row", "agentx-row", "all"};

constexpr std::string_view name(RowKeys keys) { return kRowKeys[static_cast<int>(keys)]; }
// Any other text is the first one's.
constexpr RowKeys row_keys_named(std::string_view text) {
  RowKeys keys = RowKeys::seed;
  for (std::size_t i = 0; i < std::size(kRowKeys); ++i) {
    if (kRowKeys[i] == text) keys = static_cast<RowKeys>(i);
  }
  return keys;
}

// Whether the power of all GPUs at every instant is needed, and their states.
constexpr bool has_percentiles(RowKeys keys) { return keys != RowKeys::seed; }
constexpr bool has_states(RowKeys keys) { return keys == RowKeys::all; }
// Whether the row has reasons and an audit, and keys of CPUs and of salvaged energy.
constexpr bool has_audit(RowKeys keys) { return keys == RowKeys::row || keys == RowKeys::all; }
constexpr bool has_cpus(RowKeys keys) { return keys == RowKeys::seed || keys == RowKeys::all; }
constexpr bool has_salvage(RowKeys keys) { return has_cpus(keys); }

}  // namespace aggregate_power
