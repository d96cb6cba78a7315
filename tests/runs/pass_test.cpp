// Several analyses of one recording, in and out of order.
#include "runs/pass.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files/file.h"
#include "energy/integrate.h"
#include "energy/state_mean.h"
#include "runs/measurement.h"
#include "test_util.h"

namespace aggregate_power {
namespace pass_test {

using test::Folder;
using test::put;
using Stamps = std::vector<double>;

const std::string kHeader = "timestamp,gpu,power_w\n";
constexpr double kStart = 1777118400;

std::string rows(const Stamps& seconds) {
  std::string text = kHeader;
  for (const double second : seconds) text += fmt::format("{},0,5\n", kStart + second);
  return text;
}

// Notes what it gets, in seconds from kStart.
class Witness final : public Analysis {
 public:
  explicit Witness(Wants wants, std::function<void()> when_starting_over = {})
      : wants_(wants), when_starting_over_(std::move(when_starting_over)) {}

  Wants wants() const override { return wants_; }
  void take(std::span<const Reading> readings) override {
    for (const Reading& reading : readings) seen.push_back(reading.unix_s - kStart);
  }
  bool out_of_order() const override {
    return wants_.order != Order::any && !std::ranges::is_sorted(seen);
  }
  void start_over() override {
    ++starts_over;
    seen.clear();
    if (when_starting_over_) when_starting_over_();
  }

  Stamps seen;
  int starts_over = 0;

 private:
  Wants wants_;
  std::function<void()> when_starting_over_;
};

constexpr Window between(double first, double last) { return {kStart + first, kStart + last}; }

class PassesTest : public testing::Test {
 protected:
  Recording record(const std::string& text) {
    put(folder_ / "a.csv", text);
    return Recording(folder_ / "a.csv", Zone::fixed(0), {});
  }
  Folder folder_;
};

using Order = Analysis::Order;

TEST_F(PassesTest, GiveAllReadingsToAllAnalysesAtOnce) {
  const Recording recording = record(rows({1, 2, 3}));
  Passes passes(false);
  const Witness& any = passes.add(Witness({}));
  const Witness& sorted = passes.add(Witness({.order = Order::by_time, .window = between(2, 2)}));
  Telemetry telemetry = recording.open();
  passes.read(recording, telemetry);
  EXPECT_EQ(any.seen, (Stamps{1, 2, 3}));
  EXPECT_EQ(sorted.seen, (Stamps{1, 2, 3})) << "it looks after its window itself";
  EXPECT_EQ(sorted.starts_over, 0);
}

TEST_F(PassesTest, SortForThoseThatFindDisorder) {
  const Recording recording = record(rows({3, 1, 2, 5, 4}));
  Passes passes(false);
  const Witness& any = passes.add(Witness({}));
  const Witness& sorted = passes.add(Witness({.order = Order::by_time, .window = between(2, 4)}));
  Telemetry telemetry = recording.open();
  passes.read(recording, telemetry);
  EXPECT_EQ(any.seen, (Stamps{3, 1, 2, 5, 4})) << "once, as the file has them";
  EXPECT_EQ(any.starts_over, 0);
  EXPECT_EQ(sorted.seen, (Stamps{2, 3, 4}));
  EXPECT_EQ(sorted.starts_over, 1);
}

TEST_F(PassesTest, SortOnceForAllThatWantTheSameOrder) {
  // 2.0004 and 2.0001 are of one millisecond.
  const Recording recording = record(rows({3, 2.0004, 2.0001, 5, 4}));
  Passes passes(false);
  const Witness& early = passes.add(Witness({.order = Order::by_time, .window = between(2, 3)}));
  const Witness& rounded = passes.add(Witness({.order = Order::by_rounded_time}));
  const Witness& late = passes.add(Witness({.order = Order::by_time, .window = between(4, 4)}));
  Telemetry telemetry = recording.open();
  passes.read(recording, telemetry);
  const auto in_ms = [](const Witness& witness) {
    std::vector<int> found;
    for (const double second : witness.seen) {
      found.push_back(static_cast<int>(std::lround(second * 10'000)));
    }
    return found;
  };
  EXPECT_EQ(in_ms(early), (std::vector<int>{20'001, 20'004, 30'000, 40'000}));
  EXPECT_EQ(early.seen, late.seen) << "both windows, and what is between them";
  EXPECT_EQ(in_ms(rounded), (std::vector<int>{20'004, 20'001, 30'000, 40'000, 50'000}));
}

TEST_F(PassesTest, ConcludeInTheOrderOfAdding) {
  const Recording recording = record(rows({1, 2}));
  Passes passes(false);
  std::vector<std::string> said;
  passes.add(Witness({}), [&](Witness& witness, const Telemetry& telemetry) {
    said.push_back(fmt::format("{} of {}", witness.seen.size(), telemetry.rows()));
  });
  passes.add(Witness({}), [&](Witness&, const Telemetry& telemetry) {
    said.push_back(telemetry.devices().at(0));
  });
  Telemetry telemetry = recording.open();
  passes.read(recording, telemetry);
  EXPECT_TRUE(said.empty());
  passes.conclude(telemetry);
  EXPECT_EQ(said, (std::vector<std::string>{"2 of 2", "0"}));
}

// As a recorder that went on to write over its file would.
TEST_F(PassesTest, NoticeAFileThatChangesBetweenPasses) {
  const Recording recording = record(rows({2, 1, 3}));
  Passes passes(false);
  passes.add(Witness({.order = Order::by_time}, [&] {
    std::fstream(folder_ / "a.csv", std::ios::in | std::ios::out) << kHeader << "yesterday ";
  }));
  Telemetry telemetry = recording.open();
  try {
    passes.read(recording, telemetry);
    FAIL() << "nothing was noticed";
  } catch (const FileError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        FileError(folder_ / "a.csv", "read it twice: it was changed in between", EBUSY).what());
  }
}

const std::string kStates =
    "timestamp, index, power.draw [W], temperature.gpu, utilization.gpu [%]\n"
    "2026/04/25 12:00:04.000, 0, 5 W, 60, 90 %\n"
    "2026/04/25 12:00:00.000, 0, 5 W, 40, 70 %\n"
    "2026/04/25 12:00:02.000, 0, 5 W, 50, [N/A]\n";

TEST_F(PassesTest, ReadStatesForThoseThatWantThem) {
  const Recording recording = record(kStates);
  Passes passes(false);
  std::optional<StateSummary> temperature;
  std::optional<StateSummary> utilization;
  const Witness& any = passes.add(Witness({}));
  for (const auto& [quantity, found] : {std::pair(GpuQuantity::temperature_c, &temperature),
                                        std::pair(GpuQuantity::utilization_pct, &utilization)}) {
    passes.add(StateMean(quantity, between(0, 4), 5),
               [found = found](StateMean& mean, const Telemetry& telemetry) {
                 *found = mean.finish(telemetry.devices());
               });
  }
  Telemetry telemetry = recording.open();
  passes.read(recording, telemetry);
  passes.conclude(telemetry);
  EXPECT_EQ(any.seen.size(), 3u);
  ASSERT_TRUE(temperature && utilization);
  EXPECT_DOUBLE_EQ(temperature->mean, 50) << "40 rising to 60, though the last comes first";
  EXPECT_DOUBLE_EQ(utilization->mean, 80);
}

// Large enough for threads.
TEST_F(PassesTest, FindTheSameWithThreads) {
  std::string text = "timestamp,gpu,power_w,note\n";
  const std::string note(200, 'x');
  const int seconds = 5000;
  for (int second = 0; second < seconds; ++second) {
    for (int gpu = 0; gpu < 8; ++gpu) {
      // One row of the last is late.
      const int late = second == 4000 && gpu == 7 ? 30 : 0;
      text += fmt::format("{},{},{},{}\n", kStart + second - late, gpu,
                          100 + (second * 7 + gpu) % 500, note);
    }
  }
  const Recording recording = record(text);
  ASSERT_GT(recording.bytes(), 8'000'000u);
  const auto energy = [&](bool may_use_threads, int schema_version) {
    MeasurementRequest request;
    request.schema_version = schema_version;
    request.may_use_threads = may_use_threads;
    Load load;
    load.window = between(10, seconds - 10);
    const Measurement found = measure(request, recording, load);
    EXPECT_TRUE(found.integration.reasons.empty()) << found.integration.reasons.text();
    if (schema_version == 1) return found.mean_power.value().avg_power_w;
    return found.integration.total_gpu_energy_j.value();
  };
  for (const int schema_version : {1, 2}) {
    EXPECT_EQ(energy(true, schema_version), energy(false, schema_version));
  }
}

}  // namespace pass_test
}  // namespace aggregate_power
