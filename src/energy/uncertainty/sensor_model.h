// What a reading of a power sensor is a mean of. The figures are those of public measurements:
// Yang, Adamek, Armour, "Part-time Power Measurements: nvidia-smi's Lack of Attention" (arXiv
// 2312.02741), and NVML's reference.
#pragma once

#include <optional>

namespace aggregate_power {

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

}  // namespace aggregate_power
