// Judges estimates of energy by recordings whose truth is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "truth/coverage.h"
#include "truth/simulated_run.h"

namespace truth {

// One recording that was judged. Errors are relative to what the sensor would have shown with
// perfect time resolution, widths to the estimate.
struct Judged {
  bool has_interval = false;
  double error = 0;
  double trapezoid_error = 0;
  double repeatability_width = 0;
  double full_width = 0;
  Coverage repeatability;           // of the sensor's own energy by the narrow interval
  Coverage full;                    // of the energy that flowed by the wide one
  double repeatability_sigmas = 0;  // positive: the estimate is above the truth
};
Judged judge(const SimulatedRun& run, const aggregate_power::EnergyEstimate& estimate);

struct Figures {
  std::size_t runs = 0;
  double mean_error = 0;
  double p95_error = 0;
  double trapezoid_error = 0;
  double repeatability_width = 0;
  Coverage repeatability;
  double full_width = 0;
  Coverage full;
  double share_given = 0;
  double root_mean_square_sigmas = 0;
};
Figures figures_of(const std::vector<Judged>& judged);

// How often a verdict is given where it is due, and where it is not.
struct VerdictFigures {
  std::string code;
  std::size_t due = 0;
  std::size_t found = 0;
  std::size_t not_due = 0;
  std::size_t false_alarms = 0;

  double recall() const { return due ? static_cast<double>(found) / static_cast<double>(due) : 0; }
  double alarm_rate() const {
    return not_due ? static_cast<double>(false_alarms) / static_cast<double>(not_due) : 0;
  }
};

struct ClassFigures {
  std::string group;
  std::string name;
  Figures figures;
};

struct TruthTable {
  std::vector<ClassFigures> classes;
  std::vector<ClassFigures> groups;  // the last one, "all", is without clocks that are off
  std::vector<VerdictFigures> verdicts;

  const Figures& group(const std::string& name) const;
  const VerdictFigures& verdict(const std::string& code) const;
};

// Of run i of class c.
inline std::uint64_t seed_of(std::uint64_t first_seed, std::size_t c, std::size_t i) {
  return first_seed + 100000 * c + i;
}

// `runs` of each class whose name contains `filter`; shown if `verbose`.
TruthTable make_truth_table(std::size_t runs, std::uint64_t first_seed,
                            const std::string& filter = {}, bool verbose = false);

std::string as_text(const TruthTable& table);

}  // namespace truth
