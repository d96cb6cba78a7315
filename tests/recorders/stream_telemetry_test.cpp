// Recordings of other forms than CSV tables: read by one thread and by two, whole or broken.
#include "recorders/stream_telemetry.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files/file.h"
#include "recorders/recorder.h"
#include "test_util.h"

namespace aggregate_power {
namespace {

namespace fs = std::filesystem;

// Breaks off after some bytes.
class EndingSource : public ByteSource {
 public:
  EndingSource(const std::string& bytes, std::size_t good)
      : source_(bytes.substr(0, good), 50'000), breaks_(good < bytes.size()) {}
  std::size_t read(std::span<char> into) override {
    const std::size_t count = source_.read(into);
    if (count == 0 && breaks_) throw FileError("a.txt", "read", EIO);
    return count;
  }

 private:
  test::StutterSource source_;
  bool breaks_;
};

struct Found {
  std::vector<std::array<double, 4>> readings;
  std::vector<std::string> devices;
  std::vector<std::pair<std::string_view, std::uint64_t>> skipped;
  std::uint64_t rows = 0;
  std::uint64_t stamps = 0;
  std::uint64_t naive_stamps = 0;
  std::string first_bad_stamp;
  std::string fault;

  bool operator==(const Found&) const = default;
};

Telemetry opened(const std::string& text, std::size_t good, bool counters) {
  return open_telemetry(std::make_unique<EndingSource>(text, good),
                        {.zone = Zone::fixed(0), .path = "a.txt", .counters = counters});
}

Found read(const std::string& text, bool threads, std::size_t good = std::string::npos,
           bool counters = false) {
  Found found;
  try {
    Telemetry telemetry = opened(text, good, counters);
    if (!telemetry.facts().has_times() || !telemetry.facts().has_power()) return found;
    if (threads) telemetry.use_threads();
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
    found.skipped = by_cause(telemetry.skipped());
    found.rows = telemetry.rows();
    found.stamps = telemetry.stamps();
    found.naive_stamps = telemetry.naive_stamps();
    found.first_bad_stamp = telemetry.first_bad_stamp();
  } catch (const std::exception& error) {
    found.fault = error.what();
  }
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

TEST(StreamTelemetry, IsTheSameFromTwoThreads) {
  const std::string text = dmon_rows();
  const Found one = read(text, false);
  EXPECT_EQ(one.readings.size(), 8U * 10'800);
  EXPECT_EQ(one.devices.size(), 8U);
  EXPECT_EQ(one.rows, 8U * 10'800);
  EXPECT_TRUE(one == read(text, true));
  const std::size_t half = text.size() / 2;
  EXPECT_TRUE(read(text.substr(0, half), false) == read(text.substr(0, half), true));
}

TEST(StreamTelemetry, BreaksOffTheSameFromTwoThreads) {
  const std::string text = dmon_rows();
  for (const std::size_t good : {text.size() / 2, text.size() / 3 * 2, std::size_t{70'000}}) {
    const Found one = read(text, false, good);
    EXPECT_EQ(one.fault, FileError("a.txt", "read", EIO).what());
    EXPECT_GT(one.readings.size(), 1'000U);
    EXPECT_TRUE(one == read(text, true, good)) << good;
  }
}

TEST(StreamTelemetry, EndsItsThreadIfNobodyWantsMore) {
  Telemetry telemetry = opened(dmon_rows(), std::string::npos, false);
  telemetry.use_threads();
  const auto refuse = [](std::span<const Reading>) { throw std::runtime_error("no more"); };
  EXPECT_THROW(telemetry.read(refuse), std::runtime_error);
}

TEST(StreamTelemetry, OfEveryFormIsTheSameFromTwoThreads) {
  int with_readings = 0;
  for (const char* const folder : {"telemetry", "telemetry-written"}) {
    for (const auto& file : fs::recursive_directory_iterator(test::testdata(folder))) {
      if (!file.is_regular_file()) continue;
      std::ifstream stream(file.path(), std::ios::binary);
      const std::string text(std::istreambuf_iterator<char>(stream), {});
      for (const bool counters : {false, true}) {
        const Found one = read(text, false, std::string::npos, counters);
        with_readings += one.readings.empty() ? 0 : 1;
        EXPECT_TRUE(one == read(text, true, std::string::npos, counters)) << file.path();
      }
    }
  }
  EXPECT_GT(with_readings, 30);
}

// ---- Pairs, of which all but the first of a series are read as they come.

using Pairs = std::vector<std::array<double, 3>>;  // kind, time, watts

Pairs matrix_readings(const std::string& values) {
  const std::string text =
      R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"DCGM_FI_DEV_POWER_USAGE","gpu":"0"},"values":[)" +
      values + "]}]}}";
  Pairs pairs;
  for (const auto& [kind, unix_s, watts, device] : read(text, false).readings) {
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

}  // namespace
}  // namespace aggregate_power
