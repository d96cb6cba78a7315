// Collects what is wrong with one point, check after check.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text/json_value.h"
#include "verify/run/verify_runs.h"

namespace aggregate_power {

class PointFaults {
 public:
  explicit PointFaults(std::string point) : point_(std::move(point)) {}

  // The number of the check that comes now; contract-october.md 5.2.
  void begin(int check) { check_ = check; }
  void add(std::string what, std::string expected = {}, std::string found = {}) {
    add_at(point_, std::move(what), std::move(expected), std::move(found));
  }
  void add_at(std::string where, std::string what, std::string expected = {},
              std::string found = {}) {
    if (all_.size() == kMost) {
      ++dropped_;
      return;
    }
    all_.push_back(
        {check_, std::move(where), std::move(what), std::move(expected), std::move(found)});
  }
  // Unless both are equal as in Python.
  void expect(const std::string& what, const JsonValue& expected, const JsonValue& found) {
    if (!equal_in_python(expected, found)) add(what, expected.shown(), found.shown());
  }

  const std::string& point() const { return point_; }
  // In the order of the checks.
  std::vector<PublicationFault> take() {
    std::ranges::stable_sort(all_, {}, &PublicationFault::check);
    if (dropped_ > 0) {
      all_.push_back({0, point_, "and " + std::to_string(dropped_) + " more faults"});
      dropped_ = 0;
    }
    return std::exchange(all_, {});
  }

 private:
  static constexpr std::size_t kMost = 10'000;

  std::string point_;
  std::size_t dropped_ = 0;
  int check_ = 0;
  std::vector<PublicationFault> all_;
};

// A number that is finite and above 0; true is none.
inline bool is_positive(const JsonValue& value) {
  return value.is_finite_number() && value.as_double() > 0;
}

}  // namespace aggregate_power
