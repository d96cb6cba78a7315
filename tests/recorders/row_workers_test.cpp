// Rows read by several workers against rows read by one.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files/file.h"
#include "core/telemetry/csv_telemetry.h"
#include "recorders/breaking_source.h"
#include "test_util.h"

namespace aggregate_power {
namespace row_workers_test {

using Kind = Reading::Kind;

// All that can be known of a file.
struct Found {
  std::vector<std::array<double, 4 + kGpuQuantities>> readings;
  std::vector<std::string> devices;
  std::vector<std::pair<std::string_view, std::uint64_t>> skipped;
  std::uint64_t rows = 0;
  std::uint64_t stamps = 0;
  std::uint64_t naive_stamps = 0;
  std::uint64_t dropped_nuls = 0;
  std::string first_bad_stamp;
  std::string counter;
  std::string fault;

  bool operator==(const Found&) const = default;
};

// Without what is meaningless in it.
std::array<double, 4 + kGpuQuantities> numbers_of(const Reading& reading, const GpuState* state) {
  std::array<double, 4 + kGpuQuantities> numbers = {static_cast<double>(reading.kind)};
  if (reading.kind == Kind::bad_timestamp) return numbers;
  numbers[1] = reading.unix_s;
  numbers[2] = reading.kind == Kind::no_power ? 0 : reading.watts;
  numbers[3] = reading.device;
  for (std::size_t i = 0; i < kGpuQuantities; ++i) {
    const double value = state != nullptr ? state->values[i] : 0;
    numbers[4 + i] = std::isnan(value) ? -1 : value;
  }
  return numbers;
}

struct Options {
  Workers workers = {};
  bool states = false;
  std::size_t good_bytes = std::string::npos;
};

Found read(const std::string& text, const Options& options) {
  CsvTelemetry telemetry(std::make_unique<test::BreakingSource>(text, options.good_bytes, "a.csv"),
                         Zone::fixed(0));
  telemetry.use_workers(options.workers);
  Found found;
  try {
    const auto take = [&](std::span<const Reading> readings, const RowStates& states) {
      for (std::size_t i = 0; i < readings.size(); ++i) {
        found.readings.push_back(numbers_of(readings[i], options.states ? &states[i] : nullptr));
      }
    };
    if (options.states) {
      telemetry.read_with_states(take);
    } else {
      telemetry.read([&](std::span<const Reading> readings) { take(readings, {}); });
    }
  } catch (const CsvError& error) {
    found.fault = error.what();
  } catch (const FileError& error) {
    found.fault = error.what();
  } catch (const TelemetryError& error) {
    found.fault = error.what();
  }
  found.devices = telemetry.devices();
  found.skipped = by_cause(telemetry.skipped());
  found.rows = telemetry.rows();
  found.stamps = telemetry.stamps();
  found.naive_stamps = telemetry.naive_stamps();
  found.dropped_nuls = telemetry.dropped_nuls();
  found.first_bad_stamp = telemetry.first_bad_stamp();
  if (telemetry.counter()) found.counter = telemetry.counter()->name;
  return found;
}

void expect_same(const std::string& text, const std::string& what, Options options = {}) {
  const Found one = read(text, options);
  for (const Workers workers : {Workers{2}, Workers{3, 5000}, Workers{8, 1 << 16}}) {
    options.workers = workers;
    const Found several = read(text, options);
    EXPECT_EQ(one.readings.size(), several.readings.size()) << what;
    EXPECT_EQ(one.devices, several.devices) << what;
    EXPECT_EQ(one.rows, several.rows) << what;
    EXPECT_EQ(one.fault, several.fault) << what;
    EXPECT_EQ(one.first_bad_stamp, several.first_bad_stamp) << what;
    EXPECT_TRUE(one == several) << what;
  }
}

// Blocks are 256 KiB: all files here have several.
constexpr std::size_t kBytes = 900'000;
const std::string kHeader = "timestamp, index, power.draw [W], utilization.gpu [%]\n";

std::string row(std::size_t i, const std::string& device, const std::string& end = "\n") {
  return fmt::format("2026/04/25 {:02}:{:02}:{:02}.{:03}, {}, {}.25 W, {} %{}", i / 3600 % 24,
                     i / 60 % 60, i % 60, i % 1000, device, i % 700, i % 100, end);
}

std::string plain_rows(std::size_t bytes = kBytes) {
  std::string text;
  for (std::size_t i = 0; text.size() < bytes; ++i) text += row(i, std::to_string(i % 8));
  return text;
}

TEST(RowWorkers, ReadWhatOneReads) {
  expect_same(kHeader + plain_rows(), "plain");
  expect_same(kHeader + plain_rows(), "with states", {.states = true});
  expect_same(kHeader + plain_rows(1000), "less than a block");
  expect_same(kHeader, "no rows");
  expect_same("time,power_w\n" + std::string("1777118400,5\n1777118401,6\n"), "no devices");
}

TEST(RowWorkers, ReadTheMetricThatIsPowerInTheBeginning) {
  std::string text = "\"Time\",\"__name__\",\"UUID\",\"Value\"\n";
  for (std::size_t i = 0; text.size() < kBytes; ++i) {
    text += fmt::format("{},DCGM_FI_DEV_POWER_USAGE,GPU-{},{}.25\n", 1777118400000 + 1000 * i,
                        i % 8, i % 700);
    text += fmt::format("{},DCGM_FI_DEV_GPU_TEMP,GPU-{},52\n", 1777118400000 + 1000 * i, i % 8);
  }
  const std::string counted =
      text + "1787118400000,DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION,GPU-0,123456\n";
  expect_same(text, "a long table");
  expect_same(counted, "a long table with a counter at its end");
  const Found found = read(counted, {.workers = {3}});
  EXPECT_EQ(found.counter, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION");
  EXPECT_EQ(found.readings.size(),
            static_cast<std::size_t>((std::ranges::count(text, '\n') - 1) / 2));
}

TEST(RowWorkers, NumberDevicesInTheFilesOrder) {
  std::string text = kHeader;
  for (std::size_t i = 0; text.size() < kBytes; ++i) {
    text += row(i, fmt::format("gpu{}", (i / 2000 * 7 + i % (1 + i / 3000)) % 40));
  }
  expect_same(text, "new devices all along");
}

TEST(RowWorkers, EndWhereTheFileEnds) {
  const std::string text = kHeader + plain_rows();
  // Around the ends of blocks, and of the file.
  for (const std::size_t size : {text.size() - 1, text.size() - 30, std::size_t{1} << 18,
                                 (std::size_t{1} << 18) + kHeader.size(), std::size_t{3} << 18}) {
    for (const std::size_t more : {0, 1, 2}) {
      expect_same(text.substr(0, size + more), fmt::format("{} bytes", size + more));
    }
  }
  expect_same(text + std::string(10, '\0'), "NULs behind the last row");
}

TEST(RowWorkers, GiveOneTheRestAfterAQuote) {
  const std::string quoted = "2026/04/25 12:00:00,\"3\",\"5\n6 W\",1\n";
  for (const std::size_t before : {1000, 400'000}) {
    expect_same(kHeader + plain_rows(before) + quoted + plain_rows(), "a quoted line break");
    expect_same(kHeader + plain_rows(before) + "2026/04/25 12:00:00,\"3," + plain_rows(100'000),
                "an open quote");
    expect_same(kHeader + plain_rows(before) + "\"" + plain_rows(), "too long a cell");
  }
}

TEST(RowWorkers, TakeRowsOfAnyKind) {
  const std::string long_row(600'000, 'x');
  expect_same(kHeader + plain_rows() + long_row + "\n" + plain_rows(), "a row of several blocks");
  const std::uint64_t seed = test::fresh_seed();
  for (int round = 0; round < 6; ++round) {
    test::Dice dice(seed + static_cast<std::uint64_t>(round));
    std::string text = kHeader;
    for (std::size_t i = 0; text.size() < kBytes; ++i) {
      switch (dice.below(400)) {
        case 0:
          text += "\n";
          break;
        case 1:
          text += kHeader;
          break;
        case 2:
          text += "yesterday, 1, 5 W, 3 %\n";
          break;
        case 3:
          text += row(i, " ");
          break;
        case 4:
          text += row(i, "2", "\r");
          break;
        case 5:
          text += row(i, "2", ", more, cells\n");
          break;
        case 6:
          text += "2026/04/25 12:00:00, 1, [N/A], [N/A]\n";
          break;
        case 7:
          text += "2026/04/25 12:00:00, 1, -5 W, 2 %\n";
          break;
        case 8:
          text += row(i, std::string("3\0", 2));
          break;
        case 9:
          text += "2026-04-25T12:00:00+02:00,\t1, 5 W\n";
          break;
        default:
          text += row(i, std::to_string(dice.below(8)), dice.one_in(2) ? "\n" : "\r\n");
      }
    }
    expect_same(text, fmt::format("TEST_SEED={}, round {}", seed, round),
                {.states = round % 2 == 1});
  }
}

TEST(RowWorkers, GiveTheRowsBeforeAFault) {
  const std::string text = kHeader + plain_rows();
  for (const std::size_t good : {70'000, 262'144, 500'000, 800'000}) {
    expect_same(text, fmt::format("{} good bytes", good), {.good_bytes = good});
  }
  EXPECT_EQ(read(text, {.workers = {3}, .good_bytes = 500'000}).fault,
            FileError("a.csv", "read", EIO).what());
}

TEST(RowWorkers, EndAtAHeaderWithOtherColumns) {
  for (const std::size_t before : {1000, 262'100, 262'144, 500'000}) {
    const std::string rows = plain_rows(before);
    const std::string text = kHeader + rows +
                             "timestamp, index, power.draw [W], utilization.memory [%]\n" +
                             plain_rows();
    expect_same(text, fmt::format("after {} bytes", before), {.states = true});
    // Row by row: the rows before it, and itself.
    EXPECT_EQ(read(text, {.workers = {3}, .states = true}).fault,
              fmt::format("row {} after the header is a header with other columns: split the "
                          "recording before it",
                          std::ranges::count(rows, '\n') + 1));
    // Without the states nothing is read of that column.
    expect_same(text, fmt::format("after {} bytes, power alone", before));
    EXPECT_EQ(read(text, {.workers = {3}}).fault, "");
  }
}

TEST(RowWorkers, EndWhenTakingThrows) {
  for (const std::size_t taken : {1, 3}) {
    CsvTelemetry telemetry(
        std::make_unique<test::BreakingSource>(kHeader + plain_rows(), kBytes, "a.csv"),
        Zone::fixed(0));
    telemetry.use_workers({3});
    std::size_t batches = 0;
    EXPECT_THROW(telemetry.read([&](std::span<const Reading>) {
      if (++batches == taken) throw std::runtime_error("of who takes");
    }),
                 std::runtime_error);
    EXPECT_EQ(batches, taken);
  }
}

}  // namespace row_workers_test
}  // namespace aggregate_power
