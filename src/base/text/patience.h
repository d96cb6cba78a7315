// When to learn again what is only of use if what comes next is alike.
#pragma once

#include <algorithm>

namespace aggregate_power {

// The more often it was learned in vain, the longer it is left alone.
class Patience {
 public:
  // After a success, `first` occasions are let pass.
  explicit Patience(int first) : first_(first), pause_(first), left_(first) {}

  // Whether to take this occasion to learn.
  bool is_due() {
    if (left_-- > 0) return false;
    left_ = pause_ = std::min(2 * pause_ + 1, kMostPause);
    return true;
  }
  // What was learned was of use.
  void reward() { left_ = pause_ = first_; }

 private:
  static constexpr int kMostPause = 63;

  int first_;
  int pause_;
  int left_;  // occasions to let pass
};

}  // namespace aggregate_power
