// What a power cell states: contract.md part 0 rows 4, 19 and 20, formats.md section 7.
#include "core/telemetry/power_cell.h"

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test_util.h"
#include "words.h"

namespace aggregate_power {
namespace watts_test {

using test::between_bars;

constexpr PowerUnit kUnstated{};
constexpr PowerUnit kWatt{PowerUnit::Size::watt, true};
constexpr PowerUnit kMilliwatt{PowerUnit::Size::milliwatt, true};
constexpr PowerUnit kKilowatt{PowerUnit::Size::kilowatt, true};

struct Case {
  std::string cell;
  std::optional<double> watts;
};

TEST(ParseWatts, TakesANumberWithAnOptionalUnit) {
  const Case cases[] = {
      {"412.34 W", 412.34},
      {"412.34W", 412.34},
      {"412.34", 412.34},
      {"412.3  W", 412.3},
      {" 60.50 W", 60.5},
      {"60.50 W ", 60.5},
      {"\t60.50\tW\t", 60.5},
      {"\xC2\xA0"
       "60.50\xC2\xA0W",
       60.5},  // no-break spaces
      {"412 watts", 412.0},
      {"412 Watt", 412.0},
      {"412 w", 412.0},
      {"0", 0.0},
      {"0.00 W", 0.0},
      {"-0", -0.0},
      {"-5 W", -5.0},
      {"-1", -1.0},
      {"+5", 5.0},
      {"+5.5 W", 5.5},
      {"5.", 5.0},
      {"5. W", 5.0},
      {".5", 0.5},
      {".5 W", 0.5},
      {"-.5", -0.5},
      {"1e3", 1000.0},
      {"1E3 W", 1000.0},
      {"1e+2", 100.0},
      {"1.5e-3", 0.0015},
      {"2.5E1W", 25.0},
      {"00412.5", 412.5},
      {"500 mW", 0.5},
      {"5542mW", 5.542},
      {"0.5 kW", 500.0},
      {"1.25kW", 1250.0},
      {"500 MW", 0.5},  // nobody's GPU draws megawatts
      {"4939.00", 4939.0},
      {"1234567", 1234567.0},
      {"12345678", 12345678.0},
      {"123456.7", 123456.7},
      {"1234567.8 W", 1234567.8},
      {"0.0000001", 1e-7},
      {"99.99999999999999", 99.99999999999999},
      {"412.340000000000000000000000000001", 412.34},
      {"9007199254740993", 9007199254740992.0},           // 2^53 + 1: a tie, to even
      {"9007199254740993.00000001", 9007199254740994.0},  // no tie
      {"\xD9\xA4\xD9\xA1\xD9\xA2.\xD9\xA3 W", 412.3},     // Arabic-Indic digits
      {"\xEF\xBC\x94\xEF\xBC\x91\xEF\xBC\x92", 412.0},    // full-width digits
  };
  for (const Case& c : cases) {
    EXPECT_EQ(parse_watts(c.cell, kUnstated), c.watts) << '\'' << c.cell << '\'';
  }
}

TEST(ParseWatts, TakesNothingElse) {
  const std::vector<std::string> cells = between_bars(
      // formats.md section 7
      "N/A|[N/A]|[Not Supported]|[Unknown Error]|[Not Found]|[Insufficient Permissions]|"
      "[GPU is lost]|[GPU requires reset]|[Requested functionality has been deprecated]|ERR!|-|"
      "|nan|None|N/A (Secondary die)|N/A W|"
      // contract.md A.6, where the original finds a number
      "--5|- 5|5-6|ERR 404|1,234 W|1,234|0x1F|0x1p3|P0 350 W|1_000|"
      // others
      " |W|NaN|inf|-inf|Infinity|infinity W|+-5|++5|-+5|+|.|-.|e3|1e|1e+|1e 3|5 5|412.3.4|"
      "256...|256..|30,3|100 %|412.3 V|412.3 W W|412.3 W.|412.3 WW|412.3 J|5542mW/5542mW|"
      "1/250 W|412.3 [W]|\xC2\xB2|\xC2\xBD|\xE2\x88\x92"
      "5|'412.3'|\"412.3\"|=412.3|GPU-0|"
      "2026/04/25 16:06:06.780|Not Active|Enabled|\xFF|412.3\xFF");
  for (const std::string& cell : cells) {
    EXPECT_EQ(parse_watts(cell, kUnstated), std::nullopt) << '\'' << cell << '\'';
  }
}

TEST(ParseWatts, NeverGivesWhatIsNotFinite) {
  EXPECT_EQ(parse_watts(std::string(400, '9'), kUnstated), std::nullopt);
  EXPECT_EQ(parse_watts("1e400", kUnstated), std::nullopt);
  EXPECT_EQ(parse_watts("-1e400 W", kUnstated), std::nullopt);
  EXPECT_EQ(parse_watts("1e308 kW", kUnstated), std::nullopt);
  EXPECT_EQ(parse_watts("1e308", kKilowatt), std::nullopt);
  EXPECT_EQ(parse_watts("1e308", kUnstated), 1e308);
}

TEST(ParseWatts, KnowsTheNumbersThatMeanNone) {
  const std::vector<std::string> cells = between_bars(
      // AMD
      "65535|4294967295|18446744073709551615|"
      // DCGM
      "2147483632|2147483633|2147483634|2147483635|9223372036854775792|9223372036854775793|"
      "9223372036854775794|9223372036854775795|140737488355328.0|140737488355329.0|"
      "140737488355330.0|140737488355331.0|"
      // as some tools spell them
      "65535 W|65535W|65535.0|65535.00 W|+65535|6.5535e4|4294967295 W|2147483632.0");
  for (const std::string& cell : cells) {
    EXPECT_EQ(parse_watts(cell, kUnstated), std::nullopt) << cell;
    EXPECT_EQ(parse_watts(cell, kWatt), std::nullopt) << cell;
  }
  const Case neighbours[] = {{"65534", 65534.0},         {"65534.99", 65534.99},
                             {"65536", 65536.0},         {"2147483631", 2147483631.0},
                             {"2147483636", 2147483636}, {"-65535", -65535.0}};
  for (const Case& c : neighbours) EXPECT_EQ(parse_watts(c.cell, kUnstated), c.watts) << c.cell;
}

TEST(ParseWatts, ScalesBareCellsByTheHeadersUnit) {
  EXPECT_EQ(parse_watts("5542", kMilliwatt), 5.542);
  EXPECT_EQ(parse_watts("412300.5", kMilliwatt), 412.3005);
  EXPECT_EQ(parse_watts("-500", kMilliwatt), -0.5);
  EXPECT_EQ(parse_watts("0.4123", kKilowatt), 412.3);
  EXPECT_EQ(parse_watts("412.3", kWatt), 412.3);
}

TEST(ParseWatts, RefusesACellThatContradictsTheHeader) {
  EXPECT_EQ(parse_watts("5542 mW", kMilliwatt), 5.542);
  EXPECT_EQ(parse_watts("5542 mw", kMilliwatt), 5.542);
  EXPECT_EQ(parse_watts("5.542 W", kMilliwatt), std::nullopt);
  EXPECT_EQ(parse_watts("5.542 kW", kMilliwatt), std::nullopt);
  EXPECT_EQ(parse_watts("412.3 W", kWatt), 412.3);
  EXPECT_EQ(parse_watts("412.3 Watts", kWatt), 412.3);
  EXPECT_EQ(parse_watts("412.3 mW", kWatt), std::nullopt);
  EXPECT_EQ(parse_watts("0.4123 kW", kWatt), std::nullopt);
  EXPECT_EQ(parse_watts("0.4123 kW", kKilowatt), 412.3);
  EXPECT_EQ(parse_watts("412.3 W", kKilowatt), std::nullopt);
}

TEST(PowerUnit, KnowsWhatPeopleWrite) {
  for (const char* text : {"W", "w", "watt", "Watt", "watts", "Watts", "WATTS"}) {
    EXPECT_EQ(power_unit(text), PowerUnit::Size::watt) << text;
  }
  for (const char* text : {"mW", "mw", "MW", "milliwatts", "Milliwatt"}) {
    EXPECT_EQ(power_unit(text), PowerUnit::Size::milliwatt) << text;
  }
  for (const char* text : {"uW", "UW", "\xC2\xB5W", "microwatts", "Microwatt"}) {
    EXPECT_EQ(power_unit(text), PowerUnit::Size::microwatt) << text;
  }
  for (const char* text : {"kW", "kw", "KW", "kilowatts"}) {
    EXPECT_EQ(power_unit(text), PowerUnit::Size::kilowatt) << text;
  }
  for (const std::string& text : between_bars("| W|Wh|kWh|mWh|V|A|J|%|% TDP|us|MegaW")) {
    EXPECT_EQ(power_unit(text), std::nullopt) << text;
  }
}

// Short numbers go a quick way of their own; strtod knows only the long one.
TEST(ParseWatts, IsTheNearestDoubleForAnyDigits) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  for (int round = 0; round < 200000; ++round) {
    std::string number;
    const std::size_t whole = dice.below(dice.one_in(4) ? 20 : 6);
    const std::size_t places = dice.below(dice.one_in(4) ? 20 : 4);
    if (whole + places == 0) continue;
    for (std::size_t i = 0; i < whole; ++i) number += static_cast<char>('0' + dice.below(10));
    if (places > 0 || dice.one_in(8)) number += '.';
    for (std::size_t i = 0; i < places; ++i) number += static_cast<char>('0' + dice.below(10));
    const double wanted = std::strtod(number.c_str(), nullptr);
    if (wanted >= 65535) continue;  // some of those mean "none"
    const char* const unit[] = {"", " W", "W", " w"};
    const auto watts = parse_watts(number + unit[dice.below(4)], kUnstated);
    ASSERT_TRUE(watts) << number << ", TEST_SEED=" << seed;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(*watts), std::bit_cast<std::uint64_t>(wanted))
        << number << ", TEST_SEED=" << seed;
  }
}

TEST(UnitSymbol, IsReadBackAsItsUnit) {
  using Size = PowerUnit::Size;
  for (const Size size : kPowerUnits) {
    EXPECT_EQ(power_unit(unit_symbol(size)), size);
  }
  EXPECT_EQ(unit_symbol(Size::milliwatt), "mW");
}

}  // namespace watts_test
}  // namespace aggregate_power
