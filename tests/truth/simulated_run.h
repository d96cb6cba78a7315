// Recordings of loads of known energy, as sensors and recorders make them, with their faults.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "energy/uncertainty/estimate.h"
#include "truth/load_shapes.h"

namespace truth {

// The sensors are those of the public measurements that sensor_model.h names.
enum class Sensor {
  average_1s,  // 1.0 to 1.1 s, every 100 ms
  exact_1s,    // just as its model says: 1.0 s, every 100 ms
  full_100ms,  // 100 ms of every 100 ms
  a100,        // 25 ms of every 100 ms
  v100,        // 10 ms of every 20 ms
  amd,         // some ms, always new
  unknown,     // one of the first two; the file does not say which
};

enum class Fault { none, stuck, zeros, spikes, gaps, duplicates, reset, clock };

struct RunClass {
  std::string group;
  std::string name;
  std::vector<Shape> shapes;
  std::vector<Sensor> sensors;
  std::vector<double> periods_s;  // of the recorder
  bool counter = false;
  Fault fault = Fault::none;
  bool has_limit = true;     // whether the recording states the power limit
  bool is_long = false;      // windows of 5 to 20 minutes instead of 10 s to 2 minutes
  bool is_punctual = false;  // 8 GPUs for 25 to 45 s, asked by a loop that is never late
};
std::vector<RunClass> run_classes();

// A recording, and what it hides.
struct SimulatedRun {
  aggregate_power::EstimateQuestion question;
  Shape shape = Shape::steady;
  Sensor sensor = Sensor::average_1s;
  double period_s = 0;
  std::vector<double> true_j;    // by GPU: the energy that flowed
  std::vector<double> sensor_j;  // what the same sensor would show with perfect time resolution
  std::vector<TruePower> shown;  // by GPU: power with the gain and the offset of its board
  bool is_stuck = false;
  bool is_capped = false;
  bool is_clock_off = false;
  bool is_under_sampled = false;  // moments of a load that varies
};

// What the sensors of all GPUs would show, with perfect time resolution, of a stretch: seconds
// after the window's start.
double sensor_energy_j(const SimulatedRun& run, double from_s, double to_s);

SimulatedRun simulate(const RunClass& run_class, std::uint64_t seed);

// What is known in public of such a sensor: one model, or each that is possible.
std::vector<aggregate_power::SensorModel> known_of(Sensor sensor);
// What a board without errors of gain and offset shows of a power, around a window that starts at
// `start_unix_s`.
std::vector<aggregate_power::Sample> readings_of(Sensor sensor, const TruePower& power,
                                                 double start_unix_s, double duration_s,
                                                 double period_s, Random& random);

}  // namespace truth
