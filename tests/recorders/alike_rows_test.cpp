// Rows that are read at once, because they are laid out like the one before, against the same rows
// written so that each is split by itself.
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "recorders/breaking_source.h"
#include "recorders/recorder.h"
#include "test_util.h"

namespace aggregate_power {
namespace alike_rows_test {

using Rows = std::vector<std::string>;  // without their line breaks

struct RowsRead {
  std::vector<std::array<double, 4>> readings;
  std::vector<std::array<double, 3>> counters;
  std::vector<std::string> devices;
  std::uint64_t rows = 0;
  std::string fault;
  bool operator==(const RowsRead&) const = default;
};

RowsRead read_rows(const Rows& rows, const std::string& gpus = {}) {
  std::string text;
  for (const std::string& row : rows) text += row + '\n';
  RowsRead found;
  TelemetryOptions options = {.zone = Zone::fixed(0), .path = "a.txt"};
  if (!gpus.empty()) options.gpus = parse_gpus(gpus);
  Telemetry telemetry = open_telemetry(
      std::make_unique<test::BreakingSource>(text, std::string::npos, "a.txt"), options);
  CounterStream counters{[&](std::span<const Reading> readings) {
    for (const Reading& reading : readings) {
      if (reading.kind != Reading::Kind::power) continue;
      found.counters.push_back(
          {reading.unix_s, reading.watts, static_cast<double>(reading.device)});
    }
  }};
  telemetry.read_counters_too(counters);
  try {
    telemetry.read([&](std::span<const Reading> readings) {
      for (const Reading& reading : readings) {
        const bool is_bad = reading.kind == Reading::Kind::bad_timestamp;
        found.readings.push_back({static_cast<double>(reading.kind), is_bad ? 0 : reading.unix_s,
                                  reading.kind == Reading::Kind::power ? reading.watts : 0,
                                  is_bad ? 0. : static_cast<double>(reading.device)});
      }
    });
  } catch (const std::exception& error) {
    found.fault = error.what();
  }
  found.devices = telemetry.devices();
  found.rows = telemetry.rows();
  return found;
}

// ---- dmon: a blank at the end of every other line is another layout

Rows dcgmi_rows(int samples, int gpus, std::uint64_t first_mj) {
  Rows rows = {"1777118400 #Entity   POWER     TOTEC", "1777118400 ID        W         mJ"};
  for (int i = 0; i < samples; ++i) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      rows.push_back(fmt::format("{}.50 GPU {:<2}    {}.250   {:>12}", 1777118400 + i, gpu,
                                 300 + (7 * i + 13 * gpu) % 97,
                                 first_mj + static_cast<std::uint64_t>(400'000 * i)));
    }
  }
  return rows;
}

Rows nvidia_rows(int samples, int gpus) {
  Rows rows = {"#Date       Time        gpu    pwr", "#YYYYMMDD   HH:MM:SS    Idx      W"};
  for (int i = 0; i < samples; ++i) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      rows.push_back(fmt::format(" 20260425   12:{:02}:{:02}  {:>5}  {:>5}", i / 60, i % 60, gpu,
                                 300 + (7 * i + 13 * gpu) % 97));
    }
  }
  return rows;
}

Rows one_by_one(Rows rows) {
  for (std::size_t i = 0; i < rows.size(); i += 2) rows[i] += "  ";
  return rows;
}

void expect_the_same(const Rows& rows, const std::string& what) {
  for (const std::string gpus : {"", "0"}) {
    EXPECT_EQ(read_rows(rows, gpus), read_rows(one_by_one(rows), gpus)) << what;
  }
}

TEST(AlikeRows, OfDmonAreReadAsOneByOne) {
  const RowsRead found = read_rows(dcgmi_rows(40, 4, 5));
  ASSERT_EQ(found.readings.size(), 160U);
  EXPECT_EQ(found.readings[5], (std::array{0., 1777118401.5, 320.25, 1.}));
  ASSERT_EQ(found.counters.size(), 160U);
  EXPECT_EQ(found.counters[5], (std::array{1777118401.5, 400.005, 1.}));
  for (const int gpus : {1, 4, 12}) {
    expect_the_same(dcgmi_rows(40, gpus, 5), "few mJ");
    expect_the_same(dcgmi_rows(40, gpus, 123'456'789'012), "many mJ");
    expect_the_same(nvidia_rows(40, gpus), "nvidia-smi");
  }
}

// Counts by which DCGM means "none" are none, and their neighbours are counts.
TEST(AlikeRows, OfDmonHaveNoBlanksOfCounters) {
  for (const std::uint64_t first : {65'535U, 2'147'483'632U, 4'294'967'295U}) {
    expect_the_same(dcgmi_rows(3, 4, first), "at a blank");
    const RowsRead found = read_rows(dcgmi_rows(3, 4, first));
    EXPECT_EQ(found.counters.size(), first == 65'535U ? 12U : 8U);
  }
}

TEST(AlikeRows, OfDmonMayEndWithAnyWhiteSpace) {
  // A no-break space is white space of two bytes, in which place others have digits.
  Rows rows = dcgmi_rows(40, 4, 5);
  rows[0] = "1777118400 #Entity   TOTEC     POWER";
  for (std::size_t i = 2; i < rows.size(); ++i) {
    const std::string power = i < 6 ? "40\u00A0\u00A0" : "400.25";
    rows[i] = fmt::format("{}.50 GPU {}    1234   {}", 1777118400 + i / 4, (i - 2) % 4, power);
  }
  expect_the_same(rows, "behind a number");
  EXPECT_EQ(read_rows(rows).readings.back()[2], 400.25);
  rows = nvidia_rows(40, 4);
  for (std::size_t i = 2; i < rows.size(); ++i) {
    rows[i].replace(0, 1, i < 6 ? "\u00A0" : "17");
  }
  expect_the_same(rows, "before a date");
  EXPECT_EQ(read_rows(rows).readings.size(), 4U);
}

TEST(AlikeRows, OfDmonAreReadAsOneByOneWhateverIsAmongThem) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  const std::vector<std::string> words = {
      "N/A", "GPU-I",  "CPU", "gpu", "GPX",   "65535", "2147483632", "40..",      "-5",
      "1e3", "\u00A0", "4\v", "4W",  "0",     "99999", "12345678",   "999999999", "12.5",
      "-",   "?",      ".5",  "5.",  "1\x1c", "#1",    "\"3\"",      "1,2",       ""};
  for (int i = 0; i < test::rounds(400); ++i) {
    const int gpus = 1 + static_cast<int>(dice.below(4));
    Rows rows = dice.one_in(3) ? nvidia_rows(30, gpus) : dcgmi_rows(30, gpus, dice.below(1 << 30));
    for (std::size_t k = dice.below(6); k > 0; --k) {
      const std::size_t at = 2 + dice.below(rows.size() - 2);
      std::string& row = rows[at];
      const std::size_t begin = row.find_first_not_of(' ', row.find(' ', dice.below(row.size())));
      if (dice.one_in(5)) {
        rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(at), rows[dice.below(2)]);
      } else if (dice.one_in(4)) {
        row[dice.below(row.size())] =
            "\t ,\"'#\v\xA0"
            "9.-GPX"[dice.below(14)];
      } else if (begin != row.npos) {
        const std::size_t end = std::min(row.find(' ', begin), row.size());
        row.replace(begin, end - begin, words[dice.below(words.size())]);
      }
    }
    std::string what = fmt::format("TEST_SEED={}\n", seed);
    for (const std::string& row : rows) what += row + '\n';
    expect_the_same(rows, what);
    if (HasFailure()) return;
  }
}

// ---- Wide tables: a quoted cell in every other row has it split by itself

Rows wide_rows(int samples, int gpus) {
  std::string header = "Time";
  for (int gpu = 0; gpu < gpus; ++gpu) {
    header += fmt::format(R"(,"DCGM_FI_DEV_POWER_USAGE{{Hostname=""a"", gpu=""{}""}}")", gpu);
  }
  Rows rows = {header};
  for (int i = 0; i < samples; ++i) {
    std::string row = fmt::format("2026-04-25 12:{:02}:{:02}.5", i / 60, i % 60);
    for (int gpu = 0; gpu < gpus; ++gpu) row += fmt::format(",{}.25", 300 + (7 * i + gpu) % 97);
    rows.push_back(row);
  }
  return rows;
}

TEST(AlikeRows, OfWideTablesAreReadAsOneByOne) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  const std::vector<std::string> cells = {"", "N/A", "400.5", "-5", "65535", "4e2", "12345678901"};
  for (int i = 0; i < 200; ++i) {
    Rows rows = wide_rows(60, 1 + static_cast<int>(dice.below(9)));
    if (i == 0) {
      EXPECT_EQ(read_rows(rows).readings.size(), 60 * read_rows(rows).devices.size());
    }
    for (std::size_t k = dice.below(6); k > 0; --k) {
      std::string& row = rows[1 + dice.below(rows.size() - 1)];
      const std::size_t begin = row.find(',', dice.below(row.size()));
      if (begin == row.npos) continue;
      const std::size_t end = std::min(row.find(',', begin + 1), row.size());
      row.replace(begin + 1, end - begin - 1, cells[dice.below(cells.size())]);
    }
    Rows split = rows;
    for (std::size_t k = 1; k < rows.size(); k += 2) {
      split[k] = '"' + split[k].insert(split[k].find(','), "\"");
    }
    EXPECT_EQ(read_rows(rows), read_rows(split)) << "TEST_SEED=" << seed;
  }
}

}  // namespace alike_rows_test
}  // namespace aggregate_power
