// The power that GPUs really draw, on a fine grid: loads of known shape.
#pragma once

#include <string>
#include <vector>

#include "aggregate_power/sample.h"
#include "truth/random.h"

namespace truth {

using aggregate_power::Window;

enum class Shape {
  steady,
  serving,
  training,
  pipeline,
  bursts,
  cap,
  throttling,
  edges,
  batch,
  arrivals,
  stages,
  ramp
};
inline constexpr Shape kShapes[] = {
    Shape::steady, Shape::serving,    Shape::training, Shape::pipeline, Shape::bursts,
    Shape::cap,    Shape::throttling, Shape::edges};  // the others have their own classes
std::string name_of(Shape shape);

// Power of one GPU; times are seconds from the window's start.
class TruePower {
 public:
  static constexpr double kStep_s = 0.005;

  TruePower(double first_s, std::vector<double> watts);

  // Between two instants of the grid, in joules; beyond it the power is that of its ends.
  double energy_j(double from_s, double to_s) const { return until(to_s) - until(from_s); }
  double mean_w(double from_s, double to_s) const {
    return energy_j(from_s, to_s) / (to_s - from_s);
  }
  const std::vector<double>& watts() const { return watts_; }
  double first_s() const { return first_s_; }

 private:
  double until(double at_s) const;

  double first_s_;
  std::vector<double> watts_;
  std::vector<double> sums_j_;
};

struct TrueLoad {
  double duration_s = 0;  // of the window
  double limit_w = 0;     // of each GPU
  std::vector<TruePower> gpus;
};

// `lead_s` of power before and after a window of `duration_s`. The GPUs share the load's shape and
// differ in level and noise; those of a pipeline take turns.
TrueLoad make_load(Shape shape, double duration_s, std::size_t gpus, double lead_s, Random& random);

}  // namespace truth
