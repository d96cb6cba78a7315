// An energy with its interval: what a measurement is worth.
//
// Uncertainties are standard uncertainties (JCGM 100, "GUM"). Energies are in joules, powers in
// watts, times in seconds.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace aggregate_power {

// A source of error of an energy. Over all components of an estimate the squares of `joules` sum
// to the square of its standard uncertainty.
struct Component {
  std::string name;
  double joules = 0;        // standard uncertainty
  bool systematic = false;  // more readings do not make it smaller
  bool shared = false;      // by all GPUs, so that it adds up linearly
  char evaluation = 'A';    // A: from the readings; B: from elsewhere
  // Of the sensor itself: not part of the repeatability.
  bool is_accuracy = false;
};

struct Estimate {
  double joules = 0;
  std::vector<Component> components;  // without those that are zero
  double pivot_j = 0;                 // at the power about which the gain of boards turns

  double standard_uncertainty_j() const;
  double repeatability_j() const;  // the same without the accuracy of the sensors
  double low_j() const;
  double high_j() const;
  double repeatability_low_j() const;
  double repeatability_high_j() const;
};

// 95 % of a normal distribution.
inline constexpr double kCoverageFactor = 1.96;

struct Verdict {
  std::string code;
  std::vector<std::string> gpus;  // which it concerns
  std::string detail;             // for people
};

struct Correction {
  std::string name;
  double joules = 0;
};

struct CounterUse {
  bool used = false;  // it weighs more than the power
  // Between its first and its last step in the window; nullopt: there is no such stretch.
  std::optional<double> energy_j = {};
  std::optional<double> disagreement = {};  // of the counter and the power there, relative
};

struct GpuEstimate {
  std::string name;
  double published_j = 0;  // the trapezoid rule over the readings as they are
  Estimate energy;
  std::optional<CounterUse> counter;  // nullopt: there is none
  std::vector<double> windows_s;      // that the sensor may have
  std::optional<double> refresh_observed_s;
  double stale_share = 0;  // of the readings in the window that repeat a value
  std::vector<std::string> verdicts;
};

struct EnergyEstimate {
  std::vector<std::string> reasons;  // why there is no estimate; if set, there are no numbers
  std::string method;
  double published_j = 0;
  Estimate total;
  std::vector<GpuEstimate> gpus;  // in the question's order
  std::vector<Correction> corrections;
  std::vector<Verdict> verdicts;
  std::vector<std::string> assumptions;

  bool is_available() const { return reasons.empty(); }
};

}  // namespace aggregate_power
