// Written times, cold and after others. Expected values are by hand, or as CPython 3.11 gives them.
#include "base/text/timestamp.h"

#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "words.h"

namespace aggregate_power {

// The same bits: 0.0 is not -0.0.
static bool operator==(const Stamp& a, const Stamp& b) {
  return std::bit_cast<std::uint64_t>(a.unix_s) == std::bit_cast<std::uint64_t>(b.unix_s) &&
         a.naive == b.naive;
}
static std::ostream& operator<<(std::ostream& out, const Stamp& stamp) {
  return out << fmt::format("{}{}", stamp.unix_s, stamp.naive ? " (naive)" : "");
}

namespace stamp_test {

using test::between_bars;

constexpr double kNoon = 1736942400;  // 2025-01-15T12:00:00Z

std::optional<Stamp> read_once(std::string_view text, const Zone& zone = Zone::fixed(0)) {
  return StampParser(zone).parse(text);
}

struct Case {
  const char* text;
  std::optional<double> unix_s;
};

void expect(std::span<const Case> cases, bool naive) {
  StampParser warm(Zone::fixed(0));
  for (const Case& c : cases) {
    const auto stamp = c.unix_s ? std::optional(Stamp{*c.unix_s, naive}) : std::nullopt;
    EXPECT_EQ(read_once(c.text), stamp) << c.text;
    EXPECT_EQ(warm.parse(c.text), stamp) << c.text << ", after others";
    EXPECT_EQ(warm.parse(c.text), stamp) << c.text << ", again";
  }
}

TEST(StampParser, TellsEpochsByMagnitude) {
  const Case cases[] = {
      {"0", 0.0},
      {"-0", -0.0},
      {"-5", -5.0},
      {"-0.5", -0.5},
      {"007", 7.0},
      {"1786553852", 1786553852.0},
      {"1763638585.215", 1763638585.215},
      {"20250115", 20250115.0},
      {"1763638585.2151234567890123", 1763638585.2151234567890123},
      {"1000000000000", 1e12},  // not above it: seconds
      {"1000000000001", 1000000000.001},
      {"1000000000000.5", 1000000000.0005},
      {"1697704464320", 1697704464.32},
      {"-1697704464320", -1697704464320.0},  // magnitude is told upwards only
      {"100000000000000", 1e11},             // the last of the milliseconds
      {"100000000000001", 100000000.000001},
      {"1747583343809690", 1747583343.80969},
      {"100000000000000000", 1e11},  // the last of the microseconds
      {"1747583343809690966", 1747583343809690966.0 / 1e9},
      {"123456789012345", 123456789012345 / 1e6},
      {"\u0661\u0662.\u0665", 12.5},  // Arabic-Indic
  };
  expect(cases, false);
  EXPECT_EQ(read_once("0." + std::string(400, '0') + "1"), (Stamp{0.0, false}));
  EXPECT_EQ(read_once("-0." + std::string(400, '0') + "1"), (Stamp{-0.0, false}));
  EXPECT_EQ(read_once("0." + std::string(320, '0') + "1"), (Stamp{1e-321, false}));
}

TEST(StampParser, RefusesOtherNumbers) {
  for (const std::string& text :
       between_bars("|-|.|+5|.5|5.|1.2.3|--5|1e9|0x10|inf|nan|1,5|1_000|1 000|\u00B2")) {
    EXPECT_EQ(read_once(text), std::nullopt) << text;
  }
  EXPECT_EQ(read_once(std::string(400, '9')), std::nullopt);  // no finite double
}

TEST(StampParser, ReadsSlashesAsStrptimeDoes) {
  const Case cases[] = {
      {"2025/01/15 12:00:00", kNoon},
      {"2025/01/15 12:00:00.780", kNoon + 0.78},
      {"2025/01/15 12:00:00.000001", kNoon + 0.000001},
      {"2025/01/15 12:00:00.5", kNoon + 0.5},
      {"2025/1/15 12:0:0", kNoon},
      {"2025/1/15 12:00:7", kNoon + 7},
      {"2025/01/15   12:00:00", kNoon},
      {"2025/01/15\t12:00:00", kNoon},
      {"2025/01/15     9:00:00", kNoon - 3 * 3600},
      {"2025/01/15\u00A012:00:00", kNoon},          // no-break space
      {"2025/01/ 5 12:00:00", kNoon - 10 * 86400},  // as ctime pads a day
      {"2024/02/29 00:00:00", 1709164800.0},
      {"1969/12/31 23:59:59.25", -0.75},
  };
  expect(cases, true);
}

// \d is a digit of any script, [0-5] is not.
TEST(StampParser, TakesOtherDigitsWhereStrptimeDoes) {
  const Case cases[] = {
      {"\u0662\u0660\u0662\u0665/01/15 12:00:00", kNoon},  // the year
      {"2025/01/1\u0665 1\u0662:0\u0660:0\u0660", kNoon},
      {"2025/01/15 12:\u0660:\u0660.5", kNoon + 0.5},
      {"2025/01/15 12:00:00.\u0665", std::nullopt},
      {"2025/\u0661/15 12:00:00", std::nullopt},
      {"2025/0\u0661/15 12:00:00", std::nullopt},
      {"2025/01/\u0665 12:00:00", std::nullopt},
      {"2025/01/3\u0660 12:00:00", std::nullopt},
      {"2025/01/0\u0665 12:00:00", std::nullopt},
      {"2025/01/15 2\u0662:00:00", std::nullopt},
      {"2025/01/15 \u0661\u0662:00:00", std::nullopt},
  };
  expect(cases, true);
}

TEST(StampParser, RefusesWhatStrptimeDoes) {
  for (const std::string& text : between_bars(
           "2025/01/15|2025/01/15 12:00|2025/01/15T12:00:00|2025/01/15  |2025/01/15 12:00:60|"
           "2025/01/15 12:00:61|2025/01/15 12:00:62|2025/01/15 12:60:00|2025/01/15 24:00:00|"
           "2025/13/15 12:00:00|2025/00/15 12:00:00|2025/01/32 12:00:00|2025/01/00 12:00:00|"
           "2025/02/29 12:00:00|0000/01/15 12:00:00|25/01/15 12:00:00|02025/01/15 12:00:00|"
           "2025/001/15 12:00:00|2025/01/15 12:00:00.|2025/01/15 12:00:00.1234567|"
           "2025/01/15 12:00:00,5|2025/01/15 12:00:00Z|2025/01/15 12:00:00 |"
           "2025/01/  5 12:00:00|2025/01/ 15 12:00:00|2025/01/\u00A05 12:00:00|"
           "2025/01-15 12:00:00|2025/01/15 12:00:00.5+01:00")) {
    EXPECT_EQ(read_once(text), std::nullopt) << text;
  }
}

TEST(StampParser, ReadsNaiveIso) {
  const Case cases[] = {
      {"2025-01-15", kNoon - 43200},
      {"2025-01-15T12", kNoon},
      {"2025-01-15T12:00", kNoon},
      {"2025-01-15T12:00:00", kNoon},
      {"2025-01-15 12:00:00", kNoon},
      {"2025-01-15 12:00:00.769030", kNoon + 0.76903},
      {"2025-01-15T12:00:00,5", kNoon + 0.5},
      {"2025-01-15T12:00:00.1234569", kNoon + 0.123456},  // cut, not rounded
      {"2025-01-15T12:00:00.123456789012", kNoon + 0.123456},
      {"20250115T120000", kNoon},
      {"20250115T120000.25", kNoon + 0.25},
      {"2025-01-15T1200", kNoon},
      {"2025-W03-3T12:00:00", kNoon},
      {"2025W033T12:00:00", kNoon},
      {"2025-W03-3", kNoon - 43200},
      {"2025-W03", kNoon - 43200 - 2 * 86400},
      {"2025W03", kNoon - 43200 - 2 * 86400},
      {"2025W03T12", kNoon - 2 * 86400},
      {"2020-W53-7", 1609632000.0},  // 2021-01-03
      {"2025-01-15_12:00:00", kNoon},
      {"2025-01-15-12:00:00", kNoon},
      {"2025-01-15\u00E912:00:00", kNoon},      // é
      {"2025-01-15\u260312:00:00", kNoon},      // a snowman
      {"2025-01-15\U0001F60012:00:00", kNoon},  // a face
  };
  expect(cases, true);
}

TEST(StampParser, ReadsIsoWithAnOffset) {
  const Case cases[] = {
      {"2025-01-15T12:00:00Z", kNoon},
      {"2025-01-15T12:00:00.493Z", kNoon + 0.493},
      {"2025-01-15 12:00:00.71Z", kNoon + 0.71},
      {"2025-01-15T12:00:00.862554+00:00", kNoon + 0.862554},
      {"2025-01-15T20:00:00+08:00", kNoon},
      {"2025-01-15T14:00:00.1721267+02:00", kNoon + 0.172126},
      {"2025-01-15T12:00:00+00", kNoon},
      {"2025-01-15T17:30:00+0530", kNoon},
      {"2025-01-15T04:30:00-07:30", kNoon},
      {"2025-01-15T12:00:30+00:00:30", kNoon},
      {"2025-01-15T12:00:30+00:00:30.25", kNoon - 0.25},
      {"2025-01-15T12:00:00+00:00:00.25", kNoon},  // Python drops that one
      {"2025-01-15T13:39:00+00:99", kNoon},
      {"20250115T120000Z", kNoon},
      {"2025-01-15T12Z", kNoon},
      {"2025-01-15T12:00:00.5 +00:00", std::nullopt},
      {"2025-01-15T12:00:00+24:00", std::nullopt},
      {"2025-01-15T12:00:00+23:59:59.999999", kNoon - 86400 + 0.000001},
      {"9999-12-31T23:59:59-23:59", 253402300799.0 + 86340},
      {"0001-01-01T00:00:00Z", -62135596800.0},
      // Rounded once, not first to a double of microseconds. From Python 3.11.
      {"2317-08-09T23:51:14.729633+00:00", 10969343474.729633},
      {"9999-12-31T23:59:59.999999Z", 253402300800.0},
  };
  expect(cases, false);
}

// CPython looks for the end of the time at the offset's sign and forgives some of what
// stands there.
TEST(StampParser, ForgivesWhatPythonForgives) {
  const Case aware[] = {
      {"2025-01-15T12:00:00 +00:00", kNoon},
      {"2025-01-15T12:00:00.+00:00", kNoon},
      {"2025-01-15T12:00:00x-00:00", kNoon},
      {"2025-01-15T12:+00:00", kNoon},
      {"2025-01-15T12:00:00.123456 and so on+00:00", kNoon + 0.123456},
  };
  expect(aware, false);
  const Case naive[] = {
      {"2025-01-15T12.5", kNoon + 0.5},
      {"2025-01-15T12:00,5", kNoon + 0.5},
      {"2025-01-15T12:00:00:5", kNoon + 0.5},
      {"2025-01-15T12000050", kNoon + 0.5},
  };
  expect(naive, true);
}

TEST(StampParser, RefusesOtherIso) {
  for (const std::string& text : between_bars(
           "2025-01-15T|2025-01-15T1|2025-01-15T12:|2025-01-15T12:0|2025-01-15T12:00:0|"
           "2025-01-15T12:00:00.|2025-01-15T12:00:00 |2025-01-15T12:00:00z|"
           "2025-01-15T12:00:00ZZ|2025-01-15T12:00:00+|2025-01-15T12:00:00+1|"
           "2025-01-15T12:00:00+01:|2025-01-15T12:00:00+01:00x|2025-01-15T24:00:00|"
           "2025-01-15T12:60:00|2025-01-15T12:00:60|2025-01-15T12:0000|2025-13-15|2025-02-29|"
           "2025-01-00|2025-0115|202501-15|2025-1-15|2025-01|2025-W00-1|2025-W53-1|2025-W54-1|"
           "2025-W03-0|2025-W03-8|2025-W3-1|2025-W03-|2025W3|2025W03-1T12:00|2025-W031|"
           "0000-01-01|0000-W52-7|9999-W52-7|2025-015|15-01-2025|12:00:00|"
           "2025-01-15T12:00:00 PM|2025-01-15 12:00:00 EST|2025-01-15 12:00:00 T|\xFF|"
           "2025-01-15\xFF|2025-01-15\xF0\x9F|\u0662025-01-15")) {
    EXPECT_EQ(read_once(text), std::nullopt) << text;
  }
}

TEST(StampParser, ReadsTimesOfOneDigitBehindDashes) {
  const Case cases[] = {
      {"2025-10-23 1:25:0.306", 1761182700.306},  // PowerJoular; 1761182700 = 2025-10-23T01:25:00Z
      {"2025-01-15 9:0:0", kNoon - 3 * 3600},
      {"2025-01-15 9:5:7", kNoon - 3 * 3600 + 307},
      {"2025-01-15 12:0:00", kNoon},
      {"2025-01-15 12:00:0", kNoon},
      {"2025-01-15 12:00:9.5", kNoon + 9.5},
      {"2025-01-15 12:00:09.5", kNoon + 9.5},
      {"2025-01-15 12:5:9.25", kNoon + 309.25},
      {"2025-01-15 12:05:09", kNoon + 309},
      {"2025-01-15 9:00:00", kNoon - 3 * 3600},
      {"2025-01-15 0:00:00.243", kNoon - 43200 + 0.243},
      {"2025-01-15 9:59:59.1234567", kNoon - 2 * 3600 - 1 + 0.123456},
      {"2025-01-15T9:00:00", std::nullopt},
      {"2025-01-15  9:00:00", std::nullopt},
      {"2025-01-15 9:00", std::nullopt},
      {"2025-01-15 12:0", std::nullopt},
      {"2025-01-15 :0:0", std::nullopt},
      {"2025-01-15 9::0", std::nullopt},
      {"2025-01-15 9:0:", std::nullopt},
      {"2025-01-15 9:0:0:0", std::nullopt},
      {"2025-01-15 9:0:0 ", std::nullopt},
      {"2025-01-15 9:0:-1", std::nullopt},
      {"2025-01-15 9:60:0", std::nullopt},
      {"2025-01-15 24:0:0", std::nullopt},
      {"2025-01-15 9.5:0:0", std::nullopt},
      {"2025-1-15 9:0:0", std::nullopt},
      {"2025-01-5 9:0:0", std::nullopt},
      {"2025-01-15 .5", std::nullopt},
      {"2025-01-15 ", std::nullopt},
      {"2025-01-15 9:00:00.", std::nullopt},
      {"2025-01-15 9:00:00,5", std::nullopt},
      {"2025-01-15 9:00:005", std::nullopt},
      {"2025-01-15 9:00:60", std::nullopt},
      {"2025-01-15 9:00:00Z", std::nullopt},
      {"2025-02-29 9:00:00", std::nullopt},
      {"2025-W03-3 9:00:00", std::nullopt},
      {"2025/01-15 9:00:00", std::nullopt},
  };
  expect(cases, true);
}

TEST(StampParser, ReadsNaiveStampsInItsZone) {
  struct InZone {
    const char* zone;
    const char* text;
    Stamp stamp;
  };
  const InZone cases[] = {
      {"-07:00", "2025/01/15 05:00:00", {kNoon, true}},
      {"-07:00", "2025-01-15", {kNoon - 43200 + 7 * 3600, true}},
      {"-07:00", "2025-01-15T12:00:00Z", {kNoon, false}},
      {"-07:00", "1736942400", {kNoon, false}},
      {"Asia/Kathmandu", "2025-01-15 17:45:00.5", {kNoon + 0.5, true}},
      // 2025-10-26T00:30:00Z, the earlier 02:30; 2025-03-30T01:30:00Z, in the skipped hour.
      {"Europe/Berlin", "2025/10/26 02:30:00.250", {1761438600.25, true}},
      {"Europe/Berlin", "2025-03-30T02:30:00", {1743298200.0, true}},
  };
  for (const InZone& c : cases) {
    EXPECT_EQ(read_once(c.text, Zone::parse(c.zone)), c.stamp) << c.text;
  }
}

TEST(StampParser, IsNothingWherePythonRaises) {
  EXPECT_EQ(read_once("0001-01-01T00:00:00"), std::nullopt);
  EXPECT_EQ(read_once("0001/01/01 23:59:59"), std::nullopt);
  EXPECT_EQ(read_once("0001/01/02 00:00:00"), (Stamp{-62135510400.0, true}));
  EXPECT_EQ(read_once("9999-12-31T23:59:59", Zone::fixed(3600)), std::nullopt);
}

// What a stamp was read as must not depend on those before it.
class WarmParser {
 public:
  explicit WarmParser(Zone zone) : zone_(zone), parser_(zone) {}

  void expect_as_cold(const std::string& text) {
    EXPECT_EQ(parser_.parse(text), StampParser(zone_).parse(text)) << text << ", " << zone_.name();
  }

 private:
  Zone zone_;
  StampParser parser_;
};

TEST(StampParser, ForgetsNothingAndMixesNothing) {
  const std::vector<std::string> stamps = between_bars(
      "2025-01-15T12:00:05Z|2025-01-15T12:00:06|2025-01-15T12:00:07.5Z|2025-01-15T12:00:07.5z|"
      "2025-01-15T12:00:08+01:00|2025-01-15T12:00:08.25+01:00|2025-01-15T12:00:08.25-01:00|"
      "2025-01-15T12:00:08.+01:00|2025-01-15T12:00:08 +01:00|2025-01-15T12:00:08.25 +01:00|"
      "2025-01-15T12:00:08.1234567+01:00|2025-01-15T12:00:60+01:00|2025-01-15T12:00:0a+01:00|"
      "2025-01-15T12:00:09.12x+01:00|2025-01-15T12:00x09.125+01:00|"
      "2025-01-15T12:00:09x125+01:00|2025-01-15T12:00:09+01:00:30|"
      "2025-01-15T12:00:09+01:00:30.5|2025-01-15 12:00:09|2025-01-15 12:00:9|"
      "2025-01-15 12:00:9.123456|2025-01-15 12:0:09.5|2025-01-15 1:20:09.5|"
      "2025-01-15 12:00:09.|2025-01-15 12:00:09.1234567|2025-01-15 12:00:09:5|"
      "2025-01-15 12:00:09T|2025/01/15 12:00:09|2025/01/15 12:00:09.123456|"
      "2025/01/15 12:00:09.1234567|2025/01/15 12:00:09Z|2025/01/15 12:00:9|"
      "2025/01/15     3:04:05|2025/01/15     3:04:06|2025/01/ 5 12:00:09|2025/01/ 5 12:00:10|"
      "2025/1/5   12:00:10|2317-08-09T23:51:14.729633Z|2317-08-09T23:51:15.729633Z|"
      "1736942400.125");
  for (const Zone& zone : {Zone::fixed(0), Zone::fixed(-7 * 3600), Zone::parse("Europe/Berlin")}) {
    for (const std::string& first : stamps) {
      for (const std::string& second : stamps) {
        WarmParser warm(zone);
        warm.expect_as_cold(first);
        warm.expect_as_cold(second);
        warm.expect_as_cold(second);
        warm.expect_as_cold(first);
        warm.expect_as_cold(second);
      }
    }
  }
}

std::string written(std::int64_t clock_s, const char* fraction) {
  const std::chrono::sys_seconds time{std::chrono::seconds(clock_s)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}/{:02}/{:02} {:02}:{:02}:{:02}{}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     fraction);
}

// Monrovia's clocks stood still for 44 min 30 s, Berlin's first ones were set by 6 min 32 s:
// minutes in which the offset changes must not be remembered.
TEST(StampParser, SeesEverySecondAroundAJump) {
  struct Jump {
    const char* zone;
    std::int64_t unix_s;
  };
  const Jump jumps[] = {{"Europe/Berlin", 1761440400},        // 2025-10-26T01:00:00Z
                        {"Europe/Berlin", 1743296400},        // 2025-03-30T01:00:00Z
                        {"Europe/Berlin", -2422054408},       // 1893-04-01
                        {"Africa/Monrovia", 63593070},        // 1972-01-07T00:44:30Z
                        {"Australia/Lord_Howe", 1743865200},  // 2025-04-05T15:00:00Z
                        {"Pacific/Apia", 1325239200}};        // 2011-12-30T10:00:00Z
  for (const Jump& jump : jumps) {
    const Zone zone = Zone::parse(jump.zone);
    ASSERT_NE(zone.offset_at(jump.unix_s - 1), zone.offset_at(jump.unix_s)) << jump.zone;
    for (const std::int64_t instant : {jump.unix_s - 1, jump.unix_s}) {
      const std::int64_t face = instant + zone.offset_at(instant);
      WarmParser warm(zone);
      for (std::int64_t s = face - 130; s < face + 130; ++s)
        warm.expect_as_cold(written(s, ".125"));
    }
  }
}

}  // namespace stamp_test
}  // namespace aggregate_power
