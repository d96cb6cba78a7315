// The samples of a package: what is given out, in which order, and what is counted as a fault.
#include "packages/srt_slurm/srt_slurm.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace samples_test {

constexpr const char* kHeader =
    "schema_version,timestamp_unix,scrape_seq,hostname,gpu_index,gpu_uuid,power_w\r\n";
constexpr Window kBand = {100, 200};

// What one reading of a file gave out, as lines "device time watts".
struct Found {
  PackageSamples samples;
  std::vector<std::string> lines;
  int starts = 0;
};

Found read_text(const std::string& text, PackageSamplesRequest request) {
  const test::Folder folder;
  const OpenedFile file(test::put(folder / "samples.csv", text));
  Found found;
  request.take = [&](std::span<const PackageSample> samples) {
    for (const PackageSample& sample : samples) {
      found.lines.push_back(fmt::format("{} {} {}", sample.device, sample.unix_s, sample.watts));
    }
  };
  request.start_over = [&] {
    found.lines.clear();
    ++found.starts;
  };
  found.samples = read_package_samples(file, request);
  return found;
}

Found read_text(const std::string& text, Window band = kBand) {
  PackageSamplesRequest request;
  request.band = band;
  return read_text(text, std::move(request));
}

std::string row(double unix_s, int scrape, const std::string& device, const std::string& watts) {
  return fmt::format("1,{},{},{},GPU-{},{}\r\n", unix_s, scrape, device, device.substr(0, 1),
                     watts);
}

using Lines = std::vector<std::string>;

TEST(PackageSamples, AreGivenOutAsTheyComeInOrder) {
  const Found found = read_text(kHeader + row(110, 0, "a,0", "300.5") + row(110.5, 0, "b,3", "0") +
                                row(111, 1, "a,0", "301") + row(111.5, 1, "b,3", "1e3"));
  EXPECT_EQ(found.lines, (Lines{"0 110 300.5", "1 110.5 0", "0 111 301", "1 111.5 1000"}));
  EXPECT_EQ(found.starts, 0);
  EXPECT_EQ(found.samples.rows, 4u);
  EXPECT_EQ(found.samples.last_scrape, 1);
  EXPECT_EQ(found.samples.version, 1);
  EXPECT_EQ(found.samples.first_fault, "");
  ASSERT_EQ(found.samples.devices.size(), 2u);
  EXPECT_EQ(found.samples.devices[1].key, (DeviceKey{"b", 3}));
  EXPECT_EQ(found.samples.devices[1].uuids, Lines{"GPU-b"});
  EXPECT_EQ(found.samples.devices[1].first_unix_s, 110.5);
  EXPECT_EQ(found.samples.devices[1].last_unix_s, 111.5);
}

TEST(PackageSamples, OutOfOrderAreReadAgainAndGivenOutByTime) {
  const Found found = read_text(kHeader + row(111, 1, "a,0", "2") + row(110, 0, "a,0", "1") +
                                row(112, 2, "a,0", "3") + row(110, 0, "b,3", "4"));
  EXPECT_EQ(found.lines, (Lines{"0 110 1", "0 111 2", "0 112 3", "1 110 4"}));
  EXPECT_EQ(found.starts, 1);
  EXPECT_EQ(found.samples.rows, 4u);
  EXPECT_FALSE(found.samples.turned_back.any() || found.samples.repeated.any());
}

std::vector<double> longest(const SeenDevice& device) {
  std::vector<double> longest_s;
  for (const SampleGaps& gaps : device.gaps) longest_s.push_back(gaps.longest_s);
  return longest_s;
}

// Neighbours of which one is before the end and the other behind the start.
TEST(PackageSamples, TellTheLargestGapOfEachDeviceAroundEachWindow) {
  constexpr double kStamps[] = {90, 98, 104, 109, 116, 119, 121, 129, 133};
  std::vector<std::string> rows;
  for (int i = 0; i < static_cast<int>(std::size(kStamps)); ++i) {
    rows.push_back(row(kStamps[i], i, "a,0", "1") + row(kStamps[i] + 0.25, i, "b,1", "1"));
  }
  rows.push_back(row(140, 9, "a,0", "1"));
  PackageSamplesRequest request;
  request.band = kBand;
  // Two begin and end at stamps: what ends at the start, or begins at the end, is not around them.
  request.windows = {{50, 95},   {98, 104},  {100, 120}, {104, 109},
                     {115, 130}, {134, 140}, {500, 600}};
  const std::vector<double> expected = {8, 6, 7, 5, 8, 7, 0};
  const std::vector<double> of_other = {8, 8, 7, 6, 8, 0, 0};
  for (const std::size_t turned : {0, 1}) {
    if (turned > 0) std::swap(rows[2], rows[7]);
    request.most_devices = 2;
    Found found = read_text(kHeader + fmt::format("{}", fmt::join(rows, "")), request);
    EXPECT_EQ(found.starts, turned);
    ASSERT_EQ(found.samples.devices.size(), 2u);
    EXPECT_EQ(longest(found.samples.devices[0]), expected);
    EXPECT_EQ(longest(found.samples.devices[1]), of_other);

    request.most_devices = 1;
    found = read_text(kHeader + fmt::format("{}", fmt::join(rows, "")), request);
    EXPECT_EQ(longest(found.samples.devices[0]), expected);
    EXPECT_TRUE(found.samples.devices[1].gaps.empty());
  }
}

TEST(PackageSamples, OfOneScrapeTheFirstIsKept) {
  const Found found = read_text(kHeader + row(110, 0, "a,0", "1") + row(111, 1, "a,0", "2") +
                                row(111.5, 1, "a,0", "9") + row(250, 1, "a,0", "9"));
  EXPECT_EQ(found.lines, (Lines{"0 110 1", "0 111 2"}));
  EXPECT_EQ(found.samples.rows, 2u);
  EXPECT_EQ(found.samples.repeated.in_band, 1u);
  EXPECT_EQ(found.samples.repeated.outside, 1u);
}

TEST(PackageSamples, CountStampsThatTurnBackOrStandStillInTheOrderOfScrapes) {
  const Found found =
      read_text(kHeader + row(90, 0, "a,0", "1") + row(89, 1, "a,0", "2") +
                row(110, 2, "a,0", "3") + row(110, 3, "a,0", "4") + row(109, 4, "a,0", "5") +
                row(300, 5, "a,0", "6") + row(300, 6, "a,0", "7"));
  EXPECT_EQ(found.lines,
            (Lines{"0 89 2", "0 90 1", "0 109 5", "0 110 3", "0 110 4", "0 300 6", "0 300 7"}));
  EXPECT_EQ(found.samples.turned_back.in_band, 1u);
  EXPECT_EQ(found.samples.turned_back.outside, 1u);
  EXPECT_EQ(found.samples.same_stamp.in_band, 1u);
  EXPECT_EQ(found.samples.same_stamp.outside, 1u);
  EXPECT_EQ(found.samples.first_fault, "at 89.000: an earlier timestamp than the scrape before");
  EXPECT_EQ(found.samples.devices[0].first_unix_s, 89);
  EXPECT_EQ(found.samples.devices[0].last_unix_s, 300);
}

TEST(PackageSamples, CountRowsThatAreNoneByWhereTheyLie) {
  const Found found = read_text(kHeader + row(99.9, 0, "a,0", "x") + row(100, 1, "a,0", "x") +
                                row(200, 2, "a,0", "-1") + row(200.1, 3, "a,0", "") + "\r\n" +
                                "  \r\n" + row(150, 4, "a,0", "5") + "1,x,5,a,0,GPU-a,5\r\n" +
                                "1,300,6,a,0,GPU-a\r\n" + "1,nan,7,a,0,GPU-a,5\r\n" + "torn");
  EXPECT_EQ(found.lines, Lines{"0 150 5"});
  EXPECT_EQ(found.samples.malformed.outside, 3u);
  EXPECT_EQ(found.samples.malformed.in_band, 6u);
  EXPECT_EQ(found.samples.blank_rows, 1u);
  EXPECT_EQ(found.samples.first_fault, "row 1 after the header: power_w is not a number from 0 on");
}

TEST(PackageSamples, ReadNumbersAsPythonDoes) {
  const struct {
    const char* cell;
    double watts;  // NaN: none
  } cases[] = {
      {"0", 0},
      {"-0.0", -0.0},
      {"007", 7},
      {"300.0", 300},
      {" 300 ", 300},
      {"+300", 300},
      {"3_00", 300},
      {".5", .5},
      {"5.", 5},
      {"1e3", 1000},
      {"1E+2", 100},
      {"\u0663\u0660\u0660", 300},
      {"\u00A0300", 300},
      {"123456.789", 123456.789},
      {"0.1234567890123456789", 0.1234567890123456789},
      {"9e307", 9e307},
      {"1e-400", 0},
      {"", NAN},
      {"300 W", NAN},
      {"300W", NAN},
      {"3__0", NAN},
      {"_3", NAN},
      {"1e", NAN},
      {"0x10", NAN},
      {"-0.1", NAN},
      {"1e999", NAN},
      {"inf", NAN},
      {"nan", NAN},
      {"1,5", NAN},
  };
  for (const auto& c : cases) {
    const Found found = read_text(kHeader + row(150, 0, "a,0", c.cell));
    EXPECT_EQ(found.lines, std::isnan(c.watts) ? Lines{} : Lines{fmt::format("0 150 {}", c.watts)})
        << c.cell;
  }
}

TEST(PackageSamples, ReadWholeNumbersAsPythonDoes) {
  for (const char* const cell : {"0", " 0", "+0", "-0", "00", "0\t", "\u0660"}) {
    const std::string text = std::string(kHeader) + "1,150," + cell + ",a," + cell + ",U,5\r\n";
    EXPECT_EQ(read_text(text).samples.rows, 1u) << cell;
  }
  for (const char* const cell :
       {"", "-1", "0.0", "0e0", "x", "0x0", "0_", "99999999999999999999"}) {
    EXPECT_EQ(read_text(fmt::format("{}1,150,{},a,0,U,5\r\n", kHeader, cell)).samples.rows, 0u)
        << cell;
    EXPECT_EQ(read_text(fmt::format("{}1,150,0,a,{},U,5\r\n", kHeader, cell)).samples.rows, 0u)
        << cell;
  }
}

// 2^64 + 5 is no 5, however many rows were read at once before.
TEST(PackageSamples, TakeNoScrapeForAnotherThatIsTooLarge) {
  for (const char* const scrape :
       {"18446744073709551621", "184467440737095516170000000000000005"}) {
    std::string text = kHeader;
    for (int i = 0; i < 5; ++i) text += row(150 + i, i, "a,0", "1");
    text += fmt::format("1,155,{},a,0,GPU-a,1\r\n", scrape);
    const Found found = read_text(text + row(156, 6, "a,0", "1"));
    EXPECT_EQ(found.samples.rows, 6u) << scrape;
    EXPECT_EQ(found.samples.malformed.in_band, 1u) << scrape;
    EXPECT_EQ(found.samples.last_scrape, 6) << scrape;
  }
}

// The rows of a scrape share stamp and scrape; the first row has none to share.
TEST(PackageSamples, NeedAStampAndAScrapeInTheFirstRowToo) {
  const Found found = read_text(std::string(kHeader) + "1,,0,a,0,U,5\r\n" + "1,150,,a,0,U,5\r\n" +
                                "1,,,a,0,U,5\r\n" + row(151, 1, "a,0", "6"));
  EXPECT_EQ(found.lines, Lines{"0 151 6"});
  EXPECT_EQ(found.samples.malformed.in_band, 3u);
}

TEST(PackageSamples, TellDevicesApartHoweverTheyAreQuoted) {
  const Found found = read_text(std::string(kHeader) + "1,150,0,a,0,U,1\r\n" +
                                "1,151,1,\"a\",0,\"U\",2\r\n" + "1,150,0,\"a,0\",1,V,3\r\n" +
                                "1,150,0,\" a\",0,W,4\r\n" + "1,150,0,a, 1,\"X,\"\"Y\"\"\",5\r\n" +
                                "1,150,0,\"a\n1\",0,Z,6\r\n" + "1,152,2,a,00,U,7\r\n");
  EXPECT_EQ(found.lines,
            (Lines{"0 150 1", "0 151 2", "1 150 3", "2 150 4", "3 150 5", "4 150 6", "0 152 7"}));
  std::vector<DeviceKey> keys;
  for (const SeenDevice& device : found.samples.devices) keys.push_back(device.key);
  EXPECT_EQ(keys, (std::vector<DeviceKey>{{"a", 0}, {"a,0", 1}, {" a", 0}, {"a", 1}, {"a\n1", 0}}));
  EXPECT_EQ(found.samples.devices[0].uuids, Lines{"U"});
  EXPECT_EQ(found.samples.devices[3].uuids, Lines{"X,\"Y\""});
}

TEST(PackageSamples, TellDevicesApartWhoseNamesLookLikeOthersTogether) {
  const Found found = read_text(std::string(kHeader) + "1,150,0,\"a\",0,\"3\n5,U\",1\r\n" +
                                "1,150,0,\"a,0\n1\",3,\"U\",2\r\n");
  ASSERT_EQ(found.samples.devices.size(), 2u);
  EXPECT_EQ(found.samples.devices[0].uuids, Lines{"3\n5,U"});
  EXPECT_EQ(found.samples.devices[1].key, (DeviceKey{"a,0\n1", 3}));
}

TEST(PackageSamples, KeepTheUuidsOfADeviceInTheOrderOfItsScrapes) {
  const Found found =
      read_text(std::string(kHeader) + "1,152,2,a,0,third,1\r\n1,150,0,a,0,first,1\r\n" +
                "1,151,1,a,0,second,1\r\n1,153,3,a,0,first,1\r\n");
  EXPECT_EQ(found.samples.devices[0].uuids, (Lines{"first", "second", "third"}));
}

TEST(PackageSamples, StopAtBytesThatAreNoText) {
  const Found found = read_text(kHeader + row(150, 0, "a,0", "1") + "1,300,1,a\xFF,0,U,1\r\n" +
                                row(152, 2, "a,0", "1"));
  EXPECT_EQ(found.samples.rows, 1u);
  EXPECT_EQ(found.samples.malformed.outside, 1u);
}

TEST(PackageSamples, HaveAHeaderLetterByLetter) {
  EXPECT_TRUE(read_text("").samples.has_other_header);
  EXPECT_TRUE(read_text("\r\n" + std::string(kHeader)).samples.has_other_header);
  EXPECT_TRUE(read_text("\xEF\xBB\xBF" + std::string(kHeader)).samples.has_other_header);
  EXPECT_TRUE(read_text(" " + std::string(kHeader)).samples.has_other_header);
  EXPECT_FALSE(
      read_text("\"schema_version\"" + std::string(kHeader).substr(14)).samples.has_other_header);
  EXPECT_FALSE(read_text(kHeader).samples.has_other_header);
}

TEST(PackageSamples, OfVersion2HaveTheirUtilisation) {
  const test::Folder folder;
  const OpenedFile file(test::put(
      folder / "samples.csv",
      "schema_version,timestamp_unix,scrape_seq,hostname,gpu_index,gpu_uuid,power_w,gpu_util_pct,"
      "sm_active\n2,150,0,a,0,U,1,55.5,0.5\n2,151,1,a,0,U,1,,\n2,152,2,a,0,U,1,100.5,\n"
      "1,153,3,a,0,U,1,5,\n"));
  std::vector<double> shares;
  PackageSamplesRequest request;
  request.band = kBand;
  request.take = [&](std::span<const PackageSample> some) {
    for (const PackageSample& sample : some) shares.push_back(sample.gpu_util_pct);
  };
  const PackageSamples samples = read_package_samples(file, request);
  EXPECT_EQ(samples.version, 2);
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[0], 55.5);
  EXPECT_TRUE(std::isnan(shares[1]));
  EXPECT_EQ(samples.malformed.in_band, 2u);
}

// Rows are read the quicker the more they look like those before them: that must not show.
TEST(PackageSamples, AreTheSameHoweverTheyAreSpelled) {
  std::mt19937_64 random(4);
  const auto any_of = [&](std::initializer_list<std::string> texts) {
    return texts.begin()[random() % texts.size()];
  };
  for (int round = 0; round < test::rounds(300); ++round) {
    const bool has_shares = random() % 2 == 0;
    const int odd_in = round % 3 == 0 ? 3 : 40;  // one cell of so many is spelled oddly
    const auto spelled = [&](const std::string& plain, std::initializer_list<std::string> odd) {
      return random() % static_cast<unsigned>(odd_in) == 0 ? any_of(odd) : plain;
    };
    std::string text =
        "schema_version,timestamp_unix,scrape_seq,hostname,gpu_index,gpu_uuid,power_w";
    text += has_shares ? ",gpu_util_pct,sm_active\r\n" : "\r\n";
    const std::string version = has_shares ? "2" : "1";
    std::vector<int> order = {0, 1, 2, 3, 4, 5};
    Lines expected;
    std::uint64_t rows = 0;
    std::uint64_t blank = 0;
    std::uint64_t broken = 0;
    for (int scrape = 0; scrape < 60; ++scrape) {
      if (random() % 20 == 0) std::ranges::shuffle(order, random);
      for (const int gpu : order) {
        if (random() % 50 == 0) continue;
        // In thousandths: 100 s to 200 s, and 0 W to 1200 W.
        const std::uint64_t millis =
            100'000 + 1'000 * static_cast<std::uint64_t>(scrape) + random() % 1'000;
        const std::uint64_t milliwatts = random() % 1'200'000;
        const auto decimal = [](std::uint64_t thousandths) {
          return fmt::format("{}.{:03}", thousandths / 1000, thousandths % 1000);
        };
        const std::string stamp = decimal(millis);
        const std::string watts = decimal(milliwatts);
        const std::string host = fmt::format("host{}", gpu / 2);
        const std::string index = fmt::format("{}", gpu % 2);
        const std::string uuid = fmt::format("GPU-{}", gpu);
        const auto quoted = [](const std::string& plain) { return '"' + plain + '"'; };
        std::string row;
        row += spelled(version, {quoted(version), " " + version, "+" + version}) + ',';
        row += spelled(stamp, {quoted(stamp), stamp + "00000", stamp + "e0", stamp + " "}) + ',';
        row += spelled(fmt::format("{}", scrape),
                       {fmt::format("0{}", scrape), quoted(fmt::format("{}", scrape))}) +
               ',';
        row += spelled(host, {quoted(host)}) + ',';
        row += spelled(index, {quoted(index), " " + index, "0" + index}) + ',';
        row += spelled(uuid, {quoted(uuid)}) + ',';
        row += spelled(watts, {quoted(watts), watts + "0000000", "+" + watts, "00" + watts,
                               " " + watts, fmt::format("{}e-3", milliwatts)});
        std::string share;
        if (has_shares) {
          share = any_of({"", "55", "100.0", "0.125"});
          row += ',' + share + any_of({",", ",0.25", ",1.0"});
        }
        const bool is_broken = random() % 60 == 0;
        if (is_broken) row += any_of({",", ",1", "x", "."});
        const bool is_blank = random() % 60 == 0;
        text += row + any_of({"\r\n", "\r\n", "\r\n", "\n", "\r"}) + (is_blank ? "\r\n" : "");
        blank += is_blank;
        broken += is_broken;
        if (is_broken) continue;
        ++rows;
        const auto value = [](const std::string& cell) {
          return cell.empty() ? std::nan("") : std::strtod(cell.c_str(), nullptr);
        };
        expected.push_back(fmt::format("{}/{} {} {} {} {}", host, index, uuid, value(stamp),
                                       value(watts), value(share)));
      }
    }
    const test::Folder folder;
    const OpenedFile file(test::put(folder / "samples.csv", text));
    std::vector<PackageSample> given;
    PackageSamplesRequest request;
    request.band = kBand;
    request.take = [&](std::span<const PackageSample> some) {
      given.insert(given.end(), some.begin(), some.end());
    };
    const PackageSamples samples = read_package_samples(file, request);
    Lines found;
    for (const PackageSample& sample : given) {
      const SeenDevice& device = samples.devices[sample.device];
      found.push_back(fmt::format("{} {} {} {} {}", device.key.text(), fmt::join(device.uuids, ""),
                                  sample.unix_s, sample.watts, sample.gpu_util_pct));
    }
    ASSERT_EQ(found, expected) << text;
    ASSERT_EQ(samples.rows, rows);
    ASSERT_EQ(samples.blank_rows, blank) << text;
    ASSERT_EQ(samples.malformed.in_band, broken) << samples.first_fault;
  }
}

// Longer than any buffer of the reader.
TEST(PackageSamples, AreReadWholeHoweverMany) {
  std::string text = kHeader;
  for (int scrape = 0; scrape < 20000; ++scrape) {
    for (const char* const device : {"a,0", "a,1", "b,0"}) {
      text += row(scrape + 0.25, scrape, device, fmt::format("{}.5", scrape % 700));
    }
  }
  const Found found = read_text(text);
  EXPECT_EQ(found.samples.rows, 60000u);
  EXPECT_EQ(found.lines.size(), 60000u);
  EXPECT_EQ(found.lines.back(), "2 19999.25 399.5");
  EXPECT_EQ(found.samples.last_scrape, 19999);
  EXPECT_FALSE(found.samples.malformed.any());
}

}  // namespace samples_test
}  // namespace aggregate_power
