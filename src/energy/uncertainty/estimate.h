// The energy of GPUs over one window as their sensors would have shown it without averaging, delay
// and pauses, and how far it may be off. Pure arithmetic: no files, no clock, no printing.
//
// Uncertainties are standard uncertainties (JCGM 100, "GUM"). Energies are in joules, powers in
// watts, times in seconds.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/energy_estimate.h"
#include "aggregate_power/sample.h"
#include "energy/uncertainty/sensor_table.h"

namespace aggregate_power {

// A change of the mean temperature, between the halves of a window, that matters.
inline constexpr double kDriftC = 3;

// What a recording says about a GPU besides power. Nullopt: it does not.
struct GpuConditions {
  std::optional<double> limit_w = {};                // the power limit in force
  std::optional<double> throttled_share = {};        // of the window, for heat or by hardware
  std::optional<double> capped_share = {};           // of the window, for the power limit
  std::optional<double> least_utilization_pct = {};  // inside the window
  // From the first half of the window to the second; and how long the GPU cools down after it.
  struct HalfChange {
    double temperature_c = 0;
    std::optional<double> utilization_pct = {};
    std::optional<double> clock_share = {};  // relative
    std::optional<double> cooling_s = {};
  };
  std::optional<HalfChange> halves = {};  // absent: few temperatures, or they hardly change
};

struct GpuReadings {
  std::string name;
  std::string model;                   // GPUs of one model share a part of their gain's error
  std::vector<Sample> samples;         // in time order
  std::vector<CounterSample> counter;  // in time order; empty: none
  // What the readings are means of: one, or each that is possible. Empty: nobody knows what they
  // measure, such as a module or a slice of a GPU.
  std::vector<SensorModel> sensors = {};
  GpuConditions conditions = {};
  Stamps stamps = Stamps::query_time;
  // What others published of it; nullopt: the trapezoid rule over the readings as they are.
  std::optional<double> published_j = {};
  std::optional<SensorAccuracy> accuracy = {};  // else the accuracy of the question
};

// Between the clocks of recorder and load generator on one host; standard.
inline constexpr double kOneHostClock_s = 0.01;

struct EstimateQuestion {
  Window window;
  std::vector<GpuReadings> gpus;
  SensorAccuracy accuracy = {};
  // Between the recorder's clock and that of the window; standard.
  double clock_uncertainty_s = kOneHostClock_s;
  // The window may be so much earlier or later; rectangular. 0: its place is known.
  double place_half_width_s = 0;
  // By at most this share of the energy, if the power shows where it may be.
  std::optional<double> place_most_share = {};
  // It is where the readings rise and fall, which is later than the load by their age.
  bool is_placed_by_power = false;
  std::size_t most_threads = 1;  // that work at GPUs with many readings
};

EnergyEstimate estimate_energy(EstimateQuestion question);

}  // namespace aggregate_power
