// Recordings of other forms than CSV tables, whole or broken.
#include "recorders/stream_telemetry.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <memory>
#include <span>
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
  std::string fault;
};

Found read(const std::string& text, std::size_t good = std::string::npos) {
  Found found;
  Telemetry telemetry = open_telemetry(std::make_unique<EndingSource>(text, good),
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

}  // namespace
}  // namespace aggregate_power
