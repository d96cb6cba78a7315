// Recordings as files, of loads that are known: what recorders write, before anything is wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/sample.h"
#include "truth/load_shapes.h"
#include "truth/random.h"

namespace truth {

using aggregate_power::Sample;

// The rows of one GPU. The other members are as long as `samples`, or empty.
struct RecordedGpu {
  std::string name;
  std::vector<Sample> samples;
  std::vector<double> utilization_pct = {};
  std::vector<double> temperature_c = {};
  std::vector<double> counter_j = {};
  std::vector<double> limit_w = {};

  // Removes a row.
  void erase(std::size_t row);
};

struct RecordedRun {
  std::vector<std::vector<RecordedGpu>> files;
  Window window;
  int decimals = 2;                  // of a reading
  std::string unit_in_header = "W";  // which may be wrong
  bool names_gpus = true;            // has a column of them
  std::optional<int> expected = {};  // the number of GPUs that the caller states
  double max_sample_gap_s = 3;       // that the caller accepts
  double true_j = 0;                 // what a sound recording says

  std::vector<RecordedGpu>& gpus() { return files.front(); }
};

// How a sound recording is made.
struct RecordingStyle {
  std::vector<Shape> shapes = {std::begin(kShapes), std::end(kShapes)};
  std::vector<std::size_t> gpus = {1, 2, 4};
  std::vector<double> periods_s = {1, 1, 1, 0.5, 0.2, 2};
  std::vector<double> quanta_w = {0.01, 0.01, 1, 0.001, 0.1};
  double states_share = 0.6;  // of recordings that have utilization and temperature
  bool has_counter = false;
  bool has_idle = false;  // around the window, for some seconds
  // Each GPU is there once more, read so many seconds later, under other names; they count as
  // none in `true_j`.
  std::optional<double> again_s = {};
};
RecordedRun sound_run(const RecordingStyle& style, Random& random);

// The energy of the GPUs by the trapezoid rule.
double trapezoid_j(const std::vector<RecordedGpu>& gpus, Window window);

double rounded_to(double watts, double quantum_w);

// As nvidia-smi writes it, with Unix times. GPUs in the order of time.
std::string as_recording(const RecordedRun& run, const std::vector<RecordedGpu>& gpus);

}  // namespace truth
