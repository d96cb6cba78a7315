// Cholesky's method without square roots, inside the band.
#include "energy/uncertainty/band_matrix.h"

#include <algorithm>
#include <cmath>

namespace aggregate_power {

void BandMatrix::factor() {
  std::vector<double> scaled(reach_ + 1);
  for (std::size_t j = 0; j < size_; ++j) {
    double* const pivot = &columns_[j * (reach_ + 1)];
    const std::size_t below = std::min(reach_, size_ - 1 - j);
    for (std::size_t i = 1; i <= below; ++i) {
      scaled[i] = pivot[i];
      pivot[i] /= pivot[0];
    }
    for (std::size_t i = 1; i <= below; ++i) {
      if (pivot[i] == 0) continue;
      double* const target = &columns_[(j + i) * (reach_ + 1)];
      const double factor = pivot[i];
      for (std::size_t k = i; k <= below; ++k) target[k - i] -= factor * scaled[k];
    }
  }
}

void BandMatrix::solve(std::span<double> right) const {
  for (std::size_t j = 0; j < size_; ++j) {
    const std::size_t below = std::min(reach_, size_ - 1 - j);
    for (std::size_t i = 1; i <= below; ++i) right[j + i] -= column(j)[i] * right[j];
  }
  for (std::size_t j = size_; j-- > 0;) {
    const std::size_t below = std::min(reach_, size_ - 1 - j);
    double sum = right[j] / column(j)[0];
    for (std::size_t i = 1; i <= below; ++i) sum -= column(j)[i] * right[j + i];
    right[j] = sum;
  }
}

double BandMatrix::log_determinant() const {
  double sum = 0;
  for (std::size_t j = 0; j < size_; ++j) sum += std::log(column(j)[0]);
  return sum;
}

}  // namespace aggregate_power
