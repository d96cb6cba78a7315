// How wide the interval of an energy will be, before it is measured. Pure arithmetic.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "energy/sensor_model.h"

namespace aggregate_power {

// A run like one that was seen. Powers are those of one GPU.
struct RunToExpect {
  std::size_t gpus = 1;
  double window_s = 60;
  double load_w = 0;
  double idle_w = 0;
  double deviation_w = 0;  // of the readings under load; standard
  double period_s = 1;     // between two readings of a GPU
};

// A relative standard uncertainty of the energy, by its source.
struct ExpectedComponent {
  std::string name;
  double relative = 0;
};

struct ExpectedInterval {
  std::vector<ExpectedComponent> components;

  double standard() const;    // the root of the sum of their squares
  double half_width() const;  // 95 %: 1.96 times that
};

// With n GPUs at P watts each, of which I without a load, N = n * window / period readings, and
// a sensor that averages over w seconds:
//   shared gain           g_shared * |P - pivot| / P          the same for all GPUs of a model
//   gain                  g_each * |P - pivot| / P / sqrt(n)
//   offset                offset / P / sqrt(n)
//   sampling              s / P / sqrt(N)                     s: deviation of the readings
//   edges                 (P - I) / P * max(w, period) / window / sqrt(6)
//   time not seen         kPartTimeShare or kInStepShare, as in the estimate (sensor_energy.h)
//   time between windows  between_windows_share(), with s / P
//   unknown sensor        (P - I) / P * d / window            d: deviation of the sensors' delays
// An edge is anywhere within the time that one reading stands for: a rectangle, whose standard
// deviation is its width / sqrt(12), and there are two edges. Of several sensors that are possible,
// of which there is at least one, each component is that of the worst.
ExpectedInterval expected_interval(const RunToExpect& run, std::span<const SensorModel> sensors,
                                   const SensorAccuracy& accuracy = {});

}  // namespace aggregate_power
