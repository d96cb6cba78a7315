// Whether two devices are one GPU that is read at different moments. Pure arithmetic.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "aggregate_power/sample.h"
#include "energy/series_check.h"

namespace aggregate_power::energy {

// Whether the readings of two devices, at least 20 each, agree within what interpolation between
// them allows: at high and at low power they are equal on the mean, and what varies at these levels
// varies in both. Then the share of pairs of different GPUs whose power is as close. Nullopt: they
// do not agree, or are read at the same moments: then equal readings are equal.
std::optional<double> chance_of_course(std::span<const Sample> a, std::span<const Sample> b);

// What pairs with one course say together.
class OneCourse {
 public:
  // A device that agrees with one of so many others, which may have its number in their names.
  void add(double chance, std::string_view a, std::string_view b, std::size_t others);
  // `expected`: the devices that have a partner, if the recording has each GPU twice.
  Sameness sameness(std::size_t expected) const;

 private:
  std::size_t matched_ = 0;
  double chance_ = 1;
};

}  // namespace aggregate_power::energy
