// How much a quantity changed between two sets of measurements, with an interval of 95 %. Pure
// arithmetic.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace aggregate_power {

struct MeasuredValue {
  double value = 0;  // positive
  // Relative standard uncertainties: of the measurement on the same boards, and what their sensors
  // add to it between boards. Nullopt: not stated.
  std::optional<double> repeatability = {};
  std::optional<double> accuracy = {};
  double shared_gain = 0;  // the part of the accuracy that all boards of one model share
  // What is stated to hold the value on the same boards, with 95 %; need not have it in its middle.
  std::optional<std::pair<double, double>> bounds = {};
};

// Repeats of one configuration, or a single measurement.
struct RepeatedValues {
  std::vector<MeasuredValue> values;
  double half_last_digit = 0;  // of the values as they were published
};

struct RepeatStatistics {
  std::size_t count = 0;
  double mean = 0;
  double median = 0;
  double smallest = 0;
  double largest = 0;
  std::optional<double> standard_deviation = {};  // of the sample; from two values on
  // Of the mean, relative; nullopt: one value whose uncertainty is not stated.
  std::optional<double> uncertainty = {};
  double degrees_of_freedom = 0;
  // What holds the mean, and for one value the bounds that are stated; nullopt with the
  // uncertainty.
  std::optional<double> low = {};
  std::optional<double> high = {};
};

// `values` are not empty; their order changes no digit. Values that are equal are still uncertain
// by their rounding and by what their measurements state, whichever is more than their spread.
RepeatStatistics repeat_statistics(const RepeatedValues& values);

enum class ChangeMethod {
  welch,        // repeats on both sides
  one_spread,   // repeats on one side: their spread is taken for the single one as well
  measurement,  // one on each side: by what they state themselves
};

std::string_view change_method_name(ChangeMethod method);

// How often an interval may miss the true change, both sides together.
inline constexpr double kChangeAlpha = 0.05;

// The uncertainty of one side's mean.
struct MeanUncertainty {
  double relative = 0;
  double degrees_of_freedom = std::numeric_limits<double>::infinity();
};

// The degrees of freedom of a sum whose variance is `square` (JCGM 100, G.4); may be infinite.
double welch_satterthwaite(double square, const MeanUncertainty& base, const MeanUncertainty& next);

struct RelativeChange {
  double change = 0;  // 0.01: the mean is 1 % more
  double low = 0;
  double high = 0;
  double degrees_of_freedom = 0;  // infinite: all uncertainties are stated
  ChangeMethod method = ChangeMethod::welch;
};

// Of the means of two sides, with the standard uncertainty of its logarithm.
struct MeanRatio {
  double ratio = 1;
  double uncertainty = 0;
  double degrees_of_freedom = 0;
  ChangeMethod method = ChangeMethod::welch;

  // Whether the interval of relative_change() is above 0.
  bool is_certainly_above_one(double alpha = kChangeAlpha) const;
};

// As relative_change() says. Each side comes with its statistics.
std::optional<MeanRatio> ratio_of_means(const RepeatedValues& base, const RepeatStatistics& before,
                                        const RepeatedValues& next, const RepeatStatistics& after,
                                        double accuracy);

// The ratio of the means, less 1. Its logarithm has the sum of the squared relative uncertainties
// of the means (JCGM 100, 5.1.6) and, by the formula of Welch and Satterthwaite (JCGM 100, G.4),
// degrees of freedom that need not be whole. `accuracy`: between different boards, the relative
// uncertainty of the sensors of both sides, which repeats do not lessen; else 0. Nullopt: one value
// on each side, and one of them states no uncertainty.
std::optional<RelativeChange> relative_change(const RepeatedValues& base,
                                              const RepeatedValues& next, double accuracy,
                                              double alpha = kChangeAlpha);

}  // namespace aggregate_power
