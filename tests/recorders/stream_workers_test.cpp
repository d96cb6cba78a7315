// Recordings read by several workers against the same read by one.
#include "recorders/recorders.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files/file.h"
#include "recorders/breaking_source.h"
#include "recorders/recorder_table.h"
#include "test_util.h"

namespace aggregate_power {
namespace stream_workers_test {

// All that can be known of a recording.
struct Found {
  std::vector<std::array<double, 4>> readings;
  std::vector<std::array<double, 4>> counters;
  std::vector<std::string> devices;
  std::vector<std::string> counter_devices;
  std::vector<std::pair<std::string_view, std::uint64_t>> skipped;
  std::array<std::uint64_t, 4> counts{};
  std::string first_bad_stamp;
  std::string counter;
  std::string fault;
  std::vector<std::string> conflicts;

  bool operator==(const Found&) const = default;
};

struct Options {
  Workers workers = {};
  bool counters = false;
  std::string gpus = {};
  std::string power_column = {};
  std::size_t good_bytes = std::string::npos;
};

std::array<double, 4> numbers_of(const Reading& reading) {
  const bool is_bad = reading.kind == Reading::Kind::bad_timestamp;
  const bool has_watts = !is_bad && reading.kind != Reading::Kind::no_power;
  return {static_cast<double>(reading.kind), is_bad ? 0 : reading.unix_s,
          has_watts ? reading.watts : 0, is_bad ? 0. : static_cast<double>(reading.device)};
}

Found read(const std::string& text, const Options& options) {
  Found found;
  const auto adder = [](std::vector<std::array<double, 4>>& to) {
    return [&to](std::span<const Reading> readings) {
      for (const Reading& reading : readings) to.push_back(numbers_of(reading));
    };
  };
  TelemetryOptions how = {.zone = Zone::fixed(0), .path = "a.txt"};
  how.columns.power = options.power_column;
  if (!options.gpus.empty()) how.gpus = parse_gpus(options.gpus);
  Telemetry telemetry = open_telemetry(
      std::make_unique<test::BreakingSource>(text, options.good_bytes, "a.txt"), how);
  if (!telemetry.facts().has_times() || !telemetry.facts().has_power()) return found;
  CounterStream counters{adder(found.counters)};
  if (options.counters) telemetry.read_counters_too(counters);
  telemetry.use_workers(options.workers);
  try {
    telemetry.read(adder(found.readings));
  } catch (const std::exception& error) {
    found.fault = error.what();
  }
  found.devices = telemetry.devices();
  found.counter_devices = counters.counts.devices;
  found.skipped = by_cause(telemetry.skipped());
  found.counts = {telemetry.rows(), telemetry.stamps(), telemetry.naive_stamps(),
                  counters.counts.rows};
  found.first_bad_stamp = telemetry.first_bad_stamp();
  found.conflicts = telemetry.identity_conflicts();
  if (telemetry.counter()) found.counter = telemetry.counter()->name;
  return found;
}

// What several workers found, which must be what one finds, whatever the size of its blocks.
Found read_both(const std::string& text, const std::string& what, Options options = {}) {
  const Found one = read(text, options);
  for (const Workers workers : {Workers{2}, Workers{3, 5000}, Workers{8, 1 << 16}}) {
    options.workers = workers;
    const Found several = read(text, options);
    EXPECT_EQ(one.readings.size(), several.readings.size()) << what;
    EXPECT_EQ(one.devices, several.devices) << what;
    EXPECT_EQ(one.counts, several.counts) << what;
    EXPECT_EQ(one.first_bad_stamp, several.first_bad_stamp) << what;
    EXPECT_EQ(one.fault, several.fault) << what;
    EXPECT_TRUE(one == several) << what;
  }
  return one;
}

// ---- Recordings of several blocks, which have 256 KiB

constexpr int kStart = 1777118400;
constexpr int kTicks = 6'000;
// So that a recording of few GPUs has several blocks too.
const std::string kPadding(100, 'x');

int watts(int i, int gpu) { return 300 + (i * 7 + gpu * 13) % 97; }

using Tick = std::function<std::string(int i)>;

std::string ticks(const std::string& header, const Tick& tick) {
  std::string text = header;
  for (int i = 0; i < kTicks; ++i) text += tick(i);
  return text;
}

// Lines with every kind of value, from which GPU 5 is absent at first.
std::string value(int i, int gpu) {
  if ((i + gpu) % 977 == 0) return "N/A";
  return fmt::format("{}.{:02}", watts(i, gpu), i % 100);
}
int gpus_at(int i) { return i < kTicks / 2 ? 5 : 6; }

std::string dmon_tick(int i) {
  std::string text = i % 30 != 0 ? ""
                                 : "#Date       Time        gpu    pwr  gtemp\n"
                                   "#YYYYMMDD   HH:MM:SS    Idx      W      C\n";
  for (int gpu = 0; gpu < gpus_at(i); ++gpu) {
    text += fmt::format(" 20260425   {:02}:{:02}:{:02}      {}    {}     52\n", 12 + i / 3600,
                        i / 60 % 60, i % 60, gpu, (i + gpu) % 977 == 0 ? 0 : watts(i, gpu));
  }
  return text;
}

std::string dcgmi_tick(int i) {
  std::string text = i % 20 != 0 ? ""
                                 : fmt::format(
                                       "{0} #Entity   POWER     TOTEC\n"
                                       "{0} ID        W         mJ\n",
                                       kStart + i);
  for (int gpu = 0; gpu < gpus_at(i); ++gpu) {
    text += fmt::format("{} GPU {}     {}   {}\n", kStart + i, gpu, value(i, gpu), 300'000 * i);
  }
  return text;
}

std::string scrape_tick(int i) {
  std::string text = fmt::format("# {}\n# HELP DCGM_FI_DEV_POWER_USAGE Power draw\n", kStart + i);
  for (int gpu = gpus_at(i); gpu-- > 0;) {
    text += fmt::format("DCGM_FI_DEV_POWER_USAGE{{gpu=\"{}\",UUID=\"GPU-{}\"}} {}\n", gpu, gpu,
                        (i + gpu) % 977 == 0 ? "NaN" : value(i, gpu));
  }
  return text;
}

constexpr std::string_view kWideHeader =
    "Time,\"DCGM_FI_DEV_POWER_USAGE{gpu=\"\"0\"\"}\",\"DCGM_FI_DEV_POWER_USAGE{gpu=\"\"1\"\"}\","
    "\"DCGM_FI_DEV_POWER_USAGE{gpu=\"\"2\"\"}\",other\n";

std::string wide_tick(int i) {
  return fmt::format("{},{},{},{},\"a, {}\"\n", (kStart + i) * std::int64_t{1000}, value(i, 0),
                     i % 3 == 0 ? "" : value(i, 1), i < kTicks / 2 ? "" : value(i, 2), kPadding);
}

std::string energibridge_tick(int i) {
  return fmt::format("1000,{},{},{},{}\n", (kStart + i) * std::int64_t{1000}, watts(i, 0) * 1000,
                     watts(i, 1) * 1000, kPadding);
}

std::string grafana_row_tick(int i) {
  std::string text;
  for (int gpu = 0; gpu < gpus_at(i); ++gpu) {
    text += fmt::format("DCGM_FI_DEV_POWER_USAGE{{gpu=\"{}\"}};{};{}\n", gpu,
                        (kStart + i) * std::int64_t{1000}, value(i, gpu));
  }
  return text;
}

std::string aiperf_tick(int i) {
  std::string text;
  for (int gpu = 0; gpu < gpus_at(i); ++gpu) {
    text += fmt::format(
        "{{\"timestamp_ns\":{}000000000,\"gpu_index\":{},\"gpu_uuid\":\"GPU-{}\",\"hostname\":\"a\","
        "\"telemetry_data\":{{\"gpu_power_usage\":{},\"energy_consumption\":{}}}}}\n",
        kStart + i, gpu, gpu, (i + gpu) % 977 == 0 ? "null" : value(i, gpu), 0.25 * i);
  }
  return text;
}

std::string all_smi_tick(int i) {
  std::string text = fmt::format("{{\"schema\":1,\"timestamp\":{},\"gpus\":[", kStart + i);
  for (int gpu = 0; gpu < gpus_at(i); ++gpu) {
    text += fmt::format("{}{{\"uuid\":\"GPU-{}\",\"power_consumption\":{}}}", gpu > 0 ? "," : "",
                        gpu, watts(i, gpu));
  }
  return text + "]}\n";
}

struct Form {
  std::string name;
  std::string header;
  Tick tick;
};

std::vector<Form> forms() {
  return {{"nvidia-smi dmon", "", dmon_tick},
          {"dcgmi dmon", "", dcgmi_tick},
          {"scrapes", "", scrape_tick},
          {"Grafana, wide", std::string(kWideHeader), wide_tick},
          {"EnergiBridge", "Delta,Time,GPU0_POWER (mWatts),GPU1_POWER (mWatts),other\n",
           energibridge_tick},
          {"Grafana, rows", "Series;Time;Value\n", grafana_row_tick},
          {"AIPerf", "", aiperf_tick},
          {"all-smi", "", all_smi_tick}};
}

std::string text_of(const Form& form) { return ticks(form.header, form.tick); }

// ---- The tests

TEST(StreamWorkers, ReadWhatOneReads) {
  for (const Form& form : forms()) {
    const Found found = read_both(text_of(form), form.name);
    EXPECT_EQ(found.fault, "") << form.name;
    EXPECT_GE(found.readings.size(), std::size_t{kTicks}) << form.name;
  }
}

// Again and again, so that there are several blocks: what is at fault then is so for one, too.
TEST(StreamWorkers, ReadEveryRecordingOfTestdataAsOneReadsIt) {
  constexpr std::size_t kEnough = 150'000;
  std::size_t with_readings = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TESTDATA)) {
    if (!entry.is_regular_file() || entry.file_size() == 0 || entry.file_size() > kEnough) continue;
    const std::string file = test::bytes_of(entry.path());
    std::string text = file;
    while (text.size() < kEnough) text += file;
    const Found found = read_both(text, entry.path().string());
    with_readings += found.readings.empty() ? 0 : 1;
  }
  EXPECT_GT(with_readings, 50U);
}

TEST(StreamWorkers, ReadCountersBesideThePower) {
  for (const Form& form : {forms()[1], forms()[6]}) {
    const Found found = read_both(text_of(form), form.name, {.counters = true});
    EXPECT_EQ(found.counters.size(), 5U * kTicks / 2 + 6U * kTicks / 2) << form.name;
    EXPECT_EQ(found.counter_devices.size(), 6U) << form.name;
  }
}

TEST(StreamWorkers, EndWhereTheRecordingEnds) {
  for (const Form& form : forms()) {
    const std::string text = text_of(form);
    for (const std::size_t size : {text.size() - 1, text.size() - 9, text.size() / 2 + 17}) {
      read_both(text.substr(0, size), fmt::format("{}, {} bytes", form.name, size));
    }
  }
}

TEST(StreamWorkers, GiveTheReadingsBeforeAFault) {
  for (const Form& form : forms()) {
    const std::string text = text_of(form);
    const Found found = read(text, {.workers = {3}, .good_bytes = text.size() / 3 * 2});
    EXPECT_EQ(found.fault, FileError("a.txt", "read", EIO).what()) << form.name;
    const Found whole = read(text, {});
    ASSERT_LE(found.readings.size(), whole.readings.size()) << form.name;
    EXPECT_GT(found.readings.size(), whole.readings.size() / 3) << form.name;
    EXPECT_TRUE(std::equal(found.readings.begin(), found.readings.end(), whole.readings.begin()))
        << form.name;
  }
}

TEST(StreamWorkers, LeaveOutWhatIsNotSelected) {
  for (const auto& [number, gpus] : {std::pair(0, "1,5"), {2, "GPU-5"}, {3, "2"}, {6, "GPU-0"}}) {
    const Form form = forms()[static_cast<std::size_t>(number)];
    const Found found = read_both(text_of(form), form.name, {.gpus = gpus});
    EXPECT_EQ(found.fault, "") << form.name;
    EXPECT_GT(found.readings.size(), 1'000U) << form.name;
  }
}

TEST(StreamWorkers, NumberRowsAndLinesInTheWholeRecording) {
  const auto with = [](const Form& form, const std::string& line, int at) {
    std::string text = form.header;
    for (int i = 0; i < kTicks; ++i) text += i == at ? line : form.tick(i);
    return text;
  };
  const std::vector<Form> all = forms();
  const Found bad = read_both(with(all[4], "1,yesterday,1,2,x\n", 5'000), "a bad stamp");
  EXPECT_EQ(bad.first_bad_stamp, "'yesterday' in row 5001");
  const std::string other = "Time,a,b,c,d\n";
  EXPECT_EQ(read_both(with(all[3], other, 5'000), "another header").fault,
            "line 5002 is a header with other columns: split the recording before it");
  // 5,000 ticks: 3,000 of 5 lines, 2,000 of 6.
  EXPECT_EQ(
      read_both(with(all[6], "{\"timestamp_ns\":nothing}\n", 5'000), "no JSON").fault.substr(0, 9),
      "27001:17:");
}

TEST(StreamWorkers, EndAtAFaultThatComesBeforeTheFirstBlock) {
  const auto with = [](const Form& form, const std::string& line) {
    std::string text = form.header;
    for (int i = 0; i < kTicks; ++i) text += i == 20 ? line : form.tick(i);
    return text;
  };
  const std::vector<Form> all = forms();
  EXPECT_EQ(read_both(with(all[3], "Time,a,b,c,d\n"), "another header").fault,
            "line 22 is a header with other columns: split the recording before it");
  // 20 ticks of 5 lines.
  EXPECT_EQ(read_both(with(all[6], "{\"timestamp_ns\":nothing}\n"), "no JSON").fault.substr(0, 7),
            "101:17:");
}

TEST(StreamWorkers, FollowAHeaderThatMovesTheColumns) {
  std::string text;
  for (int i = 0; i < kTicks; ++i) {
    if (i == 4'000) text += "1777126400 #Entity   TOTEC     POWER\n";
    text += i < 4'000 || i % 20 == 0
                ? dcgmi_tick(i)
                : fmt::format("{} GPU 0     {}   310\n", kStart + i, 300'000 * i);
    if (i >= 4'000 && i % 20 == 0) text += "1777126400 #Entity   TOTEC     POWER\n";
  }
  const Found found = read_both(text, "columns that trade places", {.counters = true});
  EXPECT_EQ(found.fault, "");
  EXPECT_EQ(found.readings.back()[2], 310);
}

TEST(StreamWorkers, FindSeriesThatMeet) {
  const auto line = [](int i, int slot) {
    return fmt::format("# {}\nDCGM_FI_DEV_POWER_USAGE{{gpu=\"0\",slot=\"{}\"}} 300\n", kStart + i,
                       slot);
  };
  std::string apart, together;
  for (int i = 0; i < 6 * kTicks; ++i) {
    apart += line(i, i < 2 * kTicks ? 0 : 1);
    together += line(i, i < 2 * kTicks || i == 6 * kTicks - 1 ? 0 : 1);
  }
  EXPECT_TRUE(read_both(apart, "one after the other").conflicts.empty());
  const std::vector<std::string> conflicts = read_both(together, "at the same time").conflicts;
  ASSERT_EQ(conflicts.size(), 1u);
  EXPECT_NE(conflicts[0].find("are of one GPU at the same time"), std::string::npos);
}

// Where the user says that every series is power, the first one with labels decides which label is
// the GPU, and it may come late.
TEST(StreamWorkers, LearnNoLabelTheirOwnWay) {
  std::string text = "Series;Time;Value\n";
  for (int i = 0; i < 6 * kTicks; ++i) {
    const std::string at = fmt::format(";{};", (kStart + i) * std::int64_t{1000});
    text += "board A" + at + "300\n";
    if (i == kTicks) text += "temp{job=\"z\"}" + at + "40\n";
    if (i > 4 * kTicks) {
      text +=
          "p{gpu=\"0\",GPU_I_ID=\"1\"}" + at + "100\np{gpu=\"0\",GPU_I_ID=\"2\"}" + at + "100\n";
    }
  }
  const Found found = read_both(text, "labels that come late", {.power_column = "Value"});
  EXPECT_EQ(found.fault, "");
}

TEST(StreamWorkers, FindPowerOfTwoRecorders) {
  std::string text = ticks("", scrape_tick);
  text += fmt::format("# {}\namd_gpu_power{{gpu=\"0\"}} 100\n", kStart + kTicks);
  text += ticks("", [](int i) { return scrape_tick(kTicks + 1 + i); });
  EXPECT_NE(read_both(text, "two recorders").fault.find("which may be of other GPUs"),
            std::string::npos);
}

TEST(StreamWorkers, EndWhenTakingThrows) {
  const std::string text = text_of(forms()[0]);
  Telemetry telemetry =
      open_telemetry(std::make_unique<MemorySource>(text), {.zone = Zone::fixed(0)});
  telemetry.use_workers({3});
  std::size_t batches = 0;
  EXPECT_THROW(telemetry.read([&](std::span<const Reading>) {
    if (++batches == 3) throw std::runtime_error("enough");
  }),
               std::runtime_error);
  EXPECT_EQ(batches, 3U);
}

}  // namespace stream_workers_test
}  // namespace aggregate_power
