// The table of GPUs' power sensors: what a reading of each is a mean of, as far as it is public.
//
// Sources: Yang, Adamek, Armour, "Part-time Power Measurements: nvidia-smi's Lack of Attention"
// (arXiv 2312.02741); NVML's reference for nvmlDeviceGetPowerUsage; McDaniel and others, arXiv
// 2604.06056, for AMD; AMD's documentation of amdsmi_gpu_metrics_t.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/record_facts.h"

namespace aggregate_power {

// What a reading of a power sensor is a mean of. The figures are those of public measurements:
// Yang, Adamek, Armour, "Part-time Power Measurements: nvidia-smi's Lack of Attention" (arXiv
// 2312.02741), and NVML's reference.

// A sensor shows a new value every `refresh_s`. The value is the mean power over `window_s`, which
// ended `delay_s` before the value was shown. A reading repeats the value shown last, so its age is
// between 0 and `refresh_s`.
struct SensorModel {
  double window_s = 1;
  double refresh_s = 0.1;
  double delay_s = 0.015;
  double delay_uncertainty_s = 0.012;  // standard
  // Relative standard uncertainty of window_s: of means over 1 s, lengths of 1.0 to 1.1 s were
  // measured.
  double window_uncertainty = 0.06;
  // Readings every window_s may be moments instead: their recorder writes both, and not which.
  bool may_be_moments = false;

  // A sensor that looks at a part of the time only: a load in step with it is misread, however
  // often it is asked.
  bool is_part_time() const { return window_s < 0.75 * refresh_s; }
  // Readings every `period_s` are moments if they leave out most of the time.
  bool sees_moments(double period_s) const { return window_s < period_s / 5; }
  bool is_averaged() const { return window_s >= 0.5; }
};

// How a recorder stamps its readings.
enum class Stamps {
  query_time,     // when it asked
  whole_seconds,  // when it asked, cut to the second (amd-smi)
};

// How far the sensors of boards are off: error(P) = gain * (P - pivot_w) + offset. Standard
// uncertainties, from 19 boards that were compared with an external meter: the lines of gain and
// offset cross near pivot_w.
struct SensorAccuracy {
  double shared_gain = 0.022;  // of all boards of one model
  double each_gain = 0.029;    // of each board
  double offset_w = 4.9;       // of each board
  double pivot_w = 88;
};

// As somebody calibrated all boards alike, relative; nullopt: nobody did.
inline SensorAccuracy sensor_accuracy(std::optional<double> calibrated) {
  SensorAccuracy accuracy;
  if (calibrated) {
    accuracy.shared_gain = *calibrated;
    accuracy.each_gain = 0;
  }
  return accuracy;
}

// Whether each reading is the mean of the time since the reading before.
bool are_means(const Sensor& sensor);

struct SensorQuestion {
  Sensor sensor;                    // what the recording shows of it
  std::string model = {};           // of the GPU, as a tool or a person names it; empty: unknown
  bool has_average_beside = false;  // the recording has a column power.draw.average, too
  double period_s = 1;              // of the recorder
};

struct KnownSensor {
  std::string name = "unknown";          // of the boards in the table: "A100"
  std::vector<SensorModel> models = {};  // each that is possible; empty: nobody knows
  std::string unresolved = {};           // why there is none, and what to do; for people
  // Its energy counter counts more than the GPU.
  bool counts_module = false;
  // Two dies share one sensor, which the even ids report.
  bool has_second_dies = false;
  std::optional<SensorAccuracy> accuracy = {};  // else as of boards in general
  std::vector<std::string> assumptions = {};    // codes of the audit record
};

KnownSensor known_sensor(const SensorQuestion& question);

// Whether two names can mean one GPU: "H100" and "NVIDIA H100 80GB HBM3".
bool can_be_one_model(std::string_view a, std::string_view b);

// Whether a recorder can be one of that maker's boards; true if either maker is unknown.
bool can_measure(const Sensor& sensor, std::string_view model);

// A row of the table, for people.
struct GpuSensorRow {
  std::string boards;
  std::string usage;    // of power.draw, or the only power field
  std::string average;  // of power.draw.average
  std::string instant;  // of power.draw.instant
};
std::vector<GpuSensorRow> gpu_sensor_rows();

}  // namespace aggregate_power
