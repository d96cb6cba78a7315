// What one benchmark used, for people and for programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/facility.h"
#include "aggregate_power/result.h"
#include "core/load/load_files.h"
#include "runs/measure/good_work.h"

namespace aggregate_power {

using Settings = std::vector<std::pair<std::string, std::string>>;

struct RunReport {
  std::string benchmark = {};  // "2: request_rate=4.0"; empty: the result has only one
  // How it was run, by the names that aggregates use: "conc" and "16".
  Settings configuration = {};
  std::optional<double> stated_energy_j = {};  // the load generator's own figure
  bool has_approximate_counts = false;
  std::uint64_t failed_requests = 0;
  bool includes_set_up = false;  // the window is that of a command, longer than the load or failed
  std::string benchmark_failure = {};  // why its aggregate must not be valid; empty: it may be
  // The --window without which its energy is not published; empty: none is needed.
  std::string needed_window = {};
  Result result = {};                           // with the reasons and the warnings
  std::vector<runs::RoleWork> roles = {};       // empty: not asked for, or not valid
  std::optional<FacilityReport> facility = {};  // absent: not asked for
};

// "window_not_exact: give --window estimated; ...": what to do about reasons against the result, at
// most one line for each. Missing columns have one together if the file is not a recording at all.
std::vector<std::string> remedy_lines(const Result& result, const Reasons& reasons);

// How a run was run, by the names that aggregates use: what the caller states, else what the
// recording and the result do. "settings" has the names that the caller states.
struct GivenSettings {
  Settings settings = {};
  std::string gpu_model = {};
};
Settings run_configuration(const LoadReading& load, const Result& result,
                           const GivenSettings& given);
// Whether a key is one of those that a measured run has anyway, such as "valid".
bool is_measured_member(std::string_view key);
// A number of a configuration as it is written, anything else as a text in quotes.
std::string configuration_json(const std::string& text);

// {"schema": ..., "runs": [...]}: the aggregate's keys, and others with their unit in their name.
std::string report_json(const std::vector<RunReport>& runs);

// A table of at most 80 columns for each run.
std::string report_text(const std::vector<RunReport>& runs);

// What a window of that class is from: "stated by the result". Empty for an unknown class.
// `is_in_command`: it was placed in the command that was recorded.
std::string_view explained_window(std::string_view source, bool is_in_command);

}  // namespace aggregate_power
