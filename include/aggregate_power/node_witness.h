// What sensors beside the GPUs say of a node. It is compared with the energy of the GPUs, and never
// added to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

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

}  // namespace aggregate_power
