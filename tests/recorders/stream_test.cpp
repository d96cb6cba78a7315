// Recordings of other forms than CSV tables, whole or broken.
#include "recorders/recorders.h"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files/file.h"
#include "recorders/breaking_source.h"
#include "recorders/recorder_table.h"
#include "test_util.h"

namespace aggregate_power {
namespace stream_telemetry_test {

struct Found {
  std::vector<std::array<double, 4>> readings;
  std::vector<std::string> devices;
  std::string fault;
};

Found read(const std::string& text, std::size_t good = std::string::npos) {
  Found found;
  Telemetry telemetry = open_telemetry(std::make_unique<test::BreakingSource>(text, good, "a.txt"),
                                       {.zone = Zone::fixed(0), .path = "a.txt"});
  try {
    telemetry.read([&](std::span<const Reading> readings) {
      for (const Reading& reading : readings) {
        const bool is_bad = reading.kind == Reading::Kind::bad_timestamp;
        const bool has_watts = !is_bad && reading.kind != Reading::Kind::no_power;
        found.readings.push_back({static_cast<double>(reading.kind), is_bad ? 0 : reading.unix_s,
                                  has_watts ? reading.watts : 0,
                                  is_bad ? 0. : static_cast<double>(reading.device)});
      }
    });
  } catch (const std::exception& error) {
    found.fault = error.what();
  }
  found.devices = telemetry.devices();
  return found;
}

// Three hours of eight GPUs, with what recordings have between their rows.
std::string dmon_rows() {
  std::string text;
  for (int i = 0; i < 10'800; ++i) {
    if (i % 30 == 0) {
      text +=
          "#Date       Time        gpu    pwr  gtemp\n#YYYYMMDD   HH:MM:SS    Idx      W      C\n";
    }
    for (int gpu = 0; gpu < 8; ++gpu) {
      const std::string watts =
          (i + gpu) % 977 == 0 ? "-" : fmt::format("{}", 300 + (i + gpu) % 97);
      text += fmt::format(" 20260425   {:02}:{:02}:{:02}      {}    {}     52\n", 12 + i / 3600,
                          i / 60 % 60, i % 60, gpu, watts);
    }
  }
  return text;
}

TEST(StreamTelemetry, GivesTheReadingsBeforeAFault) {
  const std::string text = dmon_rows();
  const Found whole = read(text);
  EXPECT_EQ(whole.fault, "");
  EXPECT_EQ(whole.readings.size(), 8U * 10'800);
  EXPECT_EQ(whole.devices.size(), 8U);
  for (const std::size_t good : {text.size() / 2, text.size() / 3 * 2, std::size_t{70'000}}) {
    const Found found = read(text, good);
    EXPECT_EQ(found.fault, FileError("a.txt", "read", EIO).what());
    EXPECT_GT(found.readings.size(), 1'000U);
    EXPECT_TRUE(std::ranges::equal(
        found.readings,
        std::span(whole.readings).first(std::min(whole.readings.size(), found.readings.size()))));
  }
}

// ---- Counters that are read along with the power

using Counted = std::vector<std::array<double, 3>>;  // time, joules, device

struct Counters {
  Counted readings;
  std::vector<std::string> devices;
  std::string counter;
  std::string fault;
  bool operator==(const Counters&) const = default;
};

// In a reading of the power if `beside`, otherwise alone.
Counters counters_of(const std::string& text, bool beside) {
  Counters found;
  const auto take = [&](std::span<const Reading> readings) {
    for (const Reading& reading : readings) {
      if (reading.kind != Reading::Kind::power) continue;
      found.readings.push_back(
          {reading.unix_s, reading.watts, static_cast<double>(reading.device)});
    }
  };
  CounterStream stream{take};
  Telemetry telemetry =
      open_telemetry(std::make_unique<test::BreakingSource>(text, text.size(), "a.txt"),
                     {.zone = Zone::fixed(0), .path = "a.txt", .counters = !beside});
  if (beside) telemetry.read_counters_too(stream);
  try {
    if (beside) {
      telemetry.read([](std::span<const Reading>) {});
    } else {
      telemetry.read(take);
    }
  } catch (const std::exception& error) {
    found.fault = error.what();
  }
  found.devices = beside ? stream.counts.devices : telemetry.devices();
  const auto& counter = beside ? stream.counts.counter : telemetry.counter();
  if (counter) found.counter = counter->name;
  return found;
}

std::string aiperf_line(int i, int gpu, const std::string& telemetry_data) {
  return fmt::format(
      "{{\"timestamp_ns\":{}000000000,\"gpu_index\":{},\"gpu_uuid\":\"GPU-{}\",\"hostname\":\"a\",\"telemetry_data\":{{{}}}}}\n",
      1777118400 + i, gpu, gpu, telemetry_data);
}

TEST(CountersBesidePower, AreThoseOfTheRows) {
  const std::string dcgmi =
      "1777118400 #Entity   POWER     TOTEC\n1777118400 ID        W         mJ\n"
      "1777118400 GPU 0     310.5     2000\n1777118400 GPU 1     N/A       4000\n"
      "1777118401 GPU 0     311.5     N/A\n1777118401 GPU 1     312.5     5000\n";
  const Counters of_dcgmi = counters_of(dcgmi, true);
  EXPECT_EQ(of_dcgmi.readings,
            (Counted{{1777118400, 2, 0}, {1777118400, 4, 1}, {1777118401, 5, 1}}));
  EXPECT_EQ(of_dcgmi.counter, "TOTEC");
  // Lines without power have counters too, and the other way round.
  const std::string aiperf = aiperf_line(0, 3, R"("gpu_power_usage":310.5)") +
                             aiperf_line(0, 4, R"("energy_consumption":0.25)") +
                             aiperf_line(1, 3, R"("gpu_power_usage":1,"energy_consumption":0.5)");
  const Counters of_aiperf = counters_of(aiperf, true);
  EXPECT_EQ(of_aiperf.readings, (Counted{{1777118400, 250'000, 0}, {1777118401, 500'000, 1}}));
  EXPECT_EQ(of_aiperf.devices, (std::vector<std::string>{"GPU-4", "GPU-3"}));
  EXPECT_EQ(of_aiperf.counter, "energy_consumption");
}

TEST(CountersBesidePower, AreAsIfReadAlone) {
  std::string dcgmi;
  std::string aiperf;
  for (int i = 0; i < 2'000; ++i) {
    if (i % 20 == 0) {
      dcgmi += i % 300 == 0 ? "1777118400 #Entity   TOTEC     POWER\n"
                            : "1777118400 #Entity   POWER     TOTEC\n";
    }
    for (int gpu = 0; gpu < 4; ++gpu) {
      const std::string watts = (i + gpu) % 97 == 0 ? "N/A" : fmt::format("{}", 300 + i % 7);
      const std::string count = (i + gpu) % 89 == 0 ? "123.." : fmt::format("{}", 1'000 * i);
      dcgmi += fmt::format("{} GPU {}   {}   {}\n", 1777118400 + i, gpu, watts, count);
      const bool has_power = (i + gpu) % 53 != 0;
      aiperf += aiperf_line(
          i, gpu,
          fmt::format("\"{}\":{},\"{}\":{}", has_power ? "gpu_power_usage" : "other", 300 + i % 7,
                      (i + gpu) % 59 == 0 ? "other_too" : "nvidia_energy_consumption",
                      (i + gpu) % 61 == 0 ? "null" : fmt::format("{}", 0.25 * i)));
    }
  }
  for (const std::string& text : {dcgmi, aiperf}) {
    for (const std::size_t size :
         {text.size(), text.size() - 1, text.size() - 7, text.size() / 2}) {
      const Counters alone = counters_of(text.substr(0, size), false);
      EXPECT_GT(alone.readings.size(), 3'000U);
      EXPECT_TRUE(counters_of(text.substr(0, size), true) == alone) << size;
    }
  }
}

// ---- Lines that are like the one before

// The same lines, with a blank after the first brace of every other one: then none is.
std::string with_odd_blanks(const std::string& text) {
  std::string changed;
  bool is_odd = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins_line = at == 0 || text[at - 1] == '\n';
    changed += text[at];
    if (!begins_line) continue;
    is_odd = !is_odd;
    if (is_odd && text[at] == '{') changed += ' ';
  }
  return changed;
}

// Readings, and of AIPowerMeter's sensors what `inspect` shows.
std::string everything_in(const std::string& text) {
  Telemetry telemetry = open_telemetry(std::make_unique<test::StutterSource>(text, test::kWhole),
                                       {.zone = Zone::fixed(0), .path = "a.txt"});
  std::string all;
  try {
    telemetry.read([&](std::span<const Reading> readings) {
      for (const auto& [unix_s, watts, device, kind] : readings) {
        all += fmt::format("{} {} {} {}\n", unix_s, watts, device, static_cast<int>(kind));
      }
    });
  } catch (const std::exception& error) {
    all += error.what();
  }
  all += fmt::format("{} rows, {} torn\n", telemetry.rows(), telemetry.skipped().torn_tail);
  for (const SensorEnergy& sensor : telemetry.sensors()) {
    all += fmt::format("{} {} {} {} {}", sensor.name, sensor.total_j, sensor.held_back_j,
                       sensor.max_w, sensor.duration_s);
    for (const double joules : sensor.segments_j) all += fmt::format(" {}", joules);
    all += '\n';
  }
  for (const SensorSum& sum : telemetry.sums()) all += sum.text + sum.detail + '\n';
  for (const std::string& name : telemetry.devices()) all += name + '\n';
  return all;
}

// A number, or rarely something else.
std::string number_or_not(test::Dice& dice, int i) {
  const char* const others[] = {"null", "-1", "\"310.5\"", "1e2", "true", "0", "\"\\u0031\""};
  if (dice.one_in(60)) return others[dice.below(7)];
  return fmt::format("{}.{}", 90 + dice.below(400), i % 10);
}

std::string aipowermeter_line(test::Dice& dice, int i) {
  std::string draw;
  std::string attributable;
  std::string uses;
  for (int gpu = 0; gpu < 3; ++gpu) {
    const char* const comma = gpu == 0 ? "" : ", ";
    draw += fmt::format("{}\"{}\": {}", comma, gpu, number_or_not(dice, i));
    attributable += fmt::format("{}\"{}\": {}", comma, gpu, number_or_not(dice, i));
    uses += fmt::format("{}\"{}\": {{\"12{}\": {}}}", comma, gpu, i / 50, number_or_not(dice, i));
  }
  const std::string uncore =
      i / 100 % 2 == 0 ? number_or_not(dice, i) : "[" + number_or_not(dice, i) + ", 2.5]";
  return fmt::format(
      "{{\"date\": \"2026-04-25T12:{:02}:{:02}\", \"metrics\": {{\"cpu\": {{\"intel_power\": {}, \"uncore_power\": {}}}, \"gpu\": {{\"per_gpu_power_draw\": {{{}}}, \"per_gpu_attributable_power\": {{{}}}, \"per_gpu_per_pid_utilization_absolute\": {{{}}}}}}}}}\n",
      i / 60, dice.one_in(90) ? 77 : i % 60, number_or_not(dice, i), uncore, draw, attributable,
      uses);
}

std::string all_smi_line(test::Dice& dice, int i) {
  std::string gpus;
  for (int gpu = 0; gpu < (dice.one_in(50) ? 2 : 3); ++gpu) {
    gpus +=
        fmt::format("{}{{\"uuid\": \"GPU-{}\", \"hostname\": \"a\", \"power_consumption\": {}}}",
                    gpu == 0 ? "" : ", ", gpu, number_or_not(dice, i));
  }
  return fmt::format(
      "{{\"schema\": 1, \"timestamp\": \"2026-04-25T12:{:02}:{:02}Z\", \"gpus\": [{}]}}\n", i / 60,
      i % 60, gpus);
}

TEST(AlikeRows, AreReadAsOthers) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  for (int round = 0; round < 20; ++round) {
    std::array<std::string, 3> texts;
    for (int i = 0; i < 400; ++i) {
      texts[0] += aipowermeter_line(dice, i);
      if (dice.one_in(100)) texts[0] += "\"END OF RECORDING SEGMENT\"\n";
      texts[1] += all_smi_line(dice, i);
      const std::string data =
          fmt::format("\"gpu_power_usage\":{},\"nvidia_power_usage\":{},\"x\":{}",
                      number_or_not(dice, i), number_or_not(dice, i), number_or_not(dice, i));
      texts[2] += aiperf_line(i / 3, i % 3, data);
    }
    for (std::string text : texts) {
      if (round % 2 == 1) text.resize(text.size() - dice.below(text.size() / 2));
      const std::string all = everything_in(text);
      EXPECT_GT(std::ranges::count(all, '\n'), 150);
      ASSERT_TRUE(all == everything_in(with_odd_blanks(text))) << "TEST_SEED=" << seed;
    }
  }
}

// ---- Pairs, of which all but the first of a series are read as they come.

using Pairs = std::vector<std::array<double, 3>>;  // kind, time, watts

Pairs matrix_readings(const std::string& values) {
  const std::string text =
      R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"DCGM_FI_DEV_POWER_USAGE","gpu":"0"},"values":[)" +
      values + "]}]}}";
  Pairs pairs;
  for (const auto& [kind, unix_s, watts, device] : read(text).readings) {
    EXPECT_EQ(device, 0);
    pairs.push_back({kind, unix_s, watts});
  }
  return pairs;
}

TEST(MatrixPairs, AreReadTheSameWhereverTheyAre) {
  constexpr double kGood = static_cast<double>(Reading::Kind::power);
  constexpr double kNegative = static_cast<double>(Reading::Kind::negative_power);
  constexpr double kNone = static_cast<double>(Reading::Kind::no_power);
  constexpr double kBadStamp = static_cast<double>(Reading::Kind::bad_timestamp);
  const std::pair<std::string, Pairs> cases[] = {
      {R"([1777118400.5,"310.25"])", {{kGood, 1777118400.5, 310.25}}},
      {R"([1777118400,"-3"])", {{kNegative, 1777118400, -3}}},
      {R"([1777118400,"NaN"])", {{kNone, 1777118400, 0}}},
      {R"([1777118400,null])", {{kNone, 1777118400, 0}}},
      {R"([1777118400,65535])", {{kNone, 1777118400, 0}}},
      {R"(["yesterday","310"])", {{kBadStamp, 0, 0}}},
      {R"(["2026-04-25T12:00:00Z"," 310 W "])", {{kGood, 1777118400, 310}}},
      {R"([1777118400])", {}},
      {R"([])", {}},
      {R"([1777118400,"310","320"])", {}},
  };
  const std::string good = R"([1777118300,"100"])";
  const Pairs as_good = {{kGood, 1777118300, 100}};
  for (const auto& [text, wanted] : cases) {
    EXPECT_EQ(matrix_readings(text), wanted) << text;
    Pairs after = as_good;
    after.insert(after.end(), wanted.begin(), wanted.end());
    after.push_back(as_good[0]);
    EXPECT_EQ(matrix_readings(good + "," + text + "," + good), after) << text;
  }
}

}  // namespace stream_telemetry_test
}  // namespace aggregate_power
