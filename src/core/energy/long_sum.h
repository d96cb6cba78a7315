// A sum of doubles with twice their digits.
#pragma once

namespace aggregate_power {

class LongSum {
 public:
  void add(double value) {
    const double sum = high_ + value;
    const double part = sum - high_;
    low_ += (high_ - (sum - part)) + (value - part);  // what the sum rounds off
    high_ = sum + low_;
    low_ -= high_ - sum;
  }
  double value() const { return high_ + low_; }
  // How much was added since `earlier`, a copy of this sum.
  double since(const LongSum& earlier) const {
    return (high_ - earlier.high_) + (low_ - earlier.low_);
  }

 private:
  double high_ = 0;
  double low_ = 0;  // what high_ rounds off
};

}  // namespace aggregate_power
