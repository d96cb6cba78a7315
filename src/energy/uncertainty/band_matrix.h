// A symmetric, positive definite matrix whose elements far from the diagonal are zero. Pure
// arithmetic.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace aggregate_power {

class BandMatrix {
 public:
  // Elements [i, j] with |i - j| > reach are zero, and so are all others at first.
  BandMatrix(std::size_t size, std::size_t reach)
      : size_(size), reach_(reach), columns_(size * (reach + 1)) {}

  std::size_t size() const { return size_; }
  // Of the lower half: column <= row <= column + reach.
  double& at(std::size_t row, std::size_t column) {
    return columns_[column * (reach_ + 1) + row - column];
  }

  // Replaces the matrix by its factors L D L^T. Time grows with size * reach^2. Nothing above may
  // be called after it, and nothing below before it.
  void factor();
  // Replaces `right` by the solution of the equations with that right-hand side.
  void solve(std::span<double> right) const;
  double log_determinant() const;

 private:
  const double* column(std::size_t index) const { return &columns_[index * (reach_ + 1)]; }

  std::size_t size_;
  std::size_t reach_;
  std::vector<double> columns_;  // of the lower half, each from the diagonal down
};

}  // namespace aggregate_power
