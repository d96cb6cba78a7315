// Least squares with coefficients that are not negative, and how far they may be off. Pure
// arithmetic.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace aggregate_power {

// What each observed value is explained by: rows of `columns` numbers.
struct FitRows {
  std::size_t columns = 0;  // at most 8
  std::vector<double> x = {};
  std::vector<double> y = {};
  // The last columns may have coefficients of either sign, which are known beforehand to be zero
  // within these standard deviations.
  std::vector<double> free_deviations = {};

  std::size_t size() const { return y.size(); }
  const double* row(std::size_t i) const { return x.data() + i * columns; }
};

struct NonNegativeFit {
  bool is_singular = false;  // the columns are not independent; then there is nothing else
  std::vector<double> coefficients = {};
  // Of the coefficients, row by row, by Newey and West: residuals up to `lags` rows apart may be
  // correlated. Zero for a coefficient that is held at 0.
  std::vector<double> covariance = {};
  double r2 = 0;

  double standard_error(std::size_t i) const;
  // Of the sum of the coefficients times these factors.
  double standard_error(const std::vector<double>& factors) const;
};

// Without `lags` there is no covariance.
NonNegativeFit fit_non_negative(const FitRows& rows, std::optional<std::size_t> lags);

// The condition number of the correlations of these columns: 1 if they are independent, infinite if
// one follows from the others or is constant.
double correlation_condition(const FitRows& rows, const std::vector<std::size_t>& columns);

}  // namespace aggregate_power
