// Times and durations for people. Dates as GNU date prints them.
#include "base/text/show_time.h"

#include <limits>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace shown_time_test {

TEST(UnixAndIso, HasBoth) {
  EXPECT_EQ(unix_and_iso(1788819619.279), "1788819619.279 (2026-09-07T22:20:19.279Z)");
  EXPECT_EQ(unix_and_iso(0), "0.000 (1970-01-01T00:00:00.000Z)");
  EXPECT_EQ(unix_and_iso(-0.5), "-0.500 (1969-12-31T23:59:59.500Z)");
  EXPECT_EQ(unix_and_iso(1709164799.9996), "1709164800.000 (2024-02-29T00:00:00.000Z)");
}

TEST(UnixAndIso, IsTheNumberAloneWhereThereIsNoDate) {
  EXPECT_EQ(unix_and_iso(1788819619279), "1788819619279.000");
  EXPECT_EQ(unix_and_iso(-1e12), "-1000000000000.000");
  EXPECT_EQ(unix_and_iso(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(unix_and_iso(253402300799.9999), "253402300800.000");  // would be the year 10000
}

TEST(WallTime, IsAsAClockThereShowsIt) {
  const Zone zone = Zone::fixed(2 * 3600);
  EXPECT_EQ(wall_time(1788819630, zone), "2026-09-08 00:20:30.000 +02:00");
  EXPECT_EQ(wall_time(-0.5, zone), "1970-01-01 01:59:59.500 +02:00");
}

TEST(WallTime, IsTheNumberAloneWhereThereIsNoDate) {
  EXPECT_EQ(wall_time(1e15, Zone::local()), "1000000000000000.000");
  EXPECT_EQ(wall_time(-1e11, Zone::fixed(0)), "-100000000000.000");
}

TEST(DifferenceInWords, HasTheTwoLargestUnits) {
  const std::pair<double, const char*> cases[] = {
      {0, "0 s"},
      {1.5, "1.5 s"},
      {-1.5, "1.5 s"},
      {59.9994, "59.999 s"},
      {59.9996, "1 min"},
      {123, "2 min 3 s"},
      {3599.4, "59 min 59 s"},
      {3599.6, "1 h"},
      {32398.25, "9 h"},  // 8 h 59 min 58.25 s
      {9 * 3600 + 5 * 60, "9 h 5 min"},
      {86399, "1 d"},
      {3 * 86400 + 4 * 3600 + 1, "3 d 4 h"},
      {1e20, "100000000000000000000 s"},
  };
  for (const auto& [seconds, words] : cases) EXPECT_EQ(difference_in_words(seconds), words);
  EXPECT_EQ(seconds_and_words(1.5), "1.500 s");
  EXPECT_EQ(seconds_and_words(-1.5), "-1.500 s");
  EXPECT_EQ(seconds_and_words(123), "123.000 s (2 min 3 s)");
}

TEST(WrongUnitText, NamesTheUnitAndTheFactor) {
  EXPECT_EQ(wrong_unit_text(1.7e9), "");
  EXPECT_EQ(wrong_unit_text(1.7e12), "in milliseconds: divide by 1000");
  EXPECT_EQ(wrong_unit_text(1.7e15), "in microseconds: divide by 1000000");
  EXPECT_EQ(wrong_unit_text(1.7e18), "in nanoseconds: divide by 1000000000");
  EXPECT_EQ(wrong_unit_text(0), "");
  EXPECT_EQ(wrong_unit_text(-1.7e12), "");
  EXPECT_EQ(wrong_unit_text(std::numeric_limits<double>::infinity()), "");
  EXPECT_EQ(unit_text(60), "");
}

}  // namespace shown_time_test
}  // namespace aggregate_power
