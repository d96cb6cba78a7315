// Rows of an hour that a clock shows twice: Berlin's of 2025-10-26, from 02:00 to 03:00, which are
// 1761436800 (00:00 UTC, +02:00) and an hour later (+01:00).
#include "core/telemetry/repeated_hours.h"

#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace repeated_hours_test {

constexpr double kHour = 3600;
constexpr double kBegin = 1'761'436'800;
constexpr double kEnd = kBegin + kHour;

struct SortedOut {
  std::vector<double> unix_s;
  std::vector<AmbiguousHour> ambiguous;
};

// `shown`: instants as Zone::unix_from_local() gives them.
SortedOut sorted_out(const Zone& zone, const std::vector<double>& shown,
                     std::uint32_t devices = 1) {
  RepeatedHours hours(zone);
  std::vector<Reading> readings;
  for (const double unix_s : shown) {
    for (std::uint32_t i = 0; i < devices; ++i) {
      readings.push_back({unix_s, 100, i, Reading::Kind::power});
    }
  }
  SortedOut found;
  if (hours.concern(readings)) hours.sort_out(readings);
  for (const Reading& reading : readings) {
    if (reading.device == 0) found.unix_s.push_back(reading.unix_s);
  }
  found.ambiguous = hours.ambiguous();
  return found;
}

// What the clock shows, read by the rule of the first pass.
double read_in(const Zone& zone, double unix_s) {
  const auto at = static_cast<std::int64_t>(unix_s);
  return static_cast<double>(*zone.unix_from_local(at + zone.offset_at(at)));
}

std::vector<double> minutes(double from_s, double to_s) {
  std::vector<double> times;
  for (double s = from_s; s <= to_s; s += 60) times.push_back(s);
  return times;
}

std::vector<double> shown_in(const Zone& zone, const std::vector<double>& times) {
  std::vector<double> shown;
  for (const double unix_s : times) shown.push_back(read_in(zone, unix_s));
  return shown;
}

TEST(RepeatedHours, AreToldApartByTheOrderOfTheRows) {
  struct Case {
    const char* zone;
    double end_s;  // when the clock is turned back
  };
  for (const Case& c :
       {Case{"Europe/Berlin", kEnd},
        {"America/New_York", 1'762'063'200},     // 2025-11-02T06:00:00Z
        {"Australia/Lord_Howe", 1'743'865'200},  // 2025-04-05T15:00:00Z, half an hour
        {"Pacific/Chatham", 1'743'861'600}}) {   // 2025-04-05T14:00:00Z
    const Zone zone = Zone::parse(c.zone);
    for (const double first_s : {-3 * kHour, -1200.0}) {
      const std::vector<double> times = minutes(c.end_s + first_s, c.end_s + 3 * kHour);
      const SortedOut found = sorted_out(zone, shown_in(zone, times), 2);
      EXPECT_EQ(found.unix_s, times) << c.zone;
      EXPECT_TRUE(found.ambiguous.empty()) << c.zone;
    }
  }
}

TEST(RepeatedHours, AreOfTheFirstPassIfNothingComesAfterwards) {
  const Zone zone = Zone::parse("Europe/Berlin");
  for (const double first_s : {kBegin - kHour, kBegin + 600}) {
    const std::vector<double> times = minutes(first_s, kEnd - 600);
    const SortedOut found = sorted_out(zone, shown_in(zone, times));
    EXPECT_EQ(found.unix_s, times);
    EXPECT_TRUE(found.ambiguous.empty());
  }
}

TEST(RepeatedHours, AreAmbiguousIfAnHourIsMissing) {
  const Zone zone = Zone::parse("Europe/Berlin");
  // The recording begins in the second pass.
  const auto late = sorted_out(zone, shown_in(zone, minutes(kEnd + 1200, kEnd + 2 * kHour)));
  ASSERT_EQ(late.ambiguous.size(), 1u);
  EXPECT_EQ(late.ambiguous[0].window.start_unix_s, kBegin);
  EXPECT_EQ(late.ambiguous[0].window.end_unix_s, kEnd + kHour);
  EXPECT_EQ(late.ambiguous[0].text,
            "in Europe/Berlin the clock showed 60 min twice, from 1761436800.000 "
            "(2025-10-26T00:00:00.000Z) at +02:00 and again at +01:00, and the order of the rows "
            "does not say which pass they are of: give the offset that held, --timezone +02:00 or "
            "--timezone +01:00");
  // The rows were sorted by what they show.
  std::vector<double> shown = shown_in(zone, minutes(kBegin - kHour, kEnd + 2 * kHour));
  std::ranges::sort(shown);
  EXPECT_EQ(sorted_out(zone, shown).ambiguous.size(), 1u);
}

TEST(RepeatedHours, AreAmbiguousIfTheTimeGoesBackTwice) {
  const Zone zone = Zone::parse("Europe/Berlin");
  std::vector<double> shown;
  for (int i = 0; i < 3; ++i) {
    for (const double s : minutes(kBegin, kEnd - 60)) shown.push_back(s);
  }
  EXPECT_EQ(sorted_out(zone, shown).ambiguous.size(), 1u);
}

TEST(RepeatedHours, AreNoneOfOtherZonesAndDays) {
  const std::vector<double> times = minutes(kBegin - kHour, kEnd + 2 * kHour);
  for (const char* zone : {"UTC", "+02:00", "Asia/Kolkata", "America/New_York"}) {
    const SortedOut found = sorted_out(Zone::parse(zone), times);
    EXPECT_EQ(found.unix_s, times) << zone;
    EXPECT_TRUE(found.ambiguous.empty()) << zone;
  }
  // In spring an hour is skipped.
  constexpr double kSpring = 1'743'296'400;  // 2025-03-30T01:00:00Z
  const Zone berlin = Zone::parse("Europe/Berlin");
  const std::vector<double> spring = minutes(kSpring - kHour, kSpring + kHour);
  EXPECT_EQ(sorted_out(berlin, shown_in(berlin, spring)).unix_s, spring);
}

// A damaged number is beyond the times that a clock can show; the row after it is read as ever.
TEST(RepeatedHours, AreNotLookedForWhereNoClockShowsTheTime) {
  const std::vector<double> times = {kEnd + 2 * kHour, 1e300, -1e300, 1e19, kEnd + 2 * kHour};
  const SortedOut found = sorted_out(Zone::parse("Europe/Berlin"), times);
  EXPECT_EQ(found.unix_s, times);
  EXPECT_TRUE(found.ambiguous.empty());
}

}  // namespace repeated_hours_test
}  // namespace aggregate_power
