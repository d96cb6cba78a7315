#include "energy/uncertainty/uncertainty.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace aggregate_power {
namespace band_matrix_test {

using Dense = std::vector<std::vector<double>>;

// Gauss with pivots.
std::vector<double> solve_dense(Dense a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t j = 0; j < n; ++j) {
    std::size_t pivot = j;
    for (std::size_t i = j; i < n; ++i) {
      if (std::abs(a[i][j]) > std::abs(a[pivot][j])) pivot = i;
    }
    std::swap(a[j], a[pivot]);
    std::swap(b[j], b[pivot]);
    for (std::size_t i = j + 1; i < n; ++i) {
      const double factor = a[i][j] / a[j][j];
      for (std::size_t k = j; k < n; ++k) a[i][k] -= factor * a[j][k];
      b[i] -= factor * b[j];
    }
  }
  for (std::size_t j = n; j-- > 0;) {
    for (std::size_t k = j + 1; k < n; ++k) b[j] -= a[j][k] * b[k];
    b[j] /= a[j][j];
  }
  return b;
}

TEST(BandMatrix, SolvesAsGaussDoes) {
  std::mt19937 random(7);
  for (const std::size_t reach : {0U, 1U, 3U, 8U}) {
    const std::size_t n = 9;
    BandMatrix matrix(n, reach);
    Dense dense(n, std::vector<double>(n));
    // Diagonally dominant, so positive definite.
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i >= reach ? i - reach : 0; j <= i; ++j) {
        const double value = i == j ? 20 : static_cast<double>(random() % 100) / 50 - 1;
        matrix.at(i, j) = value;
        dense[i][j] = dense[j][i] = value;
      }
    }
    std::vector<double> right(n);
    for (double& one : right) one = static_cast<double>(random() % 100);
    const std::vector<double> expected = solve_dense(dense, right);
    matrix.factor();
    matrix.solve(right);
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(right[i], expected[i], 1e-12);
  }
}

TEST(BandMatrix, KnowsItsDeterminant) {
  BandMatrix matrix(2, 1);
  matrix.at(0, 0) = 4;
  matrix.at(1, 0) = 2;
  matrix.at(1, 1) = 3;
  matrix.factor();
  EXPECT_NEAR(matrix.log_determinant(), std::log(4 * 3 - 2 * 2), 1e-12);
}

}  // namespace band_matrix_test
}  // namespace aggregate_power
