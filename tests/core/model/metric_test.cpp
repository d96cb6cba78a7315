// Published numbers, rounded as Python rounds them.
#include "aggregate_power/metric.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace metric_test {

// CPython's round().
TEST(Rounded, IsPythonsRound) {
  const struct {
    double value;
    int decimals;
    double expected;
  } cases[] = {
      {20.5078125, 6, 20.507812},  // a tie: to even
      {-20.5078125, 6, -20.507812},
      {41.015625, 5, 41.01562},
      {41.015625, 6, 41.015625},
      {0.008125, 5, 0.00813},  // no tie in binary
      {2.675, 2, 2.67},
      {1.0005, 3, 1.0},
      {0.0005, 3, 0.001},
      {0.0015, 3, 0.002},
      {0.4995, 3, 0.499},
      {0.4985, 3, 0.498},
      {349.86875, 3, 349.869},
      {347.12125, 3, 347.121},
      {2.5e-07, 6, 0.0},
      {7.5e-07, 6, 1e-06},
      {5e-07, 6, 0.0},
      {1e+22, 3, 1e+22},
      {123456789.12345678, 3, 123456789.123},
      {-1e-09, 6, -0.0},
      {0.0, 3, 0.0},
      {1.5, 0, 2.0},
      {2.5, 0, 2.0},
      {0.1, 3, 0.1},
      {1.0 / 3, 6, 0.333333},
      {2.0 / 3, 6, 0.666667},
      {1e-320, 6, 0.0},
      {std::numeric_limits<double>::max(), 3, std::numeric_limits<double>::max()},
      {600.0, 3, 600.0},
      {1.0666666666666667, 6, 1.066667},
      {1.0666665, 6, 1.066666},
      {41.01562499999999, 6, 41.015625},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(rounded(c.value, c.decimals)),
              std::bit_cast<std::uint64_t>(c.expected))
        << c.value << " to " << c.decimals << ": " << rounded(c.value, c.decimals);
  }
}

TEST(Rounded, LeavesAloneWhatIsNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(rounded(infinity, 3), infinity);
  EXPECT_EQ(rounded(-infinity, 3), -infinity);
  EXPECT_TRUE(std::isnan(rounded(std::nan(""), 3)));
}

}  // namespace metric_test
}  // namespace aggregate_power
