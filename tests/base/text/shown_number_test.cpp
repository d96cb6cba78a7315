// Numbers and times as people read them.
#include "base/text/shown_number.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace shown_number_test {

TEST(ShownNumber, HasFourDigits) {
  const std::pair<double, const char*> cases[] = {{0, "0"},
                                                  {0.41234, "0.4123"},
                                                  {12.345678, "12.35"},
                                                  {1234.6, "1235"},
                                                  {123456, "123456"},
                                                  {0.00012345, "0.0001234"},
                                                  {-2.5, "-2.500"},
                                                  {999.98, "1000"},
                                                  {0.099999, "0.1000"},
                                                  {1.5e12, "1.500e+12"},
                                                  {1e-9, "1.000e-09"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(shown_number(value), text) << value;
}

TEST(ShownInterval, HasTheDigitsOfItsWidth) {
  EXPECT_EQ(shown_interval(0.41234, 0.41024, 0.41444), "0.4123 \u00B1 0.0021");
  EXPECT_EQ(shown_interval(4348.3, 4094.1, 4602.5), "4348 \u00B1 254");
  EXPECT_EQ(shown_interval(100, 90, 110), "100 \u00B1 10");
}

TEST(ShownInterval, ShowsBothEndsIfItIsNotSymmetric) {
  EXPECT_EQ(shown_interval(0.41, 0.40, 0.46), "0.410 (0.400 to 0.460)");
}

TEST(ShownRange, HasOneForm) {
  EXPECT_EQ(shown_range(100, 90, 110), "100 (90 to 110)");
  EXPECT_EQ(shown_range(0.41, 0.40, 0.46), "0.410 (0.400 to 0.460)");
  EXPECT_EQ(shown_range(2, 2, 2), "2.000");
}

TEST(ShownInterval, OfNoWidthIsTheNumber) { EXPECT_EQ(shown_interval(2, 2, 2), "2.000"); }

TEST(ShownMinute, IsUtc) {
  EXPECT_EQ(shown_minute(1788852019.5), "2026-09-08 07:20 UTC");  // date -u -d @1788852019
  EXPECT_EQ(shown_minute(0), "1970-01-01 00:00 UTC");
  EXPECT_EQ(shown_minute(-1), "1969-12-31 23:59 UTC");
  EXPECT_EQ(shown_minute(1e15), "");
}

}  // namespace shown_number_test
}  // namespace aggregate_power
