// What a report shows: its runs, and the points that the repeats of each configuration make.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/facility.h"
#include "decide/compare/change.h"
#include "views/page/run_curve.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {

enum class ReportQuantity {
  energy_per_token,
  gpu_power,
  energy,
  duration,
  throughput,
  interactivity,
  temperature,
  utilization,
};
inline constexpr std::size_t kReportQuantities = 8;

// The metric by which energy is divided by work in a whole report.
struct EnergyMetric {
  std::string_view key;      // "joules_per_output_token"
  std::string_view unit;     // "J/output token"
  std::string_view formula;  // "energy / output tokens"
};
// The first that some run `has`; joules_per_output_token if none has any.
const EnergyMetric& energy_metric_of(const std::function<bool(std::string_view key)>& has);

struct QuantityFacts {
  std::string key;         // of its column
  std::string title;       // of an axis: "energy (J/output token)"
  std::string column;      // of a column: "J/output token"
  double column_unit = 1;  // that its numbers are divided by
  std::string unit;        // "J/output token"
  std::string formula;     // what it is, in a few words
};
QuantityFacts facts_of(ReportQuantity quantity, const EnergyMetric& metric);

// Nullopt: unknown, which is not 0. Power and energy are known of valid runs only.
std::optional<double> quantity_of(const PublishedRun& run, ReportQuantity quantity,
                                  const EnergyMetric& metric);
// Its interval between runs on the same boards; nullopt: the record states none.
std::optional<Spread> repeatability_of(const PublishedRun& run, ReportQuantity quantity,
                                       const EnergyMetric& metric);
// Its value with what the record states of its uncertainty.
std::optional<MeasuredValue> measured_quantity(const PublishedRun& run, ReportQuantity quantity,
                                               const EnergyMetric& metric);
// Half of the last digit that is published.
double half_digit_of(ReportQuantity quantity);

struct ReportRun {
  PublishedRun run;
  bool is_computed_here = false;            // for this report; nothing of it was written
  JsonValue record_content = {};            // of a run that was computed here
  std::optional<StorePath> telemetry = {};  // the same
  std::optional<double> limit_w = {};       // of the power of a GPU; nullopt: unknown
  std::optional<RunCurve> curve = {};
  std::string record_link = {};  // relative to the report; empty: there is no record

  // From arrange_runs().
  std::string name = {};     // without the folders that all share
  std::size_t hardware = 0;  // among ReportRuns::hardware
  Configuration configuration = {};
  std::optional<std::size_t> point = {};  // among ReportRuns::points
};

// The valid runs of one configuration.
struct ReportPoint {
  Configuration configuration;
  std::string label;  // the members that differ from those of others, without the hardware
  std::size_t hardware = 0;
  std::vector<std::size_t> runs;  // each measurement once
  std::array<std::optional<RepeatStatistics>, kReportQuantities> values = {};

  const std::optional<RepeatStatistics>& operator[](ReportQuantity quantity) const {
    return values[static_cast<std::size_t>(quantity)];
  }
};

struct ReportRuns {
  std::vector<ReportRun> runs;
  const EnergyMetric* metric = nullptr;    // by which all of them are judged
  std::vector<std::string> hardware = {};  // sorted
  Configuration shared = {};               // members that all runs have with the same value
  std::vector<std::string> varying = {};   // the keys of the others, without that of the hardware
  std::vector<ReportPoint> points = {};    // in the order of their configurations
  std::string boundary = "GPU boards";     // what was measured, of the valid runs
  FacilityRates rates = {};                // for cost and carbon; none: not asked for
  std::size_t copies = 0;                  // runs that are copies of a measurement: no repeats

  std::size_t count(PowerState state) const;
};

// Runs with equal configurations are repeats, and make a point if they are valid. `keys` make a
// configuration, with the power limit; empty: all that are known.
ReportRuns arrange_runs(std::vector<ReportRun> runs, const std::vector<std::string>& keys);

// The member of a configuration; empty: there is none.
std::string_view member_in(const Configuration& configuration, std::string_view key);

// The key under which the power limit is in a configuration.
inline constexpr std::string_view kLimitKey = "power_limit_w";

}  // namespace aggregate_power
