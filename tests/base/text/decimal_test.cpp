// Plain decimals in place: the nearest double, or left to others.
#include "base/text/decimal.h"

#include <cstdlib>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace aggregate_power {
namespace {

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
  for (int i = 0; i < 400'000; ++i) {
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

}  // namespace
}  // namespace aggregate_power
