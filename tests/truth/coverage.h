// Counts how often intervals hold the truth, and on which side they miss it.
#pragma once

#include <cstddef>
#include <string>

#include <fmt/format.h>

namespace truth {

struct Coverage {
  std::size_t given = 0;
  std::size_t above = 0;  // truths above the interval
  std::size_t below = 0;

  void add(double low, double true_value, double high) {
    ++given;
    above += true_value > high;
    below += true_value < low;
  }
  void add(const Coverage& other) {
    given += other.given;
    above += other.above;
    below += other.below;
  }
  // Shares of the given ones; 0 if there are none.
  double held() const { return share(given - above - below); }
  double missed_above() const { return share(above); }
  double missed_below() const { return share(below); }

 private:
  double share(std::size_t part) const {
    return given > 0 ? static_cast<double>(part) / static_cast<double>(given) : 0;
  }
};

inline constexpr const char* kCoverageHead = "   held  above  below";
inline std::string as_text(const Coverage& coverage) {
  return fmt::format("{:7.1f}{:7.1f}{:7.1f}", 100 * coverage.held(), 100 * coverage.missed_above(),
                     100 * coverage.missed_below());
}

}  // namespace truth
