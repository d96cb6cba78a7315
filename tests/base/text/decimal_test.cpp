// Plain decimals in place: the nearest double, or left to others.
#include "base/text/decimal.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace decimal_test {

struct Read {
  bool is_read = false;
  double value = 0;
  std::string rest;
};

// With something behind it, and with the text's end there.
Read read(const std::string& text, const std::string& behind) {
  const std::string all = text + behind;
  Read read;
  const char* const end = all.data() + all.size();
  const char* const at = read_decimal(all.data(), end, read.value);
  read.is_read = at != nullptr;
  if (read.is_read) read.rest.assign(at, end);
  return read;
}

TEST(Decimal, IsTheNearestDouble) {
  std::mt19937_64 random(1);
  for (int i = 0; i < test::rounds(400'000); ++i) {
    const std::uint64_t most_digits = 1 + random() % 10;
    std::uint64_t bound = 1;
    for (std::uint64_t digit = 0; digit < most_digits; ++digit) bound *= 10;
    std::string text = fmt::format("{}", random() % bound);
    const std::uint64_t places = random() % 8;
    if (places > 0) text += '.';
    for (std::uint64_t place = 0; place < places; ++place) {
      text += static_cast<char>('0' + random() % 10);
    }
    for (const char* const behind : {"", ",", "\r\n", ",123.5,GPU-1\r\n", " W, 4567890"}) {
      const Read found = read(text, behind);
      if (!found.is_read) {  // too exact for a double
        const double value = std::strtod(text.c_str(), nullptr);
        EXPECT_GT(text.size(), 16u) << text;
        EXPECT_TRUE(value < 0x1p22 || value >= 0x1p31) << text;
        continue;
      }
      ASSERT_EQ(found.value, std::strtod(text.c_str(), nullptr)) << text;
      ASSERT_EQ(found.rest, behind) << text;
    }
  }
}

// Digits and at most one point, and what is neither.
TEST(WholeDecimal, IsTheNearestDoubleOrLeftToOthers) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  for (int i = 0; i < test::rounds(500'000); ++i) {
    std::string text(dice.below(21), '0');
    for (char& c : text) c = static_cast<char>('0' + dice.below(dice.one_in(3) ? 1 : 10));
    if (!text.empty() && dice.one_in(2)) text[dice.below(text.size())] = '.';
    if (!text.empty() && dice.one_in(8))
      text[dice.below(text.size())] = "./:-+eE \x00\xB0"[dice.below(10)];
    const bool has_point = std::ranges::count(text, '.') == 1;
    const bool is_decimal =
        std::ranges::all_of(text, [](char c) { return is_ascii_digit(c) || c == '.'; }) &&
        std::ranges::count(text, '.') <= 1 && !text.starts_with('.') && !text.ends_with('.');
    double value = -1;
    const bool is_short = !text.empty() && text.size() <= 16;
    ASSERT_EQ(read_whole_decimal(text, value), is_short && is_decimal)
        << text << ", TEST_SEED=" << seed;
    const bool is_long = text.size() > 16 && text.size() <= 19 && is_decimal && !has_point;
    ASSERT_EQ(read_nineteen_digits(text, value), is_long) << text << ", TEST_SEED=" << seed;
    const bool is_read = (is_short && is_decimal) || is_long;
    ASSERT_EQ(value, is_read ? std::strtod(text.c_str(), nullptr) : -1)
        << text << ", TEST_SEED=" << seed;
  }
}

TEST(Digits, AreReadWholeOrNotAtAll) {
  const std::string digits = "123456789012345678901234567890";
  for (std::size_t size = 0; size <= digits.size(); ++size) {
    const std::string text = digits.substr(0, size);
    for (const char* const behind : {"", ",", ",abcdefghijklmnopqrstuvwxyz", "/:/:/:/:/:"}) {
      const std::string all = text + behind;
      std::int64_t value = 0;
      const char* const at = read_digits(all.data(), all.data() + all.size(), value);
      if (size == 0 || size > 17) {
        EXPECT_EQ(at, nullptr) << all;
        continue;
      }
      ASSERT_NE(at, nullptr) << all;
      EXPECT_EQ(std::string(at), behind) << all;
      EXPECT_EQ(value, std::stoll(text)) << all;
    }
  }
}

// Half-way between two doubles, and a little off it: ties go to the even one.
TEST(Decimal, OfUnixTimeIsRoundedOnce) {
  for (const char* const text :
       {"1788852000.0000001", "1788852000.1234567", "2147483647.9999999", "4194304.123456789",
        "4194304.000000001", "1073741824.000000119", "1073741824.000000120", "1073741824.000000358",
        "1788852000.00000012", "1788852000.99999988"}) {
    const Read found = read(text, ",");
    ASSERT_TRUE(found.is_read) << text;
    EXPECT_EQ(found.value, std::strtod(text, nullptr)) << text;
  }
}

TEST(Decimal, IsNothingElse) {
  for (const char* const text : {"", ".", ".5", "-1", "+1", " 1", "x", ",", "e5", "\xFF"}) {
    EXPECT_FALSE(read(text, ",").is_read) << text;
    EXPECT_FALSE(read(text, ",more behind it").is_read) << text;
  }
}

TEST(Decimal, EndsWhereItsDigitsEnd) {
  EXPECT_EQ(read("1.5", ".5 and more").rest, ".5 and more");
  EXPECT_EQ(read("1234.567", "8e1, and more").value, 1234.5678);
  EXPECT_EQ(read("1234.567", "e1, and more").rest, "e1, and more");
  EXPECT_EQ(read("12345678", ".5, and more").value, 12345678.5);
  EXPECT_EQ(read("1234", "\xFF\xFF\xFF\xFF\xFF").rest, "\xFF\xFF\xFF\xFF\xFF");
}

}  // namespace decimal_test
}  // namespace aggregate_power
