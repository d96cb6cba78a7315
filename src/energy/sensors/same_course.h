// Whether two devices are one GPU that is read at different moments. Pure arithmetic.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "energy/sensors/series_check.h"

namespace aggregate_power::energy {

inline constexpr std::size_t kFewestOfCourse = 20;  // readings

// Devices whose readings, at least 20 each, agree within what interpolation between them allows: at
// high and at low power they are equal on the mean.
struct Course {
  double chance = 1;        // the share of pairs of different GPUs whose power is as close
  bool is_in_step = false;  // and what varies at these levels varies in both
};
// Returns nullopt if they do not agree, if they have another number in their names and are not in
// step, or if they are read at the same moments: then equal readings are equal.
std::optional<Course> one_course(const DeviceSeries& a, const DeviceSeries& b);

// Whether to compare two devices: of more than 65,536 pairs, only those with one number in their
// names.
bool is_worth_comparing(std::string_view a, std::string_view b, std::size_t pairs);

// What pairs with one course say together.
class OneCourse {
 public:
  // A device that agrees with one of so many others, which may have its number in their names.
  void add(const Course& course, const DeviceSeries& a, const DeviceSeries& b, std::size_t others);
  // `expected`: the devices that have a partner, if the recording has each GPU twice.
  Sameness sameness(std::size_t expected) const;

 private:
  std::size_t matched_ = 0;
  double chance_ = 1;
  bool are_in_step_ = true;
};

}  // namespace aggregate_power::energy
