// Student's t distribution by the incomplete beta function: Abramowitz and Stegun, Handbook of
// Mathematical Functions, 26.7.1 and 26.5.8.
#include "decide/compare/student_t.h"

#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>

namespace aggregate_power {
namespace {

// Beyond, the difference from the normal distribution is below 1e-9.
constexpr double kManyDegrees = 1e9;

// The continued fraction of the incomplete beta function, by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr int kMostSteps = 200000;
  constexpr double kTiny = 1e-300;
  const auto away_from_0 = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_0(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kMostSteps; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_0(1 + even * d);
    c = away_from_0(1 + even / c);
    fraction *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_0(1 + odd * d);
    c = away_from_0(1 + odd / c);
    const double change = c * d;
    fraction *= change;
    if (std::abs(change - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return fraction;
}

// `y` is 1 - x: near 1, x itself no longer holds it.
double incomplete_beta(double a, double b, double x, double y) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log(y));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, y) / b;
}

// The probability of a value above `t`, which is not negative.
double upper_tail(double t, double degrees_of_freedom) {
  if (degrees_of_freedom > kManyDegrees) return std::erfc(t / std::numbers::sqrt2) / 2;
  const double square = t * t;
  const double all = degrees_of_freedom + square;
  return incomplete_beta(degrees_of_freedom / 2, 0.5, degrees_of_freedom / all, square / all) / 2;
}

}  // namespace

double student_t_probability(double t, double degrees_of_freedom) {
  assert(degrees_of_freedom > 0);
  const double tail = upper_tail(std::abs(t), degrees_of_freedom);
  return t < 0 ? tail : 1 - tail;
}

double student_t_quantile(double probability, double degrees_of_freedom) {
  assert(probability > 0 && probability < 1);
  const double tail = std::fmin(probability, 1 - probability);
  double low = 0;
  double high = 1;
  while (upper_tail(high, degrees_of_freedom) > tail) high *= 2;
  for (double middle = high / 2; low < middle && middle < high; middle = low + (high - low) / 2) {
    (upper_tail(middle, degrees_of_freedom) > tail ? low : high) = middle;
  }
  return probability < 0.5 ? -high : high;
}

}  // namespace aggregate_power
