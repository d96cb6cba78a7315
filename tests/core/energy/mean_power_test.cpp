// Schema 1's mean power: contract.md A.7, with part 0 rows 1 and 2.
#include "core/energy/mean_power.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files/file.h"
#include "recorders/recorder_table.h"
#include "test_util.h"

namespace aggregate_power {
namespace mean_power_test {

using Kind = Reading::Kind;
using Readings = std::vector<Reading>;

constexpr Window kWindow = {100, 110};

std::optional<MeanPower> mean_of(Readings readings, bool has_devices = true, bool sorted = false,
                                 Window window = kWindow) {
  if (sorted) {
    std::ranges::stable_sort(readings, {}, [](const Reading& r) { return rounded_ms(r.unix_s); });
  }
  MeanPowerGatherer gatherer(window, has_devices);
  gatherer.take(std::span(readings).first(readings.size() / 2));
  gatherer.average();
  gatherer.take(std::span(readings).subspan(readings.size() / 2));
  auto mean = gatherer.finish();
  EXPECT_FALSE(gatherer.is_out_of_order());
  return mean;
}

Reading of_device(double unix_s, std::uint32_t device, double watts) {
  return {unix_s, watts, device};
}
Reading of_nobody(double unix_s, double watts) { return {unix_s, watts, 0, Kind::no_device}; }

struct Case {
  const char* what;
  Readings readings;
  std::optional<double> avg_power_w;
  std::size_t gpus = 0;
};

TEST(MeanPower, IsTheMeanOfBuckets) {
  const Case cases[] = {
      {"nothing", {}, std::nullopt},
      {"one reading", {of_device(105, 0, 500)}, 500, 1},
      {"two GPUs in a tick", {of_device(105, 0, 500), of_device(105, 1, 300)}, 400, 2},
      {"ticks count alike, however many GPUs are in them",
       // (500 + 300) / 2 = 400 and 100: not (500 + 300 + 100) / 3.
       {of_device(105, 0, 500), of_device(105, 1, 300), of_device(106, 0, 100)},
       250,
       2},
      {"GPUs are counted over the whole window",
       {of_device(105, 0, 500), of_device(106, 1, 300), of_device(107, 2, 100)},
       300,
       3},
      {"both ends belong to the window",
       {of_device(99.999, 0, 9), of_device(100, 0, 500), of_device(110, 0, 300),
        of_device(110.001, 0, 9)},
       400,
       1},
      {"a bucket is one millisecond",
       // 105.0004 and 105.0003 round to 105.000; 105.0006 to 105.001: (500 + 300) / 2 and 100.
       {of_device(105.0003, 0, 500), of_device(105.0004, 1, 300), of_device(105.0006, 2, 100)},
       250,
       3},
      {"0 W is a reading", {of_device(105, 0, 500), of_device(106, 0, 0)}, 250, 1},
      {"what is none is none",
       {of_device(105, 0, 500),
        {106, -5, 0, Kind::negative_power},
        {107, 0, 0, Kind::no_power},
        {0, 0, 0, Kind::bad_timestamp}},
       500,
       1},
      {"only such",
       {{106, -5, 0, Kind::negative_power}, {107, 0, 0, Kind::no_power}},
       std::nullopt},
      // Part 0 row 1: one GPU at 500 W, read three times in a second, drew 500 W.
      {"readings of one GPU in a bucket are averaged",
       {of_device(105, 0, 490), of_device(105, 0, 500), of_device(105, 0, 510)},
       500,
       1},
      {"beside another GPU",
       {of_device(105, 0, 400), of_device(105, 1, 300), of_device(105, 0, 600)},
       400,
       2},
      // A.7: rows without an id add watts but no GPU.
      {"a row of nobody adds its watts",
       {of_device(105, 0, 500), of_nobody(105, 100), of_device(106, 0, 500)},
       550,
       1},
      {"two of nobody are not averaged",
       {of_device(105, 0, 500), of_nobody(105, 100), of_nobody(105, 100)},
       700,
       1},
      {"a tick of nobody alone is divided by one",
       {of_device(105, 0, 500), of_nobody(106, 100), of_nobody(106, 300)},
       450,
       1},
      {"nobody is named at all: rows are GPUs",
       {of_nobody(105, 100), of_nobody(105, 300), of_nobody(106, 500)},
       350,
       2},
      {"a name beyond the window is not seen",
       {of_device(90, 0, 1), of_nobody(105, 100), of_nobody(105, 300)},
       200,
       2},
  };
  for (const Case& c : cases) {
    for (const bool sorted : {false, true}) {
      const auto mean = mean_of(c.readings, true, sorted);
      ASSERT_EQ(mean.has_value(), c.avg_power_w.has_value()) << c.what;
      if (!mean) continue;
      EXPECT_DOUBLE_EQ(mean->avg_power_w, *c.avg_power_w) << c.what;
      EXPECT_EQ(mean->gpus, c.gpus) << c.what;
    }
  }
}

TEST(MeanPower, CountsRowsWithoutADeviceColumn) {
  // golden.md: 4 GPUs at 500 W, three ticks, no known device column: 4 GPUs, never 2000 W.
  Readings readings;
  for (const double t : {101, 105, 109}) {
    for (int i = 0; i < 4; ++i) readings.push_back(of_device(t, 0, 500));
  }
  const auto mean = mean_of(readings, false);
  ASSERT_TRUE(mean);
  EXPECT_EQ(mean->avg_power_w, 500);
  EXPECT_EQ(mean->gpus, 4u);
  // The largest tick counts: 2 rows, 3 rows, 1 row.
  const auto ragged =
      mean_of({of_device(101, 0, 100), of_device(101, 0, 300), of_device(102, 0, 200),
               of_device(102, 0, 300), of_device(102, 0, 400), of_device(103, 0, 500)},
              false);
  ASSERT_TRUE(ragged);
  EXPECT_DOUBLE_EQ(ragged->avg_power_w, (200.0 + 300 + 500) / 3);
  EXPECT_EQ(ragged->gpus, 3u);
}

// golden.md section 1, the bucket means.
TEST(MeanPower, AgreesWithTheGoldenB200Fragment) {
  const struct {
    Window window;
    double avg_power_w;
    std::uint64_t readings;
  } cases[] = {
      {{1788852019.279, 1788852021.279}, 353.532083, 24},
      {{1788852019.529, 1788852021.029}, 338.878750, 8},
  };
  for (const auto& c : cases) {
    Telemetry telemetry = open_telemetry(
        open_source(test::testdata("telemetry/nvidia-smi/inferencex-b200-fragment.csv")),
        {Zone::parse("UTC")});
    MeanPowerGatherer gatherer(c.window, true);
    std::uint64_t inside = 0;
    telemetry.read([&](std::span<const Reading> readings) {
      gatherer.take(readings);
      for (const Reading& reading : readings) {
        inside += reading.unix_s >= c.window.start_unix_s && reading.unix_s <= c.window.end_unix_s;
      }
    });
    EXPECT_EQ(inside, c.readings);
    const auto mean = gatherer.finish();
    ASSERT_TRUE(mean);
    EXPECT_NEAR(mean->avg_power_w, c.avg_power_w, 5e-7);
    EXPECT_EQ(mean->gpus, 8u);
  }
}

TEST(MeanPower, AgreesWithTheGoldenWholeRuns) {
  // 8 GPUs at 600 W through 60 s, 100 W before, 200 W behind, a sample on each edge.
  Readings readings;
  for (double t = 950; t <= 1070; ++t) {
    for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
      readings.push_back(of_device(t, gpu, t < 1000 ? 100 : t <= 1060 ? 600 : 200));
    }
  }
  const auto mean = mean_of(readings, true, false, {1000, 1060});
  EXPECT_EQ(mean->avg_power_w, 600);
  EXPECT_EQ(mean->gpus, 8u);
  // Samples at start + 1 and start + 2 only.
  readings.clear();
  for (const double t : {101, 102}) {
    for (std::uint32_t gpu = 0; gpu < 8; ++gpu) readings.push_back(of_device(t, gpu, 500));
  }
  EXPECT_EQ(mean_of(readings)->avg_power_w, 500);
}

TEST(MeanPower, IsExact) {
  // Buckets of 0.1, 0.2 and 0.3 W: a plain sum gives 0.20000000000000004.
  EXPECT_EQ(mean_of({of_device(101, 0, 0.1), of_device(102, 0, 0.2), of_device(103, 0, 0.3)})
                ->avg_power_w,
            0.2);
}

TEST(MeanPower, TakesRowsAMomentOutOfOrder) {
  // Within two seconds.
  const auto mean =
      mean_of({of_device(103, 0, 100), of_device(101.5, 1, 300), of_device(103, 1, 200),
               of_device(101.5, 0, 500), of_device(102, 0, 150)});
  // 101.5: 400; 102: 150; 103: 150.
  EXPECT_DOUBLE_EQ(mean->avg_power_w, 700.0 / 3);
}

TEST(MeanPower, SaysWhenRowsAreTooFarOutOfOrder) {
  MeanPowerGatherer gatherer(kWindow, true);
  Readings readings = {of_device(101, 0, 1), of_device(107, 0, 1), of_device(109, 0, 1),
                       of_device(101, 1, 1)};
  gatherer.take(std::span(readings).first(3));
  gatherer.average();
  gatherer.take(std::span(readings).subspan(3));
  gatherer.average();
  EXPECT_TRUE(gatherer.is_out_of_order());
  const auto mean = mean_of(readings, true, true);
  EXPECT_EQ(mean->avg_power_w, 1);
  EXPECT_EQ(mean->gpus, 2u);
}

// Contract.md A.7 with part 0 row 1, without any hurry.
struct Plain {
  double avg_power_w;
  std::size_t gpus;
};

std::optional<Plain> mean_plainly(const Readings& readings, bool has_devices, Window window) {
  struct Bucket {
    std::vector<std::pair<std::optional<std::uint32_t>, std::vector<double>>> shares;
    std::size_t rows = 0;
    double row_watts = 0;
  };
  std::map<double, Bucket> buckets;
  std::set<std::uint32_t> seen;
  for (const Reading& reading : readings) {
    if (reading.unix_s < window.start_unix_s || reading.unix_s > window.end_unix_s) continue;
    char text[64];
    std::snprintf(text, sizeof text, "%.3f", reading.unix_s);
    Bucket& bucket = buckets[std::strtod(text, nullptr)];
    ++bucket.rows;
    bucket.row_watts += reading.watts;
    if (!has_devices || reading.kind == Kind::no_device) {
      bucket.shares.push_back({std::nullopt, {reading.watts}});
      continue;
    }
    seen.insert(reading.device);
    const auto same = std::ranges::find_if(
        bucket.shares, [&](const auto& share) { return share.first == reading.device; });
    if (same == bucket.shares.end()) {
      bucket.shares.push_back({reading.device, {reading.watts}});
    } else {
      same->second.push_back(reading.watts);
    }
  }
  if (buckets.empty()) return std::nullopt;
  double sum = 0;  // watts are multiples of 1/4: nothing is rounded but in divisions
  std::size_t most_rows = 0;
  for (const auto& [stamp, bucket] : buckets) {
    most_rows = std::max(most_rows, bucket.rows);
    double watts = 0;
    std::size_t devices = 0;
    for (const auto& [device, values] : bucket.shares) {
      double share = 0;
      for (const double value : values) share += value;
      watts += share / static_cast<double>(values.size());
      devices += device ? 1 : 0;
    }
    sum += seen.empty() ? bucket.row_watts / static_cast<double>(bucket.rows)
                        : watts / static_cast<double>(std::max<std::size_t>(devices, 1));
  }
  return Plain{sum / static_cast<double>(buckets.size()), seen.empty() ? most_rows : seen.size()};
}

TEST(MeanPower, AgreesWithTheContractOnGeneratedTraces) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  for (int round = 0; round < test::rounds(5000); ++round) {
    Readings readings;
    const std::size_t gpus = 1 + dice.below(8);
    const bool has_devices = !dice.one_in(4);
    const bool names_are_missing = dice.one_in(4);
    double t = 95;
    while (t < 115) {
      for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
        if (dice.one_in(20)) continue;
        Reading reading = of_device(t + 0.0001 * static_cast<double>(dice.below(20)), gpu,
                                    0.25 * static_cast<double>(dice.below(4000)));
        if (names_are_missing && dice.one_in(3)) reading.kind = Kind::no_device;
        readings.push_back(reading);
        if (dice.one_in(10)) readings.push_back(reading);
      }
      t += dice.one_in(3) ? 0.001 : 3 * dice.fraction();
    }
    const auto plain = mean_plainly(readings, has_devices, kWindow);
    for (const bool sorted : {false, true}) {
      const auto mean = mean_of(readings, has_devices, sorted);
      ASSERT_EQ(mean.has_value(), plain.has_value()) << "TEST_SEED=" << seed << ", round " << round;
      if (!mean) continue;
      ASSERT_NEAR(mean->avg_power_w, plain->avg_power_w, 1e-9)
          << "TEST_SEED=" << seed << ", round " << round << ", devices " << has_devices;
      ASSERT_EQ(mean->gpus, plain->gpus) << "TEST_SEED=" << seed << ", round " << round;
    }
  }
}

TEST(MeanPower, NoticesStampsThatGoBack) {
  const auto is_out_of_order = [](double later_s) {
    MeanPowerGatherer gatherer({0, 1e6}, true);
    gatherer.take(Readings{of_device(290, 0, 5), of_device(300, 0, 5)});
    gatherer.average();
    gatherer.take(Readings{of_device(300 + later_s, 1, 7)});
    gatherer.average();
    gatherer.finish();
    return gatherer.is_out_of_order();
  };
  EXPECT_TRUE(is_out_of_order(-10));
  EXPECT_FALSE(is_out_of_order(-1.5)) << "devices may be two seconds apart";
}

// Taken in parts of the time, one after the other, rows in any order have the same mean.
TEST(MeanPower, OfPartsIsThatOfTheWhole) {
  Readings readings;
  for (int i = 0; i < 100; ++i) readings.push_back(of_device(100 + i * 0.1, i % 3, 100 + i));
  const auto mean = mean_of(readings);
  std::ranges::reverse(readings);
  MeanPowerGatherer gatherer(kWindow, true);
  for (const Window part : {Window{0, 103}, Window{std::nextafter(103.0, 200.0), 200}}) {
    gatherer.begin(part);
    gatherer.take(readings);
    gatherer.average();
  }
  const auto again = gatherer.finish();
  ASSERT_TRUE(mean && again && !gatherer.is_out_of_order());
  EXPECT_EQ(again->avg_power_w, mean->avg_power_w);
  EXPECT_EQ(again->first_unix_s, mean->first_unix_s);
  EXPECT_EQ(again->last_unix_s, mean->last_unix_s);
}

TEST(MeanPower, TakesManyDevicesThatRepeat) {
  Readings readings;
  for (int twice = 0; twice < 2; ++twice) {
    for (std::uint32_t gpu = 0; gpu < 100000; ++gpu)
      readings.push_back(of_device(105, gpu, 5 + twice));
  }
  const auto mean = mean_of(readings);
  ASSERT_TRUE(mean);
  EXPECT_EQ(mean->avg_power_w, 5.5);
  EXPECT_EQ(mean->gpus, 100000u);
}

// int(round(x, 3) * 1000) of Python, in decimals.
TEST(RoundedMs, RoundsTheExactValueWithTiesToEven) {
  const struct {
    double unix_s;
    std::int64_t ms;
  } cases[] = {
      {1700000000.0625, 1700000000062},  // a tie
      {1700000000.1875, 1700000000188},  // a tie
      {1700000000.0, 1700000000000},
      {1700000000.0005, 1700000000000},  // as a double just below
      {1700000000.0015, 1700000000001},
      {1700000000.4995, 1700000000500},
      {1700000000.9995, 1700000001000},
      {1700000000.9996, 1700000001000},
      {0.0, 0},
      {0.0005, 1},
      {0.0015, 2},
      {0.0025, 3},
      {-0.0005, -1},
      {-0.0015, -2},
      {-1.5, -1500},
      {-1700000000.0625, -1700000000062},
      {1786553852.3125, 1786553852312},
      {1786553852.4375, 1786553852438},
      {999.9995, 1000000},
      {1000000000000.0, 1000000000000000},
      {12345678901.0625, 12345678901062},
      {0.5, 500},
      {0.00025, 0},
      {0.00075, 1},
  };
  for (const auto& c : cases) EXPECT_EQ(rounded_ms(c.unix_s), c.ms) << c.unix_s;
}

TEST(RoundedMs, AgreesWithTheCLibrary) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  for (int round = 0; round < 100000; ++round) {
    // Multiples of 1/16384 s: every so often a tie.
    const double unix_s = static_cast<double>(dice.below(4000000000)) +
                          static_cast<double>(dice.below(16384)) / 16384 -
                          (dice.one_in(4) ? 2e9 : 0);
    char text[64];
    std::snprintf(text, sizeof text, "%.3f", unix_s);
    std::string digits = text;
    digits.erase(digits.find('.'), 1);
    ASSERT_EQ(rounded_ms(unix_s), std::strtoll(digits.c_str(), nullptr, 10))
        << text << " TEST_SEED=" << seed;
  }
}

TEST(MeanPower, KnowsTheMeanOfEachDevice) {
  // Of device 1 two readings share a bucket, and one comes late; rows outside the window and of
  // nobody are not its.
  MeanPowerGatherer gatherer({0, 10}, true);
  gatherer.take(std::vector<Reading>{{1, 10, 0},
                                     {1, 100, 1},
                                     {1, 200, 1},
                                     {2, 20, 0},
                                     {1, 600, 1},
                                     {11, 9000, 1},
                                     {3, 7000, 0, Reading::Kind::no_device}});
  EXPECT_EQ(gatherer.devices(), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(gatherer.mean_w(0), 15);
  EXPECT_EQ(gatherer.mean_w(1), 300);
}

}  // namespace mean_power_test
}  // namespace aggregate_power
