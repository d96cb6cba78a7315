// Finds room for the labels of points.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "drawing/svg_layout.h"

namespace aggregate_power {

// Places labels one after the other: to the right of a point, else to the left, above or below,
// where they hide neither a point nor an earlier label; where all is taken, to the right.
class DotLabels {
 public:
  explicit DotLabels(Box area) : area_(area) {}

  void add_dot(Point place, double radius);
  struct Placed {
    double x = 0, y = 0;     // of the text's base line
    bool ends_here = false;  // x is its end, and not its beginning
  };
  Placed place(Point dot, double radius, const std::string& label);

 private:
  bool is_free(Box box) const;

  Box area_;
  std::vector<Box> taken_;
};

}  // namespace aggregate_power
