// Synthetic telemetry: what is written is what was asked for, and is read back to the last digit.
#include "recorders/synthetic.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text/csv.h"
#include "core/energy/integrate.h"
#include "recorders/recorder_table.h"
#include "test_util.h"

namespace aggregate_power {
namespace synthetic_test {

using Counts = std::map<std::string, std::uint64_t>;

constexpr double kNewYear = 1767225600;  // 2026-01-01T00:00:00Z

constexpr SyntheticSchema kSchemas[] = {SyntheticSchema::nvidia_smi, SyntheticSchema::amd_smi,
                                        SyntheticSchema::generic};

// 10 s at 100 W, 20 s at 600 W (the benchmark), 10 s at 200 W, of three GPUs, once a second.
SyntheticOptions usual(SyntheticSchema schema) {
  SyntheticOptions options;
  options.schema = schema;
  options.gpus = 3;
  options.phases = {{10, 100}, {20, 600}, {10, 200}};
  options.benchmark_phase = 1;
  options.start_unix_s = kNewYear;
  return options;
}
constexpr std::size_t kTicks = 41;

SyntheticOptions with_fault(SyntheticSchema schema, FaultKind kind,
                            std::optional<double> at_s = std::nullopt) {
  SyntheticOptions options = usual(schema);
  options.faults = {{kind, at_s}};
  return options;
}

std::string written(const SyntheticOptions& options) {
  std::string text;
  write_synthetic(options, [&](std::string_view piece) { text += piece; });
  return text;
}

struct ReadBack {
  std::vector<Reading> readings;
  std::vector<std::string> devices;
  Counts skipped;
  std::string schema;

  // Readings of power, by device.
  std::map<std::string, std::vector<Sample>> series() const {
    std::map<std::string, std::vector<Sample>> all;
    for (const Reading& reading : readings) {
      if (reading.kind == Reading::Kind::power) {
        all[devices[reading.device]].push_back({reading.unix_s, reading.watts});
      }
    }
    return all;
  }
  std::size_t count(Reading::Kind kind) const {
    return static_cast<std::size_t>(std::ranges::count(readings, kind, &Reading::kind));
  }
};

ReadBack read_back(const std::string& text, const Zone& zone = Zone::fixed(0)) {
  Telemetry telemetry =
      open_telemetry(std::make_unique<test::StutterSource>(text, test::kWhole), {zone});
  ReadBack result;
  EXPECT_TRUE(telemetry.facts().reasons.empty()) << telemetry.facts().reasons.text();
  telemetry.read([&](std::span<const Reading> some) {
    result.readings.insert(result.readings.end(), some.begin(), some.end());
  });
  result.devices = telemetry.devices();
  result.schema = telemetry.facts().schema;
  for (const auto& [cause, count] : by_cause(telemetry.skipped())) {
    if (count > 0) result.skipped[std::string(cause)] = count;
  }
  return result;
}

ReadBack read_back(const SyntheticOptions& options) {
  return read_back(written(options), options.zone);
}

// amd-smi puts a bare LF between ticks.
Counts blanks(SyntheticSchema schema, std::uint64_t ticks = kTicks) {
  return schema == SyntheticSchema::amd_smi ? Counts{{"blank", ticks - 1}} : Counts{};
}

Counts with(Counts counts, const std::string& cause, std::uint64_t count) {
  counts[cause] = count;
  return counts;
}

TEST(Synthetic, LooksLikeTheRecorder) {
  SyntheticOptions options;
  options.gpus = 2;
  options.phases = {{1, 120.5}};
  options.gpu_offset_w = 10.25;
  options.start_unix_s = kNewYear + 0.125;
  EXPECT_EQ(written(options),
            "timestamp, index, power.draw [W], temperature.gpu, clocks.current.sm [MHz], "
            "clocks.current.memory [MHz], utilization.gpu [%], utilization.memory [%]\n"
            "2026/01/01 00:00:00.125, 0, 120.50 W, 60, 1980 MHz, 2619 MHz, 97 %, 40 %\n"
            "2026/01/01 00:00:00.125, 1, 130.75 W, 60, 1980 MHz, 2619 MHz, 97 %, 40 %\n"
            "2026/01/01 00:00:01.125, 0, 120.50 W, 60, 1980 MHz, 2619 MHz, 97 %, 40 %\n"
            "2026/01/01 00:00:01.125, 1, 130.75 W, 60, 1980 MHz, 2619 MHz, 97 %, 40 %\n");
  options.schema = SyntheticSchema::generic;
  EXPECT_EQ(written(options),
            "timestamp,gpu,power_w\n1767225600.125,0,120.500\n1767225600.125,1,130.750\n"
            "1767225601.125,0,120.500\n1767225601.125,1,130.750\n");
}

// The header and a row of AMDSMI 26, cell by cell, but for the watts and the values around them.
TEST(Synthetic, HasTheColumnsOfARealAmdSmi) {
  const std::string real =
      test::bytes_of(test::testdata("telemetry/amd-smi/mi355x-metric-watch-crlf-blank-lf.csv"));
  const auto expected = split_csv(real, 2, true);
  const std::string text = written(usual(SyntheticSchema::amd_smi));
  const auto rows = split_csv(text, 5, true);
  EXPECT_EQ(rows[0].cells, expected[0].cells);
  EXPECT_EQ(rows[1].cells.size(), expected[1].cells.size());
  // CRLF behind a row, a bare LF between ticks.
  EXPECT_TRUE(text.substr(0, rows[0].end).ends_with("\r\n"));
  EXPECT_EQ(text.substr(rows[4].begin, rows[4].end - rows[4].begin), "\n");
}

TEST(Synthetic, HoldsWhatWasAskedFor) {
  for (const SyntheticSchema schema : kSchemas) {
    SyntheticOptions options = usual(schema);
    options.gpu_offset_w = 7;
    const ReadBack result = read_back(options);
    EXPECT_EQ(result.devices, (std::vector<std::string>{"0", "1", "2"}));
    EXPECT_EQ(result.skipped, blanks(schema));
    ASSERT_EQ(result.readings.size(), 3 * kTicks);
    for (std::size_t i = 0; i < result.readings.size(); ++i) {
      const std::size_t tick = i / 3;
      const std::size_t gpu = i % 3;
      // Both edges of the benchmark have its watts.
      const double watts = tick < 10 ? 100 : tick <= 30 ? 600 : 200;
      EXPECT_EQ(result.readings[i].unix_s, kNewYear + static_cast<double>(tick));
      EXPECT_EQ(result.readings[i].watts, watts + 7 * static_cast<double>(gpu)) << tick;
      EXPECT_EQ(result.readings[i].device, gpu);
    }
  }
  EXPECT_EQ(read_back(usual(SyntheticSchema::nvidia_smi)).schema, "nvidia-smi");
  EXPECT_EQ(read_back(usual(SyntheticSchema::amd_smi)).schema, "amd-smi");
  EXPECT_EQ(read_back(usual(SyntheticSchema::generic)).schema, "generic");
}

TEST(Synthetic, HasTheEnergyOfItsBenchmarkPhase) {
  for (const SyntheticSchema schema : kSchemas) {
    for (const double interval_s : {0.1, 0.25, 0.5, 1.0, 2.0}) {
      if (schema == SyntheticSchema::amd_smi && interval_s < 1) continue;  // whole seconds
      SyntheticOptions options = usual(schema);
      options.interval_s = interval_s;
      const Window window = benchmark_window(options);
      EXPECT_EQ(window.start_unix_s, kNewYear + 10);
      EXPECT_EQ(window.end_unix_s, kNewYear + 30);
      const ReadBack result = read_back(options);
      const IntegrationOptions wanted{window, 3, 3.0};
      WindowRows rows(wanted);
      rows.take(result.readings);
      Samples samples(kAlways);
      samples.take(result.readings);
      samples.sort();
      PowerIntegrator integrator(wanted);
      integrator.take(samples);
      const Integration integration = integrator.finish(rows, result.devices);
      EXPECT_TRUE(integration.reasons.empty()) << integration.reasons.text();
      ASSERT_TRUE(integration.total_gpu_energy_j);
      EXPECT_NEAR(*integration.total_gpu_energy_j, 3 * 600.0 * 20, 1e-6) << interval_s;
    }
  }
}

TEST(Synthetic, KnowsWhichPhaseIsTheBenchmark) {
  SyntheticOptions options = usual(SyntheticSchema::generic);
  const double starts[] = {0, 10, 30};
  const double ends[] = {10, 30, 40};
  for (std::size_t i = 0; i < 3; ++i) {
    options.benchmark_phase = i;
    EXPECT_EQ(benchmark_window(options).start_unix_s, kNewYear + starts[i]);
    EXPECT_EQ(benchmark_window(options).end_unix_s, kNewYear + ends[i]);
  }
}

// The cells themselves, read by the C library.
TEST(Synthetic, IsReadBackToTheLastDigit) {
  const std::uint64_t seed = test::fresh_seed();
  for (const SyntheticSchema schema : kSchemas) {
    for (const std::int32_t offset_s : {0, 19800, -25200}) {
      SyntheticOptions options = usual(schema);
      options.interval_s = schema == SyntheticSchema::amd_smi ? 1 : 0.37;
      options.noise_w = 55.5;
      options.jitter_s = 0.1;
      options.gpu_offset_w = 1.0 / 3;
      options.start_unix_s = kNewYear + 0.4567;
      options.zone = Zone::fixed(offset_s);
      options.seed = seed;
      const std::string text = written(options);
      const ReadBack result = read_back(text, options.zone);
      std::size_t at = 0;
      const auto rows = split_csv(text, text.size(), true);
      const bool is_amd = schema == SyntheticSchema::amd_smi;
      for (std::size_t i = 1; i < rows.size(); ++i) {
        if (rows[i].blank) continue;
        const auto& cells = rows[i].cells;
        double unix_s = std::strtod(cells[0].c_str(), nullptr);
        if (schema == SyntheticSchema::nvidia_smi) {
          std::tm face{};
          int millis = 0;
          ASSERT_EQ(
              std::sscanf(cells[0].c_str(), "%d/%d/%d %d:%d:%d.%d", &face.tm_year, &face.tm_mon,
                          &face.tm_mday, &face.tm_hour, &face.tm_min, &face.tm_sec, &millis),
              7);
          face.tm_year -= 1900;
          face.tm_mon -= 1;
          unix_s = static_cast<double>(timegm(&face) - offset_s) + millis / 1000.0;
        }
        ASSERT_LT(at, result.readings.size());
        EXPECT_EQ(result.readings[at].unix_s, unix_s) << cells[0] << " TEST_SEED=" << seed;
        EXPECT_EQ(result.readings[at].watts, std::strtod(cells[is_amd ? 10 : 2].c_str(), nullptr))
            << cells[is_amd ? 10 : 2] << " TEST_SEED=" << seed;
        EXPECT_EQ(result.devices[result.readings[at].device], cells[1]);
        ++at;
      }
      EXPECT_EQ(at, result.readings.size());
    }
  }
}

TEST(Synthetic, KeepsNoiseAndJitterWithinTheirBounds) {
  SyntheticOptions options = usual(SyntheticSchema::generic);
  options.interval_s = 0.5;
  options.noise_w = 150;  // more than the first phase's 100 W
  options.jitter_s = 0.2;
  const auto series = read_back(options).series();
  std::set<double> offsets;
  double lowest = 1e9;
  for (const auto& [id, samples] : series) {
    ASSERT_EQ(samples.size(), 81u);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const double late_s = samples[i].unix_s - (kNewYear + 0.5 * static_cast<double>(i));
      EXPECT_LE(std::abs(late_s), 0.2005);
      offsets.insert(late_s);
      const double phase_w = i < 20 ? 100 : i <= 60 ? 600 : 200;
      EXPECT_LE(std::abs(samples[i].watts - phase_w), 150.0005) << i;
      lowest = std::min(lowest, samples[i].watts);
    }
  }
  EXPECT_GT(offsets.size(), 50u);
  EXPECT_EQ(lowest, 0) << "never below, and some of these would be";
}

TEST(Synthetic, GivesTheSameBytesForTheSameOptions) {
  for (const SyntheticSchema schema : kSchemas) {
    SyntheticOptions options = usual(schema);
    options.noise_w = 20;
    options.jitter_s = 0.3;
    const std::string text = written(options);
    EXPECT_EQ(written(options), text);
    options.seed = 2;
    EXPECT_NE(written(options), text);
    options.noise_w = options.jitter_s = 0;
    const std::string quiet = written(options);
    options.seed = 3;
    EXPECT_EQ(written(options), quiet) << "a seed without noise changes nothing";
  }
}

TEST(Synthetic, WritesLongFilesPieceByPiece) {
  SyntheticOptions options = usual(SyntheticSchema::amd_smi);
  options.phases = {{1000, 500}};
  options.benchmark_phase = 0;
  options.gpus = 8;
  std::size_t pieces = 0;
  std::size_t longest = 0;
  std::size_t all = 0;
  write_synthetic(options, [&](std::string_view piece) {
    ++pieces;
    longest = std::max(longest, piece.size());
    all += piece.size();
  });
  EXPECT_GT(all, 8u * 1001 * 500);
  EXPECT_LT(longest, 200000u);
  EXPECT_GT(pieces, 20u);
}

// ---- Faults. Without a second of their own they strike in the middle of the benchmark, at 20 s.

TEST(SyntheticFault, GapLeavesFiveSecondsOut) {
  for (const SyntheticSchema schema : kSchemas) {
    for (const auto& [id, samples] : read_back(with_fault(schema, FaultKind::gap)).series()) {
      ASSERT_EQ(samples.size(), kTicks - 5) << id;
      EXPECT_EQ(samples[19].unix_s, kNewYear + 19);
      EXPECT_EQ(samples[20].unix_s, kNewYear + 25);
    }
    const auto early = read_back(with_fault(schema, FaultKind::gap, 3.5)).series();
    EXPECT_EQ(early.at("0")[3].unix_s, kNewYear + 3);
    EXPECT_EQ(early.at("0")[4].unix_s, kNewYear + 9);
  }
}

TEST(SyntheticFault, NaTakesOneReadingOfTheFirstGpu) {
  for (const SyntheticSchema schema : kSchemas) {
    const ReadBack result = read_back(with_fault(schema, FaultKind::na));
    ASSERT_EQ(result.readings.size(), 3 * kTicks);
    EXPECT_EQ(result.count(Reading::Kind::no_power), 1u);
    EXPECT_EQ(result.readings[60].kind, Reading::Kind::no_power);
    EXPECT_EQ(result.readings[60].unix_s, kNewYear + 20);
    EXPECT_EQ(result.skipped, with(blanks(schema), "no_reading", 1));
  }
}

TEST(SyntheticFault, GarbageTimeAddsARow) {
  for (const SyntheticSchema schema : kSchemas) {
    const ReadBack result = read_back(with_fault(schema, FaultKind::garbage_time));
    ASSERT_EQ(result.readings.size(), 3 * kTicks + 1);
    EXPECT_EQ(result.readings[60].kind, Reading::Kind::bad_timestamp);
    EXPECT_EQ(result.skipped, with(blanks(schema), "bad_timestamp", 1));
    EXPECT_EQ(result.count(Reading::Kind::power), 3 * kTicks);
  }
}

TEST(SyntheticFault, TornTailCutsTheLastRow) {
  for (const SyntheticSchema schema : kSchemas) {
    const std::string whole = written(usual(schema));
    const std::string torn = written(with_fault(schema, FaultKind::torn_tail));
    EXPECT_TRUE(whole.starts_with(torn));
    EXPECT_FALSE(torn.ends_with('\n'));
    const ReadBack result = read_back(torn);
    EXPECT_EQ(result.readings.size(), 3 * kTicks - 1);
    EXPECT_EQ(result.skipped, with(blanks(schema), "torn_tail", 1));
  }
}

TEST(SyntheticFault, RepeatedHeaderAddsOne) {
  for (const SyntheticSchema schema : kSchemas) {
    for (const double at_s : {0.0, 1.0, 20.0, 40.0}) {
      const ReadBack result = read_back(with_fault(schema, FaultKind::repeated_header, at_s));
      EXPECT_EQ(result.readings.size(), 3 * kTicks) << at_s;
      EXPECT_EQ(result.skipped, with(blanks(schema), "repeated_header", 1)) << at_s;
    }
  }
}

TEST(SyntheticFault, DroppedGpuIsTheLastOne) {
  for (const SyntheticSchema schema : kSchemas) {
    const auto series = read_back(with_fault(schema, FaultKind::dropped_gpu)).series();
    EXPECT_EQ(series.at("0").size(), kTicks);
    EXPECT_EQ(series.at("1").size(), kTicks);
    EXPECT_EQ(series.at("2").size(), 20u);
    EXPECT_EQ(series.at("2").back().unix_s, kNewYear + 19);
  }
}

TEST(SyntheticFault, DuplicateStampsWriteATickTwice) {
  for (const SyntheticSchema schema : kSchemas) {
    for (const auto& [id, samples] :
         read_back(with_fault(schema, FaultKind::duplicate_stamps)).series()) {
      ASSERT_EQ(samples.size(), kTicks + 1);
      EXPECT_EQ(samples[20].unix_s, kNewYear + 20);
      EXPECT_EQ(samples[21].unix_s, kNewYear + 20);
    }
  }
}

TEST(SyntheticFault, EncodingsChangeNoReading) {
  for (const SyntheticSchema schema : kSchemas) {
    const std::string plain = written(usual(schema));
    const std::string bom = written(with_fault(schema, FaultKind::bom));
    EXPECT_EQ(bom, "\xEF\xBB\xBF" + plain);
    const std::string crlf = written(with_fault(schema, FaultKind::crlf));
    EXPECT_EQ(crlf.find("\r\n") + 1, crlf.find('\n'));
    const std::string utf16 = written(with_fault(schema, FaultKind::utf16));
    ASSERT_EQ(utf16.size(), 2 + 2 * plain.size());
    EXPECT_EQ(utf16.substr(0, 2), "\xFF\xFE");
    for (std::size_t i = 0; i < plain.size(); ++i) {
      ASSERT_EQ(utf16[2 + 2 * i], plain[i]) << i;
      ASSERT_EQ(utf16[3 + 2 * i], '\0') << i;
    }
    for (const std::string& text : {bom, crlf, utf16}) {
      const ReadBack result = read_back(text);
      EXPECT_EQ(result.readings.size(), 3 * kTicks);
      EXPECT_EQ(result.skipped, blanks(schema));
    }
  }
}

TEST(SyntheticFault, GoesTogetherWithOthers) {
  for (const SyntheticSchema schema : kSchemas) {
    SyntheticOptions options = usual(schema);
    options.faults = {{FaultKind::utf16, {}},     {FaultKind::crlf, {}},
                      {FaultKind::torn_tail, {}}, {FaultKind::na, 2.0},
                      {FaultKind::na, 5.0},       {FaultKind::garbage_time, 7.0}};
    const ReadBack result = read_back(options);
    EXPECT_EQ(result.count(Reading::Kind::power), 3 * kTicks - 3);
    EXPECT_EQ(result.skipped, with(with(with(blanks(schema), "torn_tail", 1), "no_reading", 2),
                                   "bad_timestamp", 1));
  }
}

TEST(SyntheticFault, TwoMarksAreOne) {
  SyntheticOptions options = usual(SyntheticSchema::generic);
  options.faults = {{FaultKind::bom, {}}, {FaultKind::utf16, {}}};
  EXPECT_EQ(read_back(options).readings.size(), 3 * kTicks)
      << "a UTF-16 file has one mark, its own";
}

TEST(SyntheticFault, TearsTheLastRowThatIsThere) {
  SyntheticOptions options = usual(SyntheticSchema::generic);
  options.faults = {{FaultKind::dropped_gpu, {}}, {FaultKind::torn_tail, {}}};
  EXPECT_EQ(read_back(options).skipped, (Counts{{"torn_tail", 1}}));
}

TEST(SyntheticFault, HasANameEach) {
  const std::vector<std::string> names = {"gap",
                                          "na",
                                          "garbage-time",
                                          "torn-tail",
                                          "repeated-header",
                                          "dropped-gpu",
                                          "duplicate-stamps",
                                          "bom",
                                          "crlf",
                                          "utf16"};
  EXPECT_EQ(fault_names(), names);
  std::set<FaultKind> kinds;
  for (const std::string& name : names) {
    ASSERT_TRUE(parse_fault(name)) << name;
    EXPECT_TRUE(kinds.insert(*parse_fault(name)).second) << name;
  }
  for (const char* name : {"", "GAP", "gap ", "torn_tail", "x"}) {
    EXPECT_EQ(parse_fault(name), std::nullopt) << name;
  }
}

}  // namespace synthetic_test
}  // namespace aggregate_power
