// What a run was computed from: telemetry, time zone, files, options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "aggregate_power/contract.h"
#include "aggregate_power/gpu.h"
#include "aggregate_power/gpu_key.h"
#include "aggregate_power/power_unit.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/sample.h"
#include "aggregate_power/zone_report.h"

namespace aggregate_power {

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
  bool has_average_power = false;             // it has a column power.draw.average
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

}  // namespace aggregate_power
