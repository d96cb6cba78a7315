// Numbers as Python reads them. What is expected was taken from CPython 3.11's int() and float().
#include "base/text/decimal.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace python_number_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(PythonInt, ReadsWhatIntReads) {
  const struct {
    const char* text;
    std::optional<std::int64_t> value;
  } cases[] = {
      {"8", 8},      {" 8\n", 8},
      {"+8", 8},     {"-8", -8},
      {"007", 7},    {"1_000", 1000},
      {"\u0668", 8}, {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
      {"", {}},      {"+", {}},
      {"+-8", {}},   {"++8", {}},
      {"_8", {}},    {"8_", {}},
      {"1__0", {}},  {"- 8", {}},
      {"8.0", {}},   {"0x8", {}},
      {"eight", {}}, {"9223372036854775808", {}},
  };
  for (const auto& c : cases) EXPECT_EQ(python_int(c.text), c.value) << c.text;
}

TEST(PythonFloat, ReadsWhatFloatReads) {
  const struct {
    const char* text;
    std::optional<double> value;
  } cases[] = {
      {"3", 3},
      {" 2.5 ", 2.5},
      {"+.5", 0.5},
      {"5.", 5},
      {"1e3", 1000},
      {"1_0.5", 10.5},
      {"-0.25", -0.25},
      {"inf", kInfinity},
      {"-Infinity", -kInfinity},
      {"1e999", kInfinity},
      {"1e-999", 0.0},
      {"", {}},
      {"0x10", {}},
      {"nan(1)", {}},
      {"1e", {}},
      {"+-1", {}},
      {"1,5", {}},
      {"3 s", {}},
      {"._5", {}},
  };
  for (const auto& c : cases) EXPECT_EQ(python_float(c.text), c.value) << c.text;
  EXPECT_TRUE(std::isnan(python_float("NaN").value()));
}

TEST(NearestDouble, IsZeroOrInfiniteBeyondTheRange) {
  const std::string zeros(400, '0');
  EXPECT_EQ(nearest_double("1" + zeros + ".0e-1"), kInfinity);
  EXPECT_EQ(nearest_double("-1" + zeros), -kInfinity);
  EXPECT_EQ(nearest_double("0." + zeros + "1e1"), 0.0);
  EXPECT_EQ(nearest_double("1" + zeros + "e-400"), 1.0);
  EXPECT_EQ(nearest_double("1785000000.25"), 1785000000.25);
  for (const char* text : {"", "inf", "nan", "1e", "0x1", "1 "}) {
    EXPECT_EQ(nearest_double(text), std::nullopt) << text;
  }
}

}  // namespace python_number_test
}  // namespace aggregate_power
