// Reads decimals that are laid out like one before: as long, with the point in the same place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/text/decimal.h"

namespace aggregate_power {

class DecimalLayout {
 public:
  DecimalLayout() = default;
  // That of a text which read_whole_decimal() reads.
  explicit DecimalLayout(std::string_view decimal);

  // What read_whole_decimal() reads a text as that has this layout, which the caller has checked.
  // Eight bytes from its start on may be read.
  [[gnu::always_inline]] double read(const char* text) const {
    std::int64_t number = first_.digits(text);
    if (is_long_) number = number * scale_ + last_.digits(text + last_at_);
    const auto value = static_cast<double>(number);
    return power_of_ten_ == 1 ? value : value / power_of_ten_;
  }

 private:
  // Up to eight characters, of which one may be the point.
  struct Part {
    std::uint64_t before = 0;  // the bytes before the point
    std::uint64_t after = 0;   // those after it, once they have moved to its place
    int shift = 0;             // so that the last digit comes last

    Part() = default;
    explicit Part(std::string_view text);
    [[gnu::always_inline]] std::int64_t digits(const char* text) const {
      std::uint64_t values = 0;
      std::memcpy(&values, text, sizeof values);
      values ^= 0x3030303030303030U;
      return eight_digits(((values & before) | (values >> 8 & after)) << shift);
    }
  };

  Part first_;
  Part last_;  // the last eight characters of a longer text
  bool is_long_ = false;
  std::size_t last_at_ = 0;
  std::int64_t scale_ = 1;
  double power_of_ten_ = 1;
};

}  // namespace aggregate_power
