// Tries every set of coefficients that may be above zero: there are few.
#include "energy/shares/non_negative_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>

namespace aggregate_power {
namespace {

// A square matrix, row by row.
struct Square {
  explicit Square(std::size_t order) : n(order), cells(order * order) {}
  double& at(std::size_t i, std::size_t j) { return cells[i * n + j]; }
  double at(std::size_t i, std::size_t j) const { return cells[i * n + j]; }

  std::size_t n;
  std::vector<double> cells;
};

// The inverse of a symmetric positive definite matrix; nullopt if it is not, or hardly so. Scaled,
// so that columns of any size are judged alike.
std::optional<Square> inverse_of(const Square& matrix) {
  constexpr double kLeastPivot = 1e-10;
  const std::size_t n = matrix.n;
  std::vector<double> scale(n);
  for (std::size_t i = 0; i < n; ++i) scale[i] = std::sqrt(matrix.at(i, i));
  Square left(n);
  Square right(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (!(scale[i] > 0)) return std::nullopt;
    right.at(i, i) = 1;
    for (std::size_t j = 0; j < n; ++j) left.at(i, j) = matrix.at(i, j) / (scale[i] * scale[j]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double pivot = left.at(i, i);
    if (!(pivot > kLeastPivot)) return std::nullopt;
    for (std::size_t j = 0; j < n; ++j) {
      left.at(i, j) /= pivot;
      right.at(i, j) /= pivot;
    }
    for (std::size_t k = 0; k < n; ++k) {
      const double factor = left.at(k, i);
      if (k == i || factor == 0) continue;
      for (std::size_t j = 0; j < n; ++j) {
        left.at(k, j) -= factor * left.at(i, j);
        right.at(k, j) -= factor * right.at(i, j);
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) right.at(i, j) /= scale[i] * scale[j];
  }
  return right;
}

using Columns = std::vector<std::size_t>;

Square products_of(const FitRows& rows, const Columns& columns) {
  Square products(columns.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const double* const x = rows.row(row);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      for (std::size_t j = 0; j < columns.size(); ++j) {
        products.at(i, j) += x[columns[i]] * x[columns[j]];
      }
    }
  }
  return products;
}

// Least squares in some of the columns; the others' coefficients are 0.
struct Solution {
  Columns columns;
  std::vector<double> coefficients;  // of all columns
  Square inverse;
  double residuals = 0;  // the sum of their squares
};

std::vector<double> residuals_of(const FitRows& rows, const std::vector<double>& coefficients) {
  std::vector<double> residuals(rows.y);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < rows.columns; ++i) {
      residuals[row] -= coefficients[i] * rows.row(row)[i];
    }
  }
  return residuals;
}

double squares_of(const std::vector<double>& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

// What is known beforehand of a coefficient, as so many squares of its column, if the residuals'
// variance is this; 0: nothing is.
double known_squares(const FitRows& rows, std::size_t column, double variance) {
  const std::size_t first_free = rows.columns - rows.free_deviations.size();
  if (column < first_free) return 0;
  const double deviation = rows.free_deviations[column - first_free];
  return variance / (deviation * deviation);
}

std::optional<Solution> solve(const FitRows& rows, const Columns& columns, double variance) {
  Square products = products_of(rows, columns);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    products.at(i, i) += known_squares(rows, columns[i], variance);
  }
  auto inverse = inverse_of(products);
  if (!inverse) return std::nullopt;
  std::vector<double> sums(columns.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      sums[i] += rows.row(row)[columns[i]] * rows.y[row];
    }
  }
  Solution solution{columns, std::vector<double>(rows.columns), std::move(*inverse)};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      solution.coefficients[columns[i]] += solution.inverse.at(i, j) * sums[j];
    }
  }
  solution.residuals = squares_of(residuals_of(rows, solution.coefficients));
  return solution;
}

// The sandwich of Newey and West with Bartlett's weights.
Square covariance_of(const FitRows& rows, const Solution& solution, std::size_t lags) {
  const std::size_t k = solution.columns.size();
  const std::vector<double> residuals = residuals_of(rows, solution.coefficients);
  const auto scores = [&](std::size_t row, std::size_t i) {
    return residuals[row] * rows.row(row)[solution.columns[i]];
  };
  Square middle(k);
  for (std::size_t lag = 0; lag <= std::min(lags, rows.size() - 1); ++lag) {
    const double weight = 1 - static_cast<double>(lag) / static_cast<double>(lags + 1);
    for (std::size_t row = lag; row < rows.size(); ++row) {
      for (std::size_t i = 0; i < k; ++i) {
        for (std::size_t j = 0; j < k; ++j) {
          const double product = weight * scores(row, i) * scores(row - lag, j);
          middle.at(i, j) += product;
          if (lag > 0) middle.at(j, i) += product;
        }
      }
    }
  }
  const auto n = static_cast<double>(rows.size());
  const double variance = solution.residuals / n;
  for (std::size_t i = 0; i < k; ++i) {
    middle.at(i, i) += variance * known_squares(rows, solution.columns[i], variance);
  }
  const double few = n / (n - static_cast<double>(k));
  Square covariance(k);
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j < k; ++j) {
      for (std::size_t a = 0; a < k; ++a) {
        for (std::size_t b = 0; b < k; ++b) {
          covariance.at(i, j) +=
              few * solution.inverse.at(i, a) * middle.at(a, b) * solution.inverse.at(b, j);
        }
      }
    }
  }
  return covariance;
}

// The best of all solutions without negative coefficients where these are not allowed.
std::optional<Solution> solve(const FitRows& rows, double variance) {
  Columns all(rows.columns);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::size_t bound = rows.columns - rows.free_deviations.size();
  const auto is_allowed = [bound](const Solution& solution) {
    return std::ranges::all_of(solution.coefficients.begin(),
                               solution.coefficients.begin() + static_cast<std::ptrdiff_t>(bound),
                               [](double each) { return each >= 0; });
  };
  std::optional<Solution> best = solve(rows, all, variance);
  if (!best || is_allowed(*best)) return best;
  best.reset();
  for (std::uint32_t set = 1; set + 1 < (1U << bound); ++set) {
    Columns some;
    for (const std::size_t column : all) {
      if (column >= bound || ((set >> column) & 1U)) some.push_back(column);
    }
    std::optional<Solution> solution = solve(rows, some, variance);
    if (!solution || !is_allowed(*solution)) continue;
    if (!best || solution->residuals < best->residuals) best = std::move(solution);
  }
  return best;
}

// The eigenvalues of a symmetric matrix, by Jacobi's rotations.
std::vector<double> eigenvalues_of(Square matrix) {
  constexpr int kSweeps = 50;
  const std::size_t n = matrix.n;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        if (matrix.at(p, q) == 0) continue;
        const double theta = (matrix.at(q, q) - matrix.at(p, p)) / (2 * matrix.at(p, q));
        const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1);
        const double s = t * c;
        for (std::size_t k = 0; k < n; ++k) {
          const double a = matrix.at(k, p);
          const double b = matrix.at(k, q);
          matrix.at(k, p) = c * a - s * b;
          matrix.at(k, q) = s * a + c * b;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double a = matrix.at(p, k);
          const double b = matrix.at(q, k);
          matrix.at(p, k) = c * a - s * b;
          matrix.at(q, k) = s * a + c * b;
        }
      }
    }
  }
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(matrix.at(i, i));
  return values;
}

}  // namespace

double NonNegativeFit::standard_error(std::size_t i) const {
  return std::sqrt(std::max(0.0, covariance[i * coefficients.size() + i]));
}

double NonNegativeFit::standard_error(const std::vector<double>& factors) const {
  double variance = 0;
  const std::size_t n = coefficients.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) variance += factors[i] * factors[j] * covariance[i * n + j];
  }
  return std::sqrt(std::max(0.0, variance));
}

NonNegativeFit fit_non_negative(const FitRows& rows, std::optional<std::size_t> lags) {
  const auto n = static_cast<double>(rows.size());
  if (rows.size() <= rows.columns) return {.is_singular = true};
  std::optional<Solution> best = solve(rows, 0);
  if (best && !rows.free_deviations.empty()) best = solve(rows, best->residuals / n);
  if (!best) return {.is_singular = true};
  NonNegativeFit fit;
  fit.coefficients = best->coefficients;
  fit.covariance.resize(rows.columns * rows.columns);
  if (lags) {
    const Square covariance = covariance_of(rows, *best, *lags);
    for (std::size_t i = 0; i < best->columns.size(); ++i) {
      for (std::size_t j = 0; j < best->columns.size(); ++j) {
        fit.covariance[best->columns[i] * rows.columns + best->columns[j]] = covariance.at(i, j);
      }
    }
  }
  const double mean = std::accumulate(rows.y.begin(), rows.y.end(), 0.0) / n;
  double spread = 0;
  for (const double y : rows.y) spread += (y - mean) * (y - mean);
  fit.r2 = spread > 0 ? 1 - best->residuals / spread : 0;
  return fit;
}

double correlation_condition(const FitRows& rows, const std::vector<std::size_t>& columns) {
  const auto n = static_cast<double>(rows.size());
  std::vector<double> means(columns.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < columns.size(); ++i) means[i] += rows.row(row)[columns[i]] / n;
  }
  Square spreads(columns.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      for (std::size_t j = 0; j < columns.size(); ++j) {
        spreads.at(i, j) +=
            (rows.row(row)[columns[i]] - means[i]) * (rows.row(row)[columns[j]] - means[j]);
      }
    }
  }
  Square correlations(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const double scale = std::sqrt(spreads.at(i, i)) * std::sqrt(spreads.at(j, j));
      if (!(scale > 0)) return std::numeric_limits<double>::infinity();
      correlations.at(i, j) = spreads.at(i, j) / scale;
    }
  }
  const std::vector<double> values = eigenvalues_of(correlations);
  const auto [least, most] = std::ranges::minmax(values);
  if (!(least > 0)) return std::numeric_limits<double>::infinity();
  return std::sqrt(most / least);
}

}  // namespace aggregate_power
