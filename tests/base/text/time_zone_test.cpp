// Zones: names, offsets, clocks that are turned.
#include "base/text/time_zone.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "aggregate_power/error.h"

namespace aggregate_power {
namespace zone_test {

// What a clock shows, as seconds since its own 1970-01-01T00:00:00; of a UTC clock, the Unix time.
std::int64_t clock_at(int year, unsigned month, unsigned day, int hour, int minute,
                      int second = 0) {
  const std::chrono::sys_days date = std::chrono::year(year) / month / day;
  return date.time_since_epoch().count() * 86400 + hour * 3600 + minute * 60 + second;
}

std::string error_of(const std::string& zone) {
  try {
    return "no error: " + Zone::parse(zone).name();
  } catch (const Error& error) {
    return error.what();
  }
}

// Runs `check` in a child, where the environment may be changed, and expects true.
void expect_in_child(const char* variable, const char* value, bool (*check)()) {
  EXPECT_EXIT(
      {
        setenv(variable, value, 1);
        tzset();
        std::exit(check() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ZoneParse, TakesOffsetsAndKeepsTheNameAsGiven) {
  struct Case {
    const char* text;
    std::int32_t offset_s;
  };
  for (const Case& c : {Case{"UTC", 0},
                        {"+05:30", 19800},
                        {"-08:00", -28800},
                        {"+0530", 19800},
                        {"-0030", -1800},
                        {"+00:00", 0},
                        {"-00:00", 0},
                        {"+23:59", 86340}}) {
    EXPECT_EQ(Zone::parse(c.text).offset_at(0), c.offset_s) << c.text;
    EXPECT_EQ(Zone::parse(c.text).name(), c.text);
  }
}

TEST(ZoneParse, TakesNamesOfTheDatabase) {
  const Zone berlin = Zone::parse("Europe/Berlin");
  EXPECT_EQ(berlin.name(), "Europe/Berlin");
  EXPECT_EQ(berlin.offset_at(clock_at(2025, 1, 1, 0, 0)), 3600);
  EXPECT_EQ(berlin.offset_at(clock_at(2025, 7, 1, 0, 0)), 7200);
  EXPECT_EQ(berlin.offset_at(clock_at(2500, 7, 1, 0, 0)), 7200);  // the last rule goes on
  EXPECT_EQ(berlin.offset_at(clock_at(1890, 1, 1, 0, 0)), 53 * 60 + 28);
  EXPECT_EQ(Zone::parse("Asia/Kathmandu").offset_at(clock_at(2025, 1, 1, 0, 0)), 20700);  // 5:45
  EXPECT_EQ(Zone::parse("Etc/GMT+5").offset_at(0), -18000);
}

TEST(ZoneParse, NamesTheTextAndTheRemedy) {
  EXPECT_EQ(
      error_of("Mars"),
      "unknown time zone 'Mars'; give 'UTC', a name such as 'America/Los_Angeles' or an offset such "
      "as '-07:00'");
  const std::pair<const char*, const char*> meant[] = {
      {"PDT", "'America/Los_Angeles' or '-07:00'"},
      {"utc", "'UTC'"},
      {"Z", "'UTC'"},
      {"+5:30", "'+05:30'"},
      {"-7", "'-07:00'"},
      {"+14", "'+14:00'"},
      {"GMT-3", "'-03:00'"},
  };
  for (const auto& [text, remedy] : meant) {
    EXPECT_EQ(error_of(text), std::string("unknown time zone '") + text + "'; give " + remedy);
  }
}

TEST(ZoneParse, RefusesWhatIsNoNameAndNoOffset) {
  for (const char* text :
       {"", "+24:00", "+05:60", "+05:3", "05:30", "+05-30", "+053", "+05:30:00",
        "/usr/share/zoneinfo/UTC", "../zoneinfo/UTC", "Europe/../UTC", "file:/etc/localtime",
        "libc:localtime", "Fixed/UTC+05:30:00", "Europe", "Europe/Berlin ", "Europe/K\xC3\xB6ln"}) {
    EXPECT_EQ(error_of(text),
              std::string("unknown time zone '") + text +
                  "'; give 'UTC', a name such as 'America/Los_Angeles' or an offset such "
                  "as '-07:00'");
  }
}

TEST(ZoneParseDeathTest, SaysWhenTheMachineHasNoDatabase) {
  expect_in_child("TZDIR", "/nowhere", [] {
    return error_of("Africa/Tunis") ==
               "unknown time zone 'Africa/Tunis'; this machine has no tz database: install tzdata "
               "or give an offset such as '-07:00'" &&
           Zone::parse("UTC").offset_at(0) == 0 && Zone::parse("+01:00").offset_at(0) == 3600;
  });
}

TEST(ZoneLocalDeathTest, FollowsAPosixRuleInTZ) {
  expect_in_child("TZ", "XYZ-1XYS,M3.5.0,M10.5.0/3", [] {
    const Zone local = Zone::parse("local");
    return local.name() == "local" && local.offset_at(clock_at(2025, 1, 1, 0, 0)) == 3600 &&
           local.offset_at(clock_at(2025, 7, 1, 0, 0)) == 7200 &&
           local.unix_from_local(clock_at(2025, 10, 26, 2, 30)) == clock_at(2025, 10, 26, 0, 30);
  });
}

TEST(ZoneLocalDeathTest, FollowsANameInTZ) {
  expect_in_child("TZ", "Asia/Kathmandu", [] { return Zone::local().offset_at(1e9) == 20700; });
}

// Python reads the clock's face, so that in such a zone the leap seconds count.
TEST(ZoneLocalDeathTest, CountsLeapSecondsWhereTheZoneDoes) {
  if (!std::filesystem::exists("/usr/share/zoneinfo/right/UTC")) {
    GTEST_SKIP() << "later tzdata keeps such zones in a package of its own";
  }
  expect_in_child("TZ", "right/UTC",
                  [] { return Zone::local().offset_at(clock_at(2025, 1, 1, 0, 0)) == -27; });
}

TEST(ZoneFixed, IsNamedByItsOffset) {
  EXPECT_EQ(Zone::fixed(-25200).name(), "-07:00");
  EXPECT_EQ(Zone::fixed(-25200).offset_at(123), -25200);
}

TEST(ZoneStepping, IsNamedByBothOffsetsAndTheInstantBetween) {
  EXPECT_EQ(Zone::stepping(3600, clock_at(2026, 3, 29, 1, 0), 7200).name(),
            "+01:00, from 2026-03-29T01:00:00Z +02:00");
  EXPECT_EQ(Zone::stepping(-9000, clock_at(1969, 12, 31, 4, 31, 7), -12600).name(),
            "-02:30, from 1969-12-31T04:31:07Z -03:30");
}

TEST(WholeSecond, IsTheOneInWhichTheInstantLies) {
  EXPECT_EQ(whole_second(1774745999.9), 1'774'745'999);
  EXPECT_EQ(whole_second(-0.5), -1);
}

// As damaged recordings have them. Python's datetime ends there too.
TEST(WholeSecond, OfAnInstantThatNoClockShowsIsTheNearestThatOneDoes) {
  constexpr double kFar = std::numeric_limits<double>::max();
  EXPECT_EQ(whole_second(kFar), clock_at(9999, 12, 31, 23, 59, 59));
  EXPECT_EQ(whole_second(-kFar), clock_at(1, 1, 1, 0, 0));
  EXPECT_EQ(whole_second(std::numeric_limits<double>::quiet_NaN()), clock_at(1, 1, 1, 0, 0));
}

TEST(ZoneStepping, ShowsTheSecondOffsetFromTheStepOn) {
  const Zone zone = Zone::stepping(3600, 1000, 7200);
  EXPECT_EQ(zone.offset_at(999), 3600);
  EXPECT_EQ(zone.offset_at(1000), 7200);
}

// Zones of the tz database whose clocks were turned at that instant.
TEST(ZoneStepping, ReadsAClockAsTheZoneItStandsForDoes) {
  struct Case {
    const char* zone;
    std::int64_t step_unix_s;
  };
  for (const Case& c : {Case{"Europe/Berlin", clock_at(2025, 3, 30, 1, 0)},
                        {"Europe/Berlin", clock_at(2025, 10, 26, 1, 0)},
                        {"America/St_Johns", clock_at(2025, 3, 9, 5, 30)},
                        {"America/St_Johns", clock_at(2025, 11, 2, 4, 30)},
                        {"Pacific/Chatham", clock_at(2025, 4, 5, 14, 0)},
                        {"Pacific/Chatham", clock_at(2025, 9, 27, 14, 0)},
                        {"Australia/Lord_Howe", clock_at(2025, 4, 5, 15, 0)},
                        {"Australia/Lord_Howe", clock_at(2025, 10, 4, 15, 30)}}) {
    const Zone zone = Zone::parse(c.zone);
    const std::int32_t before_s = zone.offset_at(c.step_unix_s - 1);
    const std::int32_t after_s = zone.offset_at(c.step_unix_s);
    ASSERT_NE(before_s, after_s) << c.zone << " at " << c.step_unix_s;
    const Zone stepping = Zone::stepping(before_s, c.step_unix_s, after_s);
    for (std::int64_t local_s = c.step_unix_s - 2 * 86400; local_s < c.step_unix_s + 2 * 86400;
         local_s += 300) {
      EXPECT_EQ(stepping.unix_from_local(local_s), zone.unix_from_local(local_s))
          << stepping.name() << " shows " << local_s;
    }
  }
}

TEST(UnixFromLocal, SubtractsTheOffset) {
  EXPECT_EQ(Zone::fixed(0).unix_from_local(1'700'000'000), 1'700'000'000);
  EXPECT_EQ(Zone::fixed(-25200).unix_from_local(1'700'000'000), 1'700'025'200);
  EXPECT_EQ(Zone::parse("Asia/Kathmandu").unix_from_local(clock_at(2025, 1, 1, 0, 0)),
            clock_at(2024, 12, 31, 18, 15));
}

struct Turn {
  const char* what;
  const char* zone;
  std::int64_t local_s;
  std::int64_t unix_s;
};

TEST(UnixFromLocal, FollowsPythonWhereClocksAreTurned) {
  const Turn turns[] = {
      {"before the hour that comes twice", "Europe/Berlin", clock_at(2025, 10, 26, 1, 59, 59),
       clock_at(2025, 10, 25, 23, 59, 59)},
      {"its start: the earlier", "Europe/Berlin", clock_at(2025, 10, 26, 2, 0),
       clock_at(2025, 10, 26, 0, 0)},
      {"its end: the earlier", "Europe/Berlin", clock_at(2025, 10, 26, 2, 59, 59),
       clock_at(2025, 10, 26, 0, 59, 59)},
      {"after it", "Europe/Berlin", clock_at(2025, 10, 26, 3, 0), clock_at(2025, 10, 26, 2, 0)},
      {"before the skipped hour", "Europe/Berlin", clock_at(2025, 3, 30, 1, 59, 59),
       clock_at(2025, 3, 30, 0, 59, 59)},
      {"in it: read as +01:00", "Europe/Berlin", clock_at(2025, 3, 30, 2, 30),
       clock_at(2025, 3, 30, 1, 30)},
      {"after it", "Europe/Berlin", clock_at(2025, 3, 30, 3, 0), clock_at(2025, 3, 30, 1, 0)},
      {"half an hour twice: +11:00", "Australia/Lord_Howe", clock_at(2025, 4, 6, 1, 45),
       clock_at(2025, 4, 5, 14, 45)},
      {"after it: +10:30", "Australia/Lord_Howe", clock_at(2025, 4, 6, 2, 0),
       clock_at(2025, 4, 5, 15, 30)},
      {"half an hour skipped: +10:30", "Australia/Lord_Howe", clock_at(2025, 10, 5, 2, 15),
       clock_at(2025, 10, 4, 15, 45)},
      {"the day before the one Samoa left out: -10:00", "Pacific/Apia",
       clock_at(2011, 12, 29, 23, 59), clock_at(2011, 12, 30, 9, 59)},
      {"that day: read as -10:00", "Pacific/Apia", clock_at(2011, 12, 30, 12, 0),
       clock_at(2011, 12, 30, 22, 0)},
      {"the day after: +14:00", "Pacific/Apia", clock_at(2011, 12, 31, 0, 0),
       clock_at(2011, 12, 30, 10, 0)},
  };
  for (const Turn& turn : turns) {
    EXPECT_EQ(Zone::parse(turn.zone).unix_from_local(turn.local_s), turn.unix_s)
        << turn.zone << ", " << turn.what;
  }
}

// Python looks at the day before, and at the stamp as if it were UTC; it raises when either
// leaves the years 1 to 9999.
TEST(UnixFromLocal, IsNothingAtTheEndsOfPythonsYears) {
  const std::int64_t first = clock_at(1, 1, 1, 0, 0);
  const std::int64_t last = clock_at(9999, 12, 31, 23, 59, 59);
  EXPECT_EQ(Zone::fixed(0).unix_from_local(first + 86399), std::nullopt);
  EXPECT_EQ(Zone::fixed(0).unix_from_local(first + 86400), first + 86400);
  EXPECT_EQ(Zone::fixed(0).unix_from_local(last), last);
  EXPECT_EQ(Zone::fixed(0).unix_from_local(last + 1), std::nullopt);
  EXPECT_EQ(Zone::fixed(3600).unix_from_local(last - 3600), last - 7200);
  EXPECT_EQ(Zone::fixed(3600).unix_from_local(last - 3599), std::nullopt);
  EXPECT_EQ(Zone::fixed(0).unix_from_local(INT64_MIN), std::nullopt);
}

TEST(OffsetText, HasSecondsOnlyWhereThereAreSome) {
  EXPECT_EQ(offset_text(0), "+00:00");
  EXPECT_EQ(offset_text(19800), "+05:30");
  EXPECT_EQ(offset_text(-28800), "-08:00");
  EXPECT_EQ(offset_text(-1800), "-00:30");
  EXPECT_EQ(offset_text(3208), "+00:53:28");
}

}  // namespace zone_test
}  // namespace aggregate_power
