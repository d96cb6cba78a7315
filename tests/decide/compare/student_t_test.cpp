// Student's t against published tables, closed forms and another program.
#include "energy/uncertainty/interval.h"

#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace student_t_test {

TEST(StudentT, HasTheQuantilesOfPublishedTables) {
  struct {
    double probability, degrees_of_freedom, quantile;
  } constexpr kTable[] = {
      {0.975, 1, 12.706205}, {0.975, 2, 4.302653},  {0.975, 3, 3.182446},  {0.975, 4, 2.776445},
      {0.975, 5, 2.570582},  {0.975, 10, 2.228139}, {0.975, 30, 2.042272}, {0.975, 120, 1.979930},
      {0.95, 4, 2.131847},   {0.995, 4, 4.604095},  {0.9, 20, 1.325341},
  };
  for (const auto& row : kTable) {
    EXPECT_NEAR(student_t_quantile(row.probability, row.degrees_of_freedom), row.quantile, 5e-7)
        << row.probability << ' ' << row.degrees_of_freedom;
    EXPECT_NEAR(student_t_quantile(1 - row.probability, row.degrees_of_freedom), -row.quantile,
                5e-7);
  }
}

// By numerical integration of the density with 30 digits (mpmath).
TEST(StudentT, TakesDegreesOfFreedomThatAreNotWhole) {
  EXPECT_NEAR(student_t_quantile(0.975, 1.2), 8.64882651074887, 1e-10);
  EXPECT_NEAR(student_t_quantile(0.975, 2.5), 3.57465484200368, 1e-11);
  EXPECT_NEAR(student_t_quantile(0.975, 3.7), 2.86752070719119, 1e-11);
  EXPECT_NEAR(student_t_quantile(0.975, 1000), 1.96233908082641, 1e-11);
}

// One: a Cauchy distribution; two: t / sqrt(2 + t^2) is uniform.
TEST(StudentT, HasTheClosedFormsOfOneAndTwoDegrees) {
  for (const double probability : {0.51, 0.6, 0.9, 0.975, 0.9999}) {
    EXPECT_NEAR(
        student_t_quantile(probability, 1) / std::tan(std::numbers::pi * (probability - 0.5)), 1,
        1e-11);
    const double whole = (2 * probability - 1) / std::sqrt(2 * probability * (1 - probability));
    EXPECT_NEAR(student_t_quantile(probability, 2) / whole, 1, 1e-11);
  }
}

TEST(StudentT, IsNormalWithManyDegrees) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_NEAR(student_t_quantile(0.975, kInfinite), 1.959963984540054, 1e-12);
  EXPECT_NEAR(student_t_quantile(0.975, 1e8), 1.959963984540054, 1e-7);
  EXPECT_NEAR(student_t_probability(1, kInfinite), 0.841344746068543, 1e-12);
}

// One minus these tails is 1. With one degree of freedom, t is the cotangent of pi times the tail.
TEST(StudentT, HasQuantilesFarOut) {
  const double far = 1e-23;
  EXPECT_NEAR(student_t_upper_quantile(far, 1) * std::numbers::pi * far, 1, 1e-9);
  const double ten = std::erfc(10 / std::numbers::sqrt2) / 2;
  EXPECT_NEAR(student_t_upper_quantile(ten, std::numeric_limits<double>::infinity()), 10, 1e-9);
}

TEST(StudentT, TurnsQuantilesIntoTheirProbabilities) {
  for (const double degrees : {1.0, 2.3, 4.0, 17.5, 300.0}) {
    for (const double probability : {0.001, 0.2, 0.5, 0.7, 0.999}) {
      const double quantile = student_t_quantile(probability, degrees);
      EXPECT_NEAR(student_t_probability(quantile, degrees), probability, 1e-12);
    }
  }
}

}  // namespace student_t_test
}  // namespace aggregate_power
