// CsvTelemetry CSVs to readings, row by row.
#include "core/telemetry/csv_telemetry.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {

static bool operator==(const Reading& a, const Reading& b) {
  return a.kind == b.kind && a.unix_s == b.unix_s && a.watts == b.watts && a.device == b.device;
}
static void PrintTo(const Reading& reading, std::ostream* out) {
  const char* const kinds[] = {"power", "negative", "no power", "no device", "bad timestamp"};
  *out << fmt::format("{} at {}: {} W of {}", kinds[static_cast<std::size_t>(reading.kind)],
                      reading.unix_s, reading.watts, reading.device);
}

namespace csv_telemetry_test {

using namespace std::string_literals;
using test::kWhole;
using Kind = Reading::Kind;
using Counts = std::map<std::string, std::uint64_t>;
using Names = std::vector<std::string>;

constexpr double kNoon = 1777118400;  // 2026-04-25T12:00:00Z

struct Result {
  Columns columns;
  std::vector<Reading> readings;  // what is meaningless in one is 0
  Names devices;
  Counts skipped;  // those above 0
  std::uint64_t rows = 0;
  std::uint64_t naive_stamps = 0;
  std::uint64_t dropped_nuls = 0;
  std::string zone;
};

struct Options {
  std::optional<Zone> zone = Zone::fixed(0);
  ColumnNames wanted = {};
  std::size_t most = kWhole;
};

Result read(const std::string& text, const Options& options = {}) {
  CsvTelemetry telemetry(std::make_unique<test::StutterSource>(text, options.most), options.zone,
                         options.wanted);
  Result result;
  result.columns = telemetry.columns();
  if (result.columns.timestamp && result.columns.power) {
    telemetry.read([&](std::span<const Reading> readings) {
      for (Reading reading : readings) {
        if (reading.kind == Kind::bad_timestamp) reading.unix_s = 0;
        if (reading.kind == Kind::bad_timestamp || reading.kind == Kind::no_power) {
          reading.watts = reading.device = 0;
        }
        if (reading.kind == Kind::no_device) reading.device = 0;
        result.readings.push_back(reading);
      }
    });
  }
  result.devices = telemetry.devices();
  for (const auto& [cause, count] : by_cause(telemetry.skipped())) {
    if (count > 0) result.skipped[std::string(cause)] = count;
  }
  result.rows = telemetry.rows();
  result.naive_stamps = telemetry.naive_stamps();
  result.dropped_nuls = telemetry.dropped_nuls();
  result.zone = telemetry.zone().name();
  return result;
}

Reading power(double unix_s, double watts, std::uint32_t device = 0) {
  return {unix_s, watts, device, Kind::power};
}
Reading no_power(double unix_s) { return {unix_s, 0, 0, Kind::no_power}; }
Reading bad_timestamp() { return {0, 0, 0, Kind::bad_timestamp}; }

using Readings = std::vector<Reading>;

TEST(CsvTelemetry, ReadsRowsInTheFilesOrder) {
  const Result result = read(
      "timestamp, index, power.draw [W]\n"
      "2026/04/25 12:00:00.000, 0, 60.50 W\n"
      "2026/04/25 12:00:00.001, 1, 61.25 W\n"
      "2026/04/25 12:00:01.000, 0, 0.00 W\n");
  EXPECT_EQ(result.readings,
            (Readings{power(kNoon, 60.5), power(kNoon + 0.001, 61.25, 1), power(kNoon + 1, 0)}));
  EXPECT_EQ(result.devices, (Names{"0", "1"}));
  EXPECT_EQ(result.rows, 3u);
  EXPECT_EQ(result.naive_stamps, 3u);
  EXPECT_EQ(result.skipped, Counts{});
  EXPECT_EQ(result.columns.schema, "nvidia-smi");
}

TEST(CsvTelemetry, SaysOfEachRowWhatItIs) {
  const struct {
    const char* what;
    std::string row;
    Reading reading;
    Counts skipped;
  } cases[] = {
      {"a reading", "1777118400,0,5", power(kNoon, 5), {}},
      {"0 W is one", "1777118400,0,0.0", power(kNoon, 0), {}},
      {"below zero", "1777118400,0,-5", {kNoon, -5, 0, Kind::negative_power}, {{"no_reading", 1}}},
      {"below zero, and nobody's", "1777118400,,-5", no_power(kNoon), {{"no_reading", 1}}},
      {"none", "1777118400,0,[N/A]", no_power(kNoon), {{"no_reading", 1}}},
      {"an empty cell", "1777118400,0,", no_power(kNoon), {{"no_reading", 1}}},
      {"a sentinel", "1777118400,0,65535", no_power(kNoon), {{"no_reading", 1}}},
      {"too large", "1777118400,0,1e999", no_power(kNoon), {{"no_reading", 1}}},
      {"another unit than the header's", "1777118400,0,5 mW", no_power(kNoon), {{"no_reading", 1}}},
      {"a decimal comma", "1777118400,0,30,3", no_power(kNoon), {{"too_many_cells", 1}}},
      {"a trailing comma is no cell", "1777118400,0,5,", power(kNoon, 5), {}},
      {"nor are blanks behind it", "1777118400,0,5, ,,", power(kNoon, 5), {}},
      {"a short row lacks its cells", "1777118400,0", no_power(kNoon), {{"no_reading", 1}}},
      {"a shorter one", "1777118400", no_power(kNoon), {{"no_reading", 1}}},
      {"no device", "1777118400,,5", {kNoon, 5, 0, Kind::no_device}, {}},
      {"a blank device", "1777118400,\xC2\xA0,5", {kNoon, 5, 0, Kind::no_device}, {}},
      {"a superscript is no number", "1777118400,\xC2\xB2,5", {kNoon, 5, 0, Kind::no_device}, {}},
      {"no time", ",0,5", bad_timestamp(), {{"bad_timestamp", 1}}},
      {"garbage", "yesterday,0,5", bad_timestamp(), {{"bad_timestamp", 1}}},
      {"nothing but commas", ",,", bad_timestamp(), {{"bad_timestamp", 1}}},
      {"a comment is a bad timestamp", "# restarted", bad_timestamp(), {{"bad_timestamp", 1}}},
      {"too many cells, but first a bad timestamp",
       "x,0,5,6",
       bad_timestamp(),
       {{"bad_timestamp", 1}}},
      {"year 1 is no crash", "0001-01-01T00:00:00,0,5", {-62135596800, 5, 0, Kind::power}, {}},
  };
  for (const auto& c : cases) {
    const Result result =
        read("timestamp,gpu,power_w\n1777118399,0,4\n" + c.row + "\n1777118401,0,6\n");
    if (c.row.starts_with("0001")) {
      // As Python: it may be out of range, it must not end the run.
      EXPECT_EQ(result.readings.size(), 3u) << c.what;
      continue;
    }
    EXPECT_EQ(result.readings, (Readings{power(kNoon - 1, 4), c.reading, power(kNoon + 1, 6)}))
        << c.what;
    EXPECT_EQ(result.skipped, c.skipped) << c.what;
    EXPECT_EQ(result.rows, 3u) << c.what;
  }
}

TEST(CsvTelemetry, TellsWhoseARowWithoutPowerIs) {
  const std::string text =
      "timestamp,gpu,power_w\n1777118400,0,5\n1777118400,1,N/A\n1777118400,1,5,6\n"
      "1777118400,,N/A\n1777118400,,-5\n1777118400,,0\n1777118400\n";
  CsvTelemetry telemetry(std::make_unique<test::StutterSource>(text, test::kWhole), Zone::fixed(0));
  std::vector<std::uint32_t> devices;
  telemetry.read([&](std::span<const Reading> readings) {
    for (const Reading& reading : readings) devices.push_back(reading.device);
  });
  constexpr std::uint32_t kNone = DeviceNames::kNone;
  EXPECT_EQ(devices, (std::vector<std::uint32_t>{0, 1, 1, kNone, kNone, kNone, kNone}));
  EXPECT_EQ(telemetry.devices(), (Names{"0", "1"}));
}

TEST(CsvTelemetry, SkipsRowsThatSayNothing) {
  const struct {
    const char* what;
    std::string row;
    Counts skipped;
  } cases[] = {
      {"an empty line", "\n", {{"blank", 1}}},
      {"blanks", "  \t \n", {{"blank", 1}}},
      {"a no-break space", "\xC2\xA0\n", {{"blank", 1}}},
      {"empty quotes", "\"\"\n", {{"blank", 1}}},
      {"a CR and an LF of their own", "\r\n\n", {{"blank", 2}}},
      {"the header again", "timestamp,gpu,power_w\n", {{"repeated_header", 1}}},
      {"with blanks", " timestamp , gpu , power_w \r\n", {{"repeated_header", 1}}},
      {"quoted", "\"timestamp\",\"gpu\",\"power_w\"\n", {{"repeated_header", 1}}},
      {"NULs alone", std::string(20, '\0') + "\n", {{"blank", 1}}},
      {"a shorter header is none", "timestamp,gpu\n", {{"bad_timestamp", 1}}},
      {"numbers are no header", "timestamp,0,5\n", {{"bad_timestamp", 1}}},
  };
  for (const auto& c : cases) {
    const Result result =
        read("timestamp,gpu,power_w\n1777118400,0,5\n" + c.row + "1777118401,0,6\n");
    Readings expected = {power(kNoon, 5), power(kNoon + 1, 6)};
    if (c.skipped.contains("bad_timestamp")) expected.insert(expected.begin() + 1, bad_timestamp());
    EXPECT_EQ(result.readings, expected) << c.what;
    EXPECT_EQ(result.skipped, c.skipped) << c.what;
  }
}

// What is below it would be read from the places of other columns: here °C as W.
TEST(CsvTelemetry, EndsAtAHeaderWithOtherColumns) {
  const std::string before = "timestamp,gpu,power_w,temp\n1777118400,0,300,50\n\n";
  const char* const headers[] = {"timestamp,gpu,temp,power_w\n", "timestamp,gpu,power.limit,temp\n",
                                 "timestamp,uuid,power_w,temp\n",
                                 "\xEF\xBB\xBFtimestamp, uuid ,\"power_w\"\r\n"};
  for (const std::string header : headers) {
    CsvTelemetry telemetry(
        std::make_unique<test::StutterSource>(before + header + "1777118401,0,50,300\n", kWhole),
        Zone::fixed(0), {});
    std::vector<Reading> readings;
    try {
      telemetry.read([&](std::span<const Reading> more) {
        readings.insert(readings.end(), more.begin(), more.end());
      });
      ADD_FAILURE() << header;
    } catch (const TelemetryError& error) {
      EXPECT_STREQ(error.what(),
                   "row 3 after the header is a header with other columns: split the recording "
                   "before it");
    }
    EXPECT_EQ(readings, (Readings{power(kNoon, 300)})) << header;
  }
  // Nothing is below a last line that was cut off.
  EXPECT_EQ(read(before + "timestamp,gpu,power_w,te").skipped.at("repeated_header"), 1U);
  EXPECT_EQ(read(before + "timestamp,gpu,powe,temp").skipped.at("bad_timestamp"), 1U);
}

// Contract.md part 0 row 5: torn is a last row without an end and with fewer cells than the header.
TEST(CsvTelemetry, SkipsATornLastRow) {
  const struct {
    std::string tail;
    Readings more;
    Counts skipped;
  } cases[] = {
      {"1", {}, {{"torn_tail", 1}}},
      {"1777118401", {}, {{"torn_tail", 1}}},
      {"1777118401,0", {}, {{"torn_tail", 1}}},
      // A quote never closed takes in the lines behind it: rows are lost, which no torn tail does.
      {"1777118401,\"0,7\n1777118402,0,8\n", {no_power(kNoon + 1)}, {{"no_reading", 1}}},
      {"1777118401,\"0,7", {}, {{"torn_tail", 1}}},
      {"timestamp,g", {}, {{"torn_tail", 1}}},
      {"1777118401,0,", {no_power(kNoon + 1)}, {{"no_reading", 1}}},
      {"1777118401,0,7", {power(kNoon + 1, 7)}, {}},
      {"1777118401,0\n", {no_power(kNoon + 1)}, {{"no_reading", 1}}},  // it has an end
      {"1777118401,0\r", {no_power(kNoon + 1)}, {{"no_reading", 1}}},
      {"  ", {}, {{"blank", 1}}},
      {"", {}, {}},
      {std::string(100, '\0'), {}, {}},
  };
  for (const auto& c : cases) {
    for (const std::size_t most : {kWhole, std::size_t{1}}) {
      const Result result =
          read("timestamp,gpu,power_w\n1777118400,0,5\n" + c.tail, {.most = most});
      Readings expected = {power(kNoon, 5)};
      expected.insert(expected.end(), c.more.begin(), c.more.end());
      EXPECT_EQ(result.readings, expected) << c.tail;
      EXPECT_EQ(result.skipped, c.skipped) << c.tail;
    }
  }
}

TEST(CsvTelemetry, FindsTheHeaderBehindOtherLines) {
  const std::string body = "timestamp,gpu,power_w\n1777118400,0,5\n";
  const struct {
    const char* what;
    std::string before;
    Counts skipped;
  } cases[] = {
      {"nothing", "", {}},
      {"blank lines", "\n\r\n  \n", {{"blank", 3}}},
      {"comments", "# made by hand\n#more, of it\n", {{"comment", 2}}},
      {"amd-smi", "'CTRL' + 'C' to stop watching output:\r\n", {{"preamble", 1}}},
      {"a warning, a comment, a blank line",
       "WARNING: AMD GPU device(s), slow\n# x\n\n",
       {{"preamble", 1}, {"comment", 1}, {"blank", 1}}},
      {"data from before the header", "1777118300,0,4\n", {{"preamble", 1}}},
      {"a line with 'time' and 'power' in it",
       "power log, started at some time\n",
       {{"preamble", 1}}},
  };
  for (const auto& c : cases) {
    const Result result = read(c.before + body);
    EXPECT_EQ(result.columns.schema, "generic") << c.what;
    EXPECT_EQ(result.readings, Readings{power(kNoon, 5)}) << c.what;
    EXPECT_EQ(result.skipped, c.skipped) << c.what;
  }
}

// Bad stamps behind it do not make a header's repetition the header.
TEST(CsvTelemetry, KeepsAHeaderThatIsRepeated) {
  const std::string header = "time,gpu,power\n";
  const Result result = read(header + "bad,0,1\nbad,0,1\nbad,0,1\n1777118400,0,5\n" + header +
                             "1777118401,0,6\n1777118402,0,7\n1777118403,0,8\n");
  EXPECT_EQ(result.skipped, (Counts{{"bad_timestamp", 3}, {"repeated_header", 1}}));
  EXPECT_EQ(result.readings.size(), 7u);  // bad stamps are given out too
}

TEST(CsvTelemetry, SaysWhenThereIsNoHeader) {
  for (const char* text :
       {"", "\n\n", "# only\n# comments\n", "28.44\n28.31\n",
        "1785951483,0, 72.60, 73543, 81920\n1785951483,1, 72.60, 73543, 81920\n",
        "2026/04/25 12:00:00.000, 0, 60.50 W\n2026/04/25 12:00:01.000, 0, 6 W\n"}) {
    const Result result = read(text);
    EXPECT_TRUE(result.columns.reasons.contains(Reason::no_header)) << text;
    EXPECT_EQ(result.columns.reasons.codes(),
              (Names{"timestamp_column_missing", "power_column_missing",
                     "gpu_identity_column_missing", "no_header"}))
        << text;
    EXPECT_EQ(result.readings, Readings{}) << text;
  }
}

// What amd-smi prints to a pipe: a line for people, a header with every tick, CRLF ends, and a
// bare LF between ticks; quoted lists with commas.
TEST(CsvTelemetry, ReadsAmdSmiAsItPrints) {
  const std::string header = "timestamp,gpu,vcn_activity,socket_power,power_management\r\n";
  const auto row = [](int second, int gpu, const char* watts) {
    return fmt::format("{},{},\"['N/A', 'N/A']\",{},ENABLED\r\n", 1777118400 + second, gpu, watts);
  };
  const std::string text = "'CTRL' + 'C' to stop watching output:\n" + header + row(0, 0, "240") +
                           row(0, 1, "241") + "\n" + header + row(1, 0, "N/A") + row(1, 1, "243") +
                           "\n" + header + "17771184";
  for (const std::size_t most : {kWhole, std::size_t{1}, std::size_t{7}}) {
    const Result result = read(text, {.most = most});
    EXPECT_EQ(result.columns.schema, "amd-smi");
    EXPECT_EQ(result.columns.power->name, "socket_power");
    EXPECT_EQ(result.readings, (Readings{power(kNoon, 240), power(kNoon, 241, 1),
                                         no_power(kNoon + 1), power(kNoon + 1, 243, 1)}));
    EXPECT_EQ(result.devices, (Names{"0", "1"}));
    EXPECT_EQ(result.skipped, (Counts{{"preamble", 1},
                                      {"blank", 2},
                                      {"repeated_header", 2},
                                      {"no_reading", 1},
                                      {"torn_tail", 1}}));
    EXPECT_EQ(result.naive_stamps, 0u);
  }
}

// A row of a sub-device (a partition) repeats the power of the whole: no second device.
TEST(CsvTelemetry, ReadsAmdSmiMonitor) {
  const Result result = read(
      "timestamp,gpu,xcp,power_usage,max_power\n"
      "1777118400,0,0,136,750\n1777118400,0,1,136,750\n1777118400,1,0,140,750\n");
  EXPECT_EQ(result.readings,
            (Readings{power(kNoon, 136), power(kNoon, 136), power(kNoon, 140, 1)}));
  EXPECT_EQ(result.devices, (Names{"0", "1"}));
}

// A mixed box has both columns; of each row the one that is a number counts.
TEST(CsvTelemetry, ReadsRocmSmiOfAMixedBox) {
  const Result result = read(
      "WARNING: AMD GPU device(s) is/are in a low-power state.\n\n"
      "time,device,Average Graphics Package Power (W),Current Socket Graphics Package Power "
      "(W),Max "
      "Graphics Package Power (W)\n"
      "1777118400,card0,25.0,N/A,300.0\n1777118400,card1,N/A,140.5,750.0\n"
      "1777118400,card2,N/A (Secondary die),,750.0\n1777118400,card3,1.0,2.0,300.0\n");
  EXPECT_EQ(result.readings, (Readings{power(kNoon, 25), power(kNoon, 140.5, 1), no_power(kNoon),
                                       power(kNoon, 2, 3)}));
  EXPECT_EQ(result.devices, (Names{"card0", "card1", "card2", "card3"}));
}

TEST(CsvTelemetry, ReadsThePowerRowsOfALongTable) {
  const std::string header = "timestamp,metric_name,gpu_id,Hostname,value\n";
  const Result result = read(header +
                             "2026-04-25T12:00:00Z,DCGM_FI_DEV_GPU_UTIL,0,n1,99\n"
                             "2026-04-25T12:00:00Z,DCGM_FI_DEV_POWER_USAGE,0,n1,71.5\n"
                             "garbage,DCGM_FI_DEV_SM_CLOCK,0,n1,x\n"
                             "2026-04-25T12:00:00Z, DCGM_FI_DEV_POWER_USAGE ,0,n2,72.5\n"
                             "\n"
                             "# restarted\n" +
                             header + "2026-04-25T12:00:01Z,DCGM_FI_DEV_POWER_USAGE,0,n1,N/A\n");
  EXPECT_EQ(result.columns.schema, "dcgm-long");
  EXPECT_EQ(result.readings, (Readings{power(kNoon, 71.5), power(kNoon, 72.5, 1), bad_timestamp(),
                                       no_power(kNoon + 1)}));
  EXPECT_EQ(result.devices, (Names{"n1/0", "n2/0"}));
  EXPECT_EQ(
      result.skipped,
      (Counts{{"blank", 1}, {"repeated_header", 1}, {"bad_timestamp", 1}, {"no_reading", 1}}));
}

// An exporter writes metric after metric: with many GPUs the power stands far down.
TEST(CsvTelemetry, FindsThePowerMetricHoweverFarDown) {
  for (const std::string name :
       {"POWER_USAGE", "POWER_USAGE_INSTANT", "BOARD_POWER_WATTS", "BOARD_POWER_RAW_WATTS"}) {
    std::string text = "timestamp,metric_name,uuid,value\n";
    for (int i = 0; i < 200; ++i)
      text += fmt::format("1777118400,DCGM_FI_DEV_GPU_UTIL,GPU-{},99\n", i);
    text += "1777118400,DCGM_FI_DEV_" + name + ",GPU-7,71.5\n";
    EXPECT_EQ(read(text).readings, Readings{power(kNoon, 71.5)}) << name;
  }
}

TEST(CsvTelemetry, ReadsXpuSmi2InUtc) {
  const std::string text =
      "Timestamp, DeviceId, power.draw (W)\n2026/04/25 12:00:00.500, 0, 300.1\n";
  const Result own = read(text, {.zone = std::nullopt});
  EXPECT_EQ(own.readings, Readings{power(kNoon + 0.5, 300.1)});
  EXPECT_EQ(own.zone, "UTC");
  const Result reported = read(text, {.zone = Zone::parse("+05:30")});
  EXPECT_EQ(reported.readings, Readings{power(kNoon + 0.5 - 5.5 * 3600, 300.1)});
  EXPECT_EQ(reported.zone, "+05:30");
}

TEST(CsvTelemetry, ReadsNaiveStampsInTheZone) {
  const std::string text =
      "timestamp,gpu,power_w\n2026-04-25 12:00:00,0,1\n2026-04-25T12:00:00Z,0,2\n"
      "2026-04-25T12:00:00+02:00,0,3\n1777118400,0,4\n";
  const Result result = read(text, {.zone = Zone::parse("America/Los_Angeles")});
  // -07:00 in April.
  EXPECT_EQ(result.readings, (Readings{power(kNoon + 7 * 3600, 1), power(kNoon, 2),
                                       power(kNoon - 2 * 3600, 3), power(kNoon, 4)}));
  EXPECT_EQ(result.naive_stamps, 1u);
}

TEST(CsvTelemetry, NamesADeviceByItsHostToo) {
  const Result result = read(
      "timestamp,hostname,gpu,power_w\n1777118400,n1,0,1\n1777118400,n2,0,2\n1777118400, n1 , 0 "
      ",3\n"
      "1777118400,n1,,4\n");
  EXPECT_EQ(result.devices, (Names{"n1/0", "n2/0"}));
  EXPECT_EQ(
      result.readings,
      (Readings{
          power(kNoon, 1), power(kNoon, 2, 1), power(kNoon, 3), {kNoon, 4, 0, Kind::no_device}}));
}

TEST(CsvTelemetry, TakesTheColumnThatTellsDevicesApart) {
  const Result result =
      read("timestamp,index,uuid,power_w\n1777118400,0,GPU-a,1\n1777118400,0,GPU-b,2\n");
  EXPECT_EQ(result.devices, (Names{"GPU-a", "GPU-b"}));
}

TEST(CsvTelemetry, HasOneDeviceWithoutADeviceColumn) {
  const Result result = read("timestamp,power_w\n1777118400,1\n1777118401,2\n");
  EXPECT_EQ(result.devices, Names{"0"});
  EXPECT_EQ(result.readings, (Readings{power(kNoon, 1), power(kNoon + 1, 2)}));
  EXPECT_EQ(result.columns.reasons.codes(), Names{"gpu_identity_column_missing"});
}

TEST(CsvTelemetry, KeepsDevicesApartThatAreSpelledApart) {
  const Result result = read(
      "timestamp,gpu,power_w\n1777118400,0,1\n1777118400,00,2\n1777118400, 0\t,3\n"
      "1777118400,\"0\",4\n1777118400,GPU-A,5\n1777118400,gpu-a,6\n1777118400,\xFF,7\n"
      "1777118400,\xEF\xBF\xBD,8\n");
  // What is no UTF-8 reads as the replacement character, as in Python.
  EXPECT_EQ(result.devices, (Names{"0", "00", "GPU-A", "gpu-a", "\xEF\xBF\xBD"}));
  std::vector<std::uint32_t> devices;
  for (const Reading& reading : result.readings) devices.push_back(reading.device);
  EXPECT_EQ(devices, (std::vector<std::uint32_t>{0, 1, 0, 0, 2, 3, 4, 4}));
}

std::string utf16le(std::string_view ascii) {
  std::string bytes = "\xFF\xFE";
  for (const char c : ascii) bytes += {c, '\0'};
  return bytes;
}

TEST(CsvTelemetry, ReadsAnyEncoding) {
  const std::string body =
      "timestamp, index, power.draw [W], temp [C]\r\n2026/04/25 12:00:00.000, 0, 60.50 W, 40\r\n"
      "2026/04/25 12:00:01.000, 1, 61.25 W, 41\r\n";
  std::string latin1 = body;
  latin1.replace(latin1.find("[C]"), 3,
                 "[\xB0"
                 "C]");
  std::string big_endian = "\xFE\xFF";
  for (const char c : body) big_endian += {'\0', c};
  const struct {
    const char* what;
    std::string text;
  } cases[] = {
      {"plain", body},
      {"UTF-8 mark", "\xEF\xBB\xBF" + body},
      {"UTF-16LE", utf16le(body)},
      {"UTF-16BE", big_endian},
      {"Latin-1", latin1},
  };
  for (const auto& c : cases) {
    for (const std::size_t most : {kWhole, std::size_t{1}}) {
      const Result result = read(c.text, {.most = most});
      EXPECT_EQ(result.readings, (Readings{power(kNoon, 60.5), power(kNoon + 1, 61.25, 1)}))
          << c.what;
      EXPECT_EQ(result.columns.timestamp->name, "timestamp") << c.what;
      EXPECT_EQ(result.columns.reasons.codes(), Names{}) << c.what;
    }
  }
}

TEST(CsvTelemetry, AMarkDoesNotHideALeadingDeviceColumn) {
  const Result result = read("\xEF\xBB\xBFgpu,timestamp,power_w\n3,1777118400,5\n");
  EXPECT_EQ(result.columns.device->name, "gpu");
  EXPECT_EQ(result.devices, Names{"3"});
}

TEST(CsvTelemetry, DropsNulsWhereverTheyAre) {
  const std::string nuls(1000, '\0');
  const Result result = read("times" + nuls + "tamp,gpu,power_w" + nuls + "\n1777" + nuls +
                             "118400,0,5\n" + nuls + "1777118401,0," + nuls + "6\n");
  EXPECT_EQ(result.readings, (Readings{power(kNoon, 5), power(kNoon + 1, 6)}));
  EXPECT_EQ(result.dropped_nuls, 5000u);
  EXPECT_EQ(result.columns.timestamp->name, "timestamp");
}

TEST(CsvTelemetry, ReadsTheSameInAnyPieces) {
  std::string text = "# log\ntimestamp,gpu,note,power_w\n";
  for (int i = 0; i < 300; ++i) {
    text += fmt::format("{},{},\"a, \"\"{}\"\"\",{}.5 W{}", 1777118400 + i / 4, i % 4, i, i,
                        i % 3 == 0 ? "\r\n" : "\n");
    if (i % 50 == 0) text += "timestamp,gpu,note,power_w\n\n";
  }
  const Result whole = read(text);
  ASSERT_EQ(whole.readings.size(), 300u);
  EXPECT_EQ(whole.readings[299], power(kNoon + 74, 299.5, 3));
  for (const std::size_t most : {1, 13, 4096}) {
    const Result pieces = read(text, {.most = most});
    EXPECT_EQ(pieces.readings, whole.readings);
    EXPECT_EQ(pieces.skipped, whole.skipped);
    EXPECT_EQ(pieces.rows, whole.rows);
  }
  EXPECT_EQ(whole.skipped, (Counts{{"blank", 6}, {"repeated_header", 6}, {"comment", 1}}));
}

TEST(CsvTelemetry, ReadsAFileOfManyBuffers) {
  std::string text = "timestamp,gpu,power_w\n";
  constexpr int kRows = 100000;  // 1.9 MB
  for (int i = 0; i < kRows; ++i)
    text += fmt::format("{},{},{}\n", 1777118400 + i / 8, i % 8, i % 1000);
  const Result result = read(text);
  ASSERT_EQ(result.readings.size(), static_cast<std::size_t>(kRows));
  for (int i = 0; i < kRows; ++i) {
    ASSERT_EQ(result.readings[static_cast<std::size_t>(i)],
              power(kNoon + i / 8, i % 1000, static_cast<std::uint32_t>(i % 8)));
  }
}

// formats.md section 1: what loggers in the wild write.
TEST(CsvTelemetry, ReadsRaggedFilesAsFarAsTheyGo) {
  const struct {
    const char* what;
    std::string text;
    const char* power_column;
    Readings readings;
    Counts skipped;
  } cases[] = {
      {"three cells under four headers, and a stray line per tick",
       "timestamp,card,power_w,energy\n1777118400,\n1777118400,card0,140\n1777118400,card1,141\n",
       "power_w",
       {no_power(kNoon), power(kNoon, 140), power(kNoon, 141, 1)},
       {{"no_reading", 1}}},
      {"a decimal comma under two headers",
       "timestamp,power\n1777118400,30,3\n1777118401,31\n1777118402,30,9\n",
       "power",
       {no_power(kNoon), power(kNoon + 1, 31), no_power(kNoon + 2)},
       {{"too_many_cells", 2}}},
      {"a column inserted in the middle of a file, without a header",
       "timestamp,cpu_power,gpu_power,total_power\n1777118400,50,200,250\n"
       "1777118401,50,7,200,257\n",
       "gpu_power",
       {power(kNoon, 200), no_power(kNoon + 1)},
       {{"too_many_cells", 1}}},
      {"an error in a cell that does not matter",
       "timestamp, pstate, power.draw [W], index\n2026/04/25 12:00:00.000, [Unknown Error], 60.5, "
       "0\n",
       "power.draw [W]",
       {power(kNoon, 60.5)},
       {}},
      {"a CPU's empty cells before the GPU's",
       "timestamp,cpu_watts,gpu_watts\r\n2026-04-25T12:00:00.5Z,,60.5\r\n",
       "gpu_watts",
       {power(kNoon + 0.5, 60.5)},
       {}},
      {"PowerJoular: one-digit hours, and the power of more than the GPU",
       "Date,CPU Utilization,Total Power,CPU Power,GPU Power\n"
       "2026-04-25 9:00:00.250,0.1,90,20,70\n",
       "GPU Power",
       {power(kNoon - 3 * 3600 + 0.25, 70)},
       {}},
      {"a duration before the time",
       "time_ms,timestamp,index,power.draw [W]\n1500,2026/04/25 12:00:00.000,0,60.5\n",
       "power.draw [W]",
       {power(kNoon, 60.5)},
       {}},
  };
  for (const auto& c : cases) {
    const Result result = read(c.text);
    ASSERT_TRUE(result.columns.power) << c.what;
    EXPECT_EQ(result.columns.power->name, c.power_column) << c.what;
    EXPECT_EQ(result.readings, c.readings) << c.what;
    EXPECT_EQ(result.skipped, c.skipped) << c.what;
  }
}

TEST(CsvTelemetry, ObeysNamedColumns) {
  const std::string text =
      "timestamp,when,gpu,slot,power_w,other (mW)\n1777118400,1777118500,0,s1,5,7000\n";
  const Result result = read(text, {.wanted = {"when", "other (mW)", "slot"}});
  EXPECT_EQ(result.readings, Readings{power(kNoon + 100, 7)});
  EXPECT_EQ(result.devices, Names{"s1"});
}

TEST(CsvTelemetry, ReadsAWideFileByANamedColumn) {
  const Result result =
      read("timestamp,GPU0,GPU1\n1777118400,60,70\n", {.wanted = {"", "GPU1", ""}});
  EXPECT_EQ(result.readings, Readings{power(kNoon, 70)});
}

// An open quote is found by Python while it reads rows: what stands before it was read by then.
TEST(CsvTelemetry, GivesTheReadingsBeforeACellThatIsTooLong) {
  for (const int rows_before : {1, 500}) {
    std::string text = "timestamp,gpu,power_w\n";
    for (int i = 0; i < rows_before; ++i) text += fmt::format("{},0,5\n", 1777118400 + i);
    text += "1777118400,\"0,5\n";
    while (text.size() < 300000) text += "1777118400,0,5\n";
    std::unique_ptr<CsvTelemetry> telemetry;
    ASSERT_NO_THROW(telemetry = std::make_unique<CsvTelemetry>(std::make_unique<MemorySource>(text),
                                                               Zone::fixed(0)))
        << rows_before << " rows before";
    ASSERT_TRUE(telemetry->columns().power);
    int readings = 0;
    EXPECT_THROW(telemetry->read([&](std::span<const Reading> some) {
      readings += static_cast<int>(some.size());
    }),
                 CsvError);
    EXPECT_EQ(readings, rows_before);
  }
}

TEST(CsvTelemetry, NeverFailsOnRubbish) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  const std::string good =
      "timestamp, index, power.draw [W]\n2026/04/25 12:00:00.000, 0, 60.50 W\n"
      "2026/04/25 12:00:01.000, 1, \"61.25 W\"\n\n2026/04/25 12:00:02.000, 0, [N/A]\n";
  for (int round = 0; round < test::rounds(3000); ++round) {
    std::string text = dice.one_in(6) ? utf16le(good) : good;
    for (std::size_t i = 0; i < 1 + dice.below(10); ++i) {
      const std::size_t at = dice.below(text.size());
      if (dice.one_in(3)) {
        text.erase(at, dice.below(20));
        if (text.empty()) text = "x";
      } else {
        text[at] = static_cast<char>(dice.one_in(2) ? dice.below(256)
                                                    : std::size_t("\",\n\r\0 "[dice.below(6)]));
      }
    }
    ASSERT_NO_THROW({
      const Result result = read(text, {.most = 1 + dice.below(100)});
      for (const Reading& reading : result.readings) {
        if (reading.kind == Kind::power) {
          ASSERT_LT(reading.device, result.devices.size());
          ASSERT_GE(reading.watts, 0);
          ASSERT_TRUE(std::isfinite(reading.watts) && std::isfinite(reading.unix_s));
        }
      }
    }) << "TEST_SEED="
       << seed << ", round " << round;
  }
}

TEST(Skipped, TellsEveryCauseInOrder) {
  const Skipped skipped{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::pair<std::string_view, std::uint64_t>> expected = {
      {"blank", 1},         {"repeated_header", 2}, {"preamble", 3},       {"comment", 4},
      {"bad_timestamp", 5}, {"no_reading", 6},      {"too_many_cells", 7}, {"torn_tail", 8}};
  EXPECT_EQ(by_cause(skipped), expected);
}

}  // namespace csv_telemetry_test
}  // namespace aggregate_power
