// The mean of doubles, rounded once, as in Python's statistics.mean.
#pragma once

#include <array>
#include <cstdint>

namespace aggregate_power {

// Adds finite numbers without any rounding, in a fixed-point number wide enough for all doubles.
// A sum of doubles rounds at every step; means of two-decimal readings are on rounding
// ties often enough for that to show in the third decimal (contract.md A.7).
class ExactMean {
 public:
  void add(double value);
  std::uint64_t count() const { return count_; }
  // The double nearest to sum / count, ties to even. 0 if there are no values.
  double mean() const;

 private:
  // Units of 2^-1074, the smallest double; 64 bits more than the largest double needs, and a sign.
  static constexpr int kLimbs = 34;
  std::array<std::uint64_t, kLimbs> limbs_{};  // lowest first; in two's complement
  std::uint64_t count_ = 0;
};

}  // namespace aggregate_power
