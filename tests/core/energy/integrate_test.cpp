// Energy over a window: contract.md B.3 and B.4, golden.md sections 1 and 6.
#include "core/energy/integrate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files/file.h"
#include "core/telemetry/device_names.h"
#include "recorders/recorder_table.h"
#include "test_util.h"

namespace aggregate_power {
namespace integrate_test {

using Kind = Reading::Kind;
using Codes = std::vector<std::string>;
using Names = std::vector<std::string>;
using Samples = std::vector<Sample>;

// ---- One device.

DeviceEnergy integrate(const Samples& samples, Window window) {
  DeviceIntegrator integrator(window);
  for (const Sample& sample : samples) {
    EXPECT_FALSE(integrator.is_behind(sample.unix_s)) << sample.unix_s;
    integrator.add(sample.unix_s, sample.watts);
  }
  return integrator.finish();
}

// 100 W rising to 300 W over two seconds, then flat for two more.
const Samples kRamp = {{0, 100}, {2, 300}, {4, 300}};

Samples each_second(std::vector<double> watts) {
  Samples samples;
  for (std::size_t i = 0; i < watts.size(); ++i)
    samples.push_back({static_cast<double>(i), watts[i]});
  return samples;
}

TEST(DeviceIntegrator, CountsSamplesThatNoBoardDraws) {
  // From the last sample at or before the start to the first at or after the end.
  const Samples samples = each_second({9000, 300, 3001, 3000, 5000, 300, 8000, 9000});
  const DeviceEnergy energy = integrate(samples, {1.5, 5.5});
  EXPECT_EQ(energy.absurd_samples, 3U);  // 3001, 5000 and 8000, which the end is interpolated to
  EXPECT_EQ(energy.highest_w, 8000);
  EXPECT_EQ(energy.highest_unix_s, 6);
  EXPECT_EQ(integrate(samples, {0.5, 1.5}).highest_unix_s, 0);
  EXPECT_EQ(integrate(samples, {1, 1.9}).absurd_samples, 1U);
}

TEST(DeviceIntegrator, CountsZerosBetweenSamplesOfAGpuThatIsOn) {
  const struct {
    std::vector<double> watts;
    std::uint64_t zeros;
  } cases[] = {
      {{300, 300, 0, 300, 300}, 1},  {{300, 0, 0, 0, 300}, 3}, {{300, 0, 0, 0, 0, 300}, 0},
      {{10, 0, 300, 300}, 0},        {{300, 0, 10, 300}, 0},   {{0, 0, 0}, 0},
      {{300, 0, 300, 0, 0, 300}, 3}, {{300, 300, 0}, 0},       {{300, 300, 300}, 0},
  };
  for (const auto& c : cases) {
    const double end = static_cast<double>(c.watts.size()) - 1;
    EXPECT_EQ(integrate(each_second(c.watts), {0, end}).lone_zeros, c.zeros) << c.watts.size();
  }
}

TEST(DeviceIntegrator, ReadsTheEdgesOffTheLineBetweenSamples) {
  const struct {
    Window window;
    double energy_j;
  } cases[] = {
      {{0, 4}, 200 * 2 + 300 * 2},  // its own samples
      {{1, 3}, 250 * 1 + 300 * 1},  // 200 to 300 W, then 300 W
      {{0, 2}, 200 * 2},           {{2, 4}, 300 * 2},
      {{0.5, 1.5}, 200 * 1},  // within one interval: 150 to 250 W
      {{0, 0.5}, 125 * 0.5},  // 100 to 150 W
      {{3, 3.5}, 300 * 0.5},       {{1.5, 2.5}, 275 * 0.5 + 300 * 0.5},  // around a sample
      {{2, 3}, 300 * 1},           {{1, 2}, 250 * 1},
  };
  for (const auto& c : cases) {
    const DeviceEnergy energy = integrate(kRamp, c.window);
    EXPECT_TRUE(energy.bracketed);
    EXPECT_DOUBLE_EQ(energy.energy_j, c.energy_j)
        << c.window.start_unix_s << " to " << c.window.end_unix_s;
    EXPECT_EQ(energy.samples, 3u);
    EXPECT_EQ(energy.first_unix_s, 0);
    EXPECT_EQ(energy.last_unix_s, 4);
  }
}

TEST(DeviceIntegrator, IsNothingWhenTheSamplesStopShortOfAnEdge) {
  const struct {
    Samples samples;
    Window window;
    bool bracketed;
  } cases[] = {
      {kRamp, {1, 5}, false},
      {kRamp, {-1, 3}, false},
      {kRamp, {-1, 5}, false},
      {kRamp, {5, 6}, false},
      {kRamp, {-3, -1}, false},
      {kRamp, {0, 4}, true},
      {kRamp, {0, 4.0000001}, false},
      {{}, {0, 1}, false},
      {{{0, 100}}, {0, 1}, false},
      {{{0.5, 100}}, {0, 1}, false},
      {{{0, 100}, {0, 100}}, {0, 1}, false},
      {{{0, 1}, {1, 1}}, {0, 1}, true},
  };
  for (const auto& c : cases) {
    const DeviceEnergy energy = integrate(c.samples, c.window);
    EXPECT_EQ(energy.bracketed, c.bracketed) << c.window.start_unix_s << " " << c.window.end_unix_s;
    if (!c.bracketed) {
      EXPECT_EQ(energy.energy_j, 0);
      EXPECT_EQ(energy.max_sample_gap_s, 0);
    }
  }
}

TEST(DeviceIntegrator, FindsTheLargestGapAroundTheWindow) {
  // The window is 10 to 20. Gaps count from the last sample at or before 10 to the first at or
  // after 20.
  const struct {
    const char* what;
    std::vector<double> stamps;
    double gap_s;
  } cases[] = {
      {"even", {8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21}, 1},
      {"before it does not count", {0, 9.5, 11, 13, 15, 17, 19, 20.5}, 2},
      {"behind it does not count", {9.5, 11, 13, 15, 17, 19, 20.5, 40}, 2},
      {"on the edge, before", {0, 10, 12, 14, 16, 18, 20}, 2},
      {"on the edge, behind", {10, 12, 14, 16, 18, 20, 99}, 2},
      {"across the start", {6, 11, 13, 15, 17, 19, 20}, 5},
      {"across the end", {10, 12, 14, 16, 19, 26}, 7},
      {"across both", {7, 24}, 17},
      {"inside", {10, 11, 18, 20}, 7},
      {"the last one at or before", {3, 8, 9, 12, 15, 18, 20}, 3},
      {"many of one stamp", {10, 10, 10, 14, 14, 20}, 6},
  };
  for (const auto& c : cases) {
    Samples samples;
    for (const double stamp : c.stamps) samples.push_back({stamp, 100});
    const DeviceEnergy energy = integrate(samples, {10, 20});
    EXPECT_TRUE(energy.bracketed) << c.what;
    EXPECT_EQ(energy.max_sample_gap_s, c.gap_s) << c.what;
    EXPECT_DOUBLE_EQ(energy.energy_j, 1000) << c.what;
  }
}

TEST(DeviceIntegrator, AveragesReadingsOfOneStampExactly) {
  // 100 W at 0; 0.1, 0.2 and 0.3 W at 1, which a plain sum averages to 0.20000000000000004.
  const DeviceEnergy energy = integrate({{0, 100}, {1, 0.1}, {1, 0.2}, {1, 0.3}, {2, 0.2}}, {1, 2});
  EXPECT_EQ(energy.energy_j, 0.2);
  EXPECT_EQ(energy.samples, 3u);
  // At the first and the last stamp too.
  EXPECT_DOUBLE_EQ(integrate({{0, 100}, {0, 300}, {2, 500}, {2, 100}}, {0, 2}).energy_j, 250 * 2);
}

TEST(DeviceIntegrator, TakesASampleWithinANanosecondForTheEdge) {
  // B.4: the first sample at or behind an edge counts as it is when it is at most 1e-9 s off.
  const double ns = 1e-9;
  EXPECT_EQ(integrate({{-1, 0}, {0.5 * ns, 100}, {1, 100}}, {0, 1}).energy_j,
            (0.5 * ns - 0) * (100.0 + 100.0) / 2.0 + (1 - 0.5 * ns) * (100.0 + 100.0) / 2.0);
  // 2e-9 s behind the edge it is read off the line: (2e-9 / (1 + 2e-9)) below 100 W.
  const double fraction = (0.0 + 1) / (2 * ns + 1);
  EXPECT_EQ(integrate({{-1, 0}, {2 * ns, 100}, {1, 100}}, {0, 1}).energy_j,
            (2 * ns) * (fraction * 100 + 100.0) / 2.0 + (1 - 2 * ns) * (100.0 + 100.0) / 2.0);
}

TEST(DeviceIntegrator, SaysWhenStampsGoBack) {
  DeviceIntegrator integrator({0, 10});
  EXPECT_FALSE(integrator.is_behind(1));
  integrator.add(1, 100);
  EXPECT_FALSE(integrator.is_behind(1));
  integrator.add(2, 100);
  EXPECT_TRUE(integrator.is_behind(1.999));
}

// Contract.md B.4, step by step, for samples in any order and with stamps that repeat.
struct Plain {
  bool bracketed = false;
  double energy_j = 0;
  double gap_s = 0;
  std::size_t samples = 0;
};

Plain integrate_plainly(const Samples& samples, Window window) {
  std::map<double, std::vector<double>> by_stamp;
  for (const Sample& sample : samples) by_stamp[sample.unix_s].push_back(sample.watts);
  Samples line;
  for (const auto& [stamp, watts] : by_stamp) {
    double sum = 0;  // of few numbers that a double holds exactly: the tests see to it
    for (const double w : watts) sum += w;
    line.push_back({stamp, sum / static_cast<double>(watts.size())});
  }
  Plain result;
  result.samples = line.size();
  if (line.size() < 2 || line.front().unix_s > window.start_unix_s ||
      line.back().unix_s < window.end_unix_s) {
    return result;
  }
  result.bracketed = true;
  std::size_t left = 0;
  while (left + 1 < line.size() && line[left + 1].unix_s <= window.start_unix_s) ++left;
  std::size_t right = 0;
  while (line[right].unix_s < window.end_unix_s) ++right;
  for (std::size_t i = left + 1; i <= right; ++i) {
    result.gap_s = std::max(result.gap_s, line[i].unix_s - line[i - 1].unix_s);
  }
  const auto watts_at = [&](double t) {
    std::size_t i = 0;
    while (line[i].unix_s < t) ++i;
    if (std::abs(line[i].unix_s - t) <= 1e-9) return line[i].watts;
    const double t0 = line[i - 1].unix_s;
    const double p0 = line[i - 1].watts;
    return p0 + ((t - t0) / (line[i].unix_s - t0)) * (line[i].watts - p0);
  };
  Samples points = {{window.start_unix_s, watts_at(window.start_unix_s)}};
  for (const Sample& sample : line) {
    if (sample.unix_s > window.start_unix_s && sample.unix_s < window.end_unix_s) {
      points.push_back(sample);
    }
  }
  points.push_back({window.end_unix_s, watts_at(window.end_unix_s)});
  for (std::size_t i = 1; i < points.size(); ++i) {
    result.energy_j +=
        (points[i].unix_s - points[i - 1].unix_s) * (points[i - 1].watts + points[i].watts) / 2.0;
  }
  return result;
}

// A walk with steps, plateaus, repeated stamps and gaps. Watts are multiples of 1/4 below 2048, so
// that means of two and four are exact.
Samples generated_trace(test::Dice& dice, double start_unix_s) {
  Samples samples;
  double unix_s = start_unix_s;
  double watts = 0.25 * static_cast<double>(dice.below(4000));
  for (std::size_t i = 0; i < 2 + dice.below(60); ++i) {
    if (dice.one_in(3)) watts = 0.25 * static_cast<double>(dice.below(4000));
    const std::size_t copies = dice.one_in(8) ? std::size_t{2} << dice.below(2) : 1;
    for (std::size_t j = 0; j < copies; ++j) {
      samples.push_back({unix_s, j == 0 ? watts : 0.25 * static_cast<double>(dice.below(4000))});
    }
    unix_s +=
        dice.one_in(10) ? 3 * dice.fraction() : 0.001 * static_cast<double>(1 + dice.below(999));
  }
  return samples;
}

Window generated_window(test::Dice& dice, const Samples& samples) {
  const double first = samples.front().unix_s;
  const double span = samples.back().unix_s - first;
  // Often just on a sample.
  const auto edge = [&] {
    return dice.one_in(3) ? samples[dice.below(samples.size())].unix_s
                          : first + span * (1.2 * dice.fraction() - 0.1);
  };
  double a = edge();
  double b = edge();
  if (a > b) std::swap(a, b);
  if (a == b) b = a + 0.25;
  return {a, b};
}

TEST(DeviceIntegrator, AgreesToTheLastBitWithTheContractOnGeneratedTraces) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  int bracketed = 0;
  for (int round = 0; round < 20000; ++round) {
    const Samples samples = generated_trace(dice, dice.one_in(2) ? 0 : 1777118400.0);
    const Window window = generated_window(dice, samples);
    const Plain plain = integrate_plainly(samples, window);
    const DeviceEnergy energy = integrate(samples, window);
    ASSERT_EQ(energy.bracketed, plain.bracketed) << "TEST_SEED=" << seed << ", round " << round;
    ASSERT_EQ(energy.energy_j, plain.energy_j) << "TEST_SEED=" << seed << ", round " << round;
    ASSERT_EQ(energy.max_sample_gap_s, plain.gap_s) << "TEST_SEED=" << seed << ", round " << round;
    ASSERT_EQ(energy.samples, plain.samples) << "TEST_SEED=" << seed << ", round " << round;
    bracketed += plain.bracketed ? 1 : 0;
  }
  EXPECT_GT(bracketed, 4000);
}

// Takes rows as a run does.
class RowIntegrator {
 public:
  explicit RowIntegrator(const IntegrationOptions& options)
      : options_(options), rows_(options), integrator_(options) {}

  void take(std::span<const Reading> readings) {
    rows_.take(readings);
    take_again(readings);
  }
  // Of rows that were taken before.
  void take_again(std::span<const Reading> readings) { samples_.take(readings); }
  void integrate() {
    samples_.sort();
    integrator_.take(samples_);
    samples_.clear();
  }
  bool out_of_order() {
    integrate();
    return integrator_.is_out_of_order();
  }
  void start_over() { integrator_.start_over(); }
  Integration finish(const Names& names) {
    integrate();
    return integrator_.finish(rows_, names);
  }
  Integration abandon(Reason reason, const std::string& detail) const {
    return abandoned(options_, rows_, reason, detail, Names{"0", "1"});
  }

 private:
  IntegrationOptions options_;
  WindowRows rows_;
  PowerIntegrator integrator_;
  aggregate_power::Samples samples_{kAlways};
};

void expect_same_at_once_as_one_by_one(const std::vector<Reading>& readings,
                                       const IntegrationOptions& options, std::uint64_t seed) {
  RowIntegrator together(options);
  RowIntegrator apart(options);
  together.take(readings);
  EXPECT_FALSE(together.out_of_order());
  for (const Reading& reading : readings) {
    apart.take({&reading, 1});
    apart.integrate();
  }
  if (apart.out_of_order()) return;
  const std::vector<std::string> names = {"0", "1", "2", "3", "4"};
  const Integration a = together.finish(names);
  const Integration b = apart.finish(names);
  ASSERT_EQ(a.total_gpu_energy_j, b.total_gpu_energy_j) << "TEST_SEED=" << seed;
  ASSERT_EQ(a.gpus.size(), b.gpus.size()) << "TEST_SEED=" << seed;
  for (std::size_t i = 0; i < a.gpus.size(); ++i) {
    ASSERT_EQ(a.gpus[i].energy_j, b.gpus[i].energy_j) << "TEST_SEED=" << seed;
    ASSERT_EQ(a.gpus[i].samples, b.gpus[i].samples) << "TEST_SEED=" << seed;
    ASSERT_EQ(a.gpus[i].absurd_samples, b.gpus[i].absurd_samples) << "TEST_SEED=" << seed;
    ASSERT_EQ(a.gpus[i].lone_zeros, b.gpus[i].lone_zeros) << "TEST_SEED=" << seed;
    ASSERT_EQ(a.gpus[i].max_sample_gap_s, b.gpus[i].max_sample_gap_s) << "TEST_SEED=" << seed;
  }
  ASSERT_EQ(a.reasons.codes(), b.reasons.codes()) << "TEST_SEED=" << seed;
}

void spoil_now_and_then(Reading& reading, std::uint64_t rarely, test::Dice& dice) {
  if (dice.one_in(3 * rarely)) reading.kind = Reading::Kind::no_power;
  if (dice.one_in(rarely)) reading.watts = dice.one_in(2) ? 0 : 1e6;
  if (dice.one_in(10 * rarely)) reading.kind = Reading::Kind::bad_timestamp;
  if (dice.one_in(10 * rarely)) reading.unix_s -= dice.one_in(2) ? 1 : 20;
  if (dice.one_in(5 * rarely)) reading.device = static_cast<std::uint32_t>(dice.below(3));
}

// Readings of one device in a row are taken together.
TEST(PowerIntegrator, TakesReadingsInARowAsOneByOne) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Reading> readings;
    const Samples first = generated_trace(dice, 1777118400.0);
    IntegrationOptions options;
    options.window = generated_window(dice, first);
    for (std::uint32_t device = 0; device < 3; ++device) {
      for (const Sample& sample : device == 0 ? first : generated_trace(dice, 1777118400.0)) {
        readings.push_back({sample.unix_s, sample.watts, device, Reading::Kind::power});
        spoil_now_and_then(readings.back(), 10, dice);
      }
    }
    expect_same_at_once_as_one_by_one(readings, options, seed);
  }
}

// So are those of all devices that a recorder polls in turn.
TEST(PowerIntegrator, TakesRoundsAsOneByOne) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  for (int round = 0; round < 1000; ++round) {
    const auto devices = static_cast<std::uint32_t>(1 + dice.below(5));
    const std::uint64_t rarely = dice.one_in(2) ? 1000 : 100;
    const double apart_s = dice.one_in(2) ? 0 : 0.01;
    const double step_s = dice.one_in(20) ? 0.01 : 0.1;
    std::vector<Reading> readings;
    for (int i = 0; i < 400; ++i) {
      for (std::uint32_t device = 0; device < devices; ++device) {
        readings.push_back({1777118400.0 + i * step_s + device * apart_s,
                            300 + static_cast<double>(dice.below(5000)) / 64, device,
                            Reading::Kind::power});
        spoil_now_and_then(readings.back(), rarely, dice);
      }
    }
    IntegrationOptions options;
    options.window.start_unix_s = 1777118400.0 + static_cast<double>(dice.below(20));
    options.window.end_unix_s =
        options.window.start_unix_s + 1 + static_cast<double>(dice.below(20));
    expect_same_at_once_as_one_by_one(readings, options, seed);
  }
}

// Watts read off the line at the middle of each of very many slices.
double grid_energy_j(const Samples& line, Window window) {
  constexpr int kSlices = 20000;
  const double width_s = window.duration_s() / kSlices;
  double sum = 0;
  std::size_t right = 1;
  for (int i = 0; i < kSlices; ++i) {
    const double t = window.start_unix_s + (i + 0.5) * width_s;
    while (right + 1 < line.size() && line[right].unix_s < t) ++right;
    const Sample& a = line[right - 1];
    const Sample& b = line[right];
    sum += a.watts + (t - a.unix_s) / (b.unix_s - a.unix_s) * (b.watts - a.watts);
  }
  return sum * width_s;
}

TEST(DeviceIntegrator, AgreesWithASlowSumOverAFineGrid) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  for (int round = 0; round < 100; ++round) {
    Samples samples = generated_trace(dice, 1000);
    samples.erase(
        std::unique(samples.begin(), samples.end(),
                    [](const Sample& a, const Sample& b) { return a.unix_s == b.unix_s; }),
        samples.end());
    const double first = samples.front().unix_s;
    const double span = samples.back().unix_s - first;
    const Window window = {first + 0.4 * span * dice.fraction(),
                           first + span * (1 - 0.4 * dice.fraction())};
    const DeviceEnergy energy = integrate(samples, window);
    ASSERT_TRUE(energy.bracketed);
    // A slice errs by at most a quarter of its width times the jump of the slope in it.
    ASSERT_NEAR(energy.energy_j, grid_energy_j(samples, window),
                1e-5 * 1000 * window.duration_s() + 1e-4)
        << "TEST_SEED=" << seed << ", round " << round;
  }
}

// ---- All devices of a file.

std::vector<Reading> readings_of(std::uint32_t device, const Samples& samples) {
  std::vector<Reading> readings;
  for (const Sample& sample : samples) readings.push_back({sample.unix_s, sample.watts, device});
  return readings;
}

std::vector<Reading> joined(const std::vector<std::vector<Reading>>& parts) {
  std::vector<Reading> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Once a second from `from` to `to`.
Samples steady(double watts, double from, double to) {
  Samples samples;
  for (double t = from; t <= to; ++t) samples.push_back({t, watts});
  return samples;
}

Integration integrate_all(const std::vector<Reading>& readings, const IntegrationOptions& options,
                          const Names& names) {
  RowIntegrator integrator(options);
  integrator.take(std::span(readings).first(readings.size() / 2));
  integrator.take(std::span(readings).subspan(readings.size() / 2));
  EXPECT_FALSE(integrator.out_of_order());
  return integrator.finish(names);
}

constexpr Window kWindow = {100, 110};
const Names kNames = {"0", "1", "2", "3", "4", "5", "6", "7"};

IntegrationOptions expecting(std::optional<std::int64_t> gpus, Window window = kWindow) {
  return {.window = window, .expected_num_gpus = gpus};
}

TEST(PowerIntegrator, AddsUpTheDevices) {
  const Integration result = integrate_all(
      joined({readings_of(0, steady(500, 98, 112)), readings_of(1, steady(300, 98, 112))}),
      expecting(2), kNames);
  EXPECT_TRUE(result.reasons.empty()) << result.reasons.text();
  EXPECT_EQ(result.gpu_ids, (Names{"0", "1"}));
  EXPECT_EQ(result.gpus[0].energy_j, 5000);
  EXPECT_EQ(result.gpus[1].energy_j, 3000);
  EXPECT_EQ(result.total_gpu_energy_j, 8000);
  EXPECT_EQ(result.avg_total_gpu_power_w, 800);
  EXPECT_EQ(result.avg_power_w, 400);
  EXPECT_EQ(result.expected_num_gpus, 2);
  EXPECT_EQ(result.gpus[0].max_sample_gap_s, 1);
  EXPECT_EQ(result.issues, (std::vector<std::optional<Reason>>{std::nullopt, std::nullopt}));
}

// golden.md section 1.
TEST(PowerIntegrator, AgreesWithTheGoldenB200Fragment) {
  const struct {
    Window window;
    double energy_j;
    double avg_power_w;
  } cases[] = {
      {{1788852019.279, 1788852021.279}, 5597.900, 349.86875},
      {{1788852019.529, 1788852021.029}, 4165.455, 347.12125},
  };
  for (const auto& c : cases) {
    Telemetry telemetry = open_telemetry(
        open_source(test::testdata("telemetry/nvidia-smi/inferencex-b200-fragment.csv")),
        {Zone::parse("UTC")});
    RowIntegrator integrator(expecting(8, c.window));
    telemetry.read([&](std::span<const Reading> readings) { integrator.take(readings); });
    const Integration result = integrator.finish(telemetry.devices());
    EXPECT_TRUE(result.reasons.empty()) << result.reasons.text();
    ASSERT_TRUE(result.total_gpu_energy_j && result.avg_power_w);
    EXPECT_EQ(result.gpu_ids, kNames);
    // Stamps are good to 2.4e-7 s, at about 2800 W.
    EXPECT_NEAR(*result.total_gpu_energy_j, c.energy_j, 2e-3);
    EXPECT_NEAR(*result.avg_power_w, c.avg_power_w, 1e-6);
  }
}

// golden.md section 1: two samples, 500 W, 2 s.
TEST(PowerIntegrator, AgreesWithTheSmallestGolden) {
  Telemetry telemetry = open_telemetry(
      open_source(test::testdata("telemetry/nvidia-smi/inferencex-two-samples-500w.csv")),
      {Zone::parse("UTC")});
  // 2023/11/14 22:13:20 UTC.
  RowIntegrator integrator(expecting(1, {1700000000, 1700000002}));
  telemetry.read([&](std::span<const Reading> readings) { integrator.take(readings); });
  const Integration result = integrator.finish(telemetry.devices());
  EXPECT_TRUE(result.reasons.empty()) << result.reasons.text();
  EXPECT_EQ(result.total_gpu_energy_j, 1000);
}

// golden.md section 3: a Zeus monitor's file, in milliwatts and nanoseconds, as that recorder
// writes.
TEST(PowerIntegrator, AgreesWithTheGoldenZeusSample) {
  Telemetry telemetry = open_telemetry(
      open_source(test::testdata("telemetry/zeus/zeus-monitor-sample.csv")), {Zone::parse("UTC")});
  Samples samples;
  telemetry.read([&](std::span<const Reading> readings) {
    for (const Reading& reading : readings) samples.push_back({reading.unix_s, reading.watts});
  });
  ASSERT_EQ(samples.size(), 19u);
  const auto energy_j = [&] {
    const Window whole = {samples.front().unix_s, samples.back().unix_s};
    return integrate(samples, whole).energy_j;
  };
  EXPECT_NEAR(samples.back().unix_s - samples.front().unix_s, 0.958482, 2e-6);
  EXPECT_NEAR(energy_j(), 31.00416, 1e-5);
  samples.pop_back();
  EXPECT_NEAR(samples.back().unix_s - samples.front().unix_s, 0.904210, 2e-6);
  EXPECT_NEAR(energy_j(), 29.25102, 1e-5);
}

// golden.md section 6.
TEST(PowerIntegrator, AgreesWithTheGoldenStraightLines) {
  // 120 and 220 W at the start, both rising 20 W/s: 10 s x 220 W, 10 s x 320 W.
  const auto line = [](double watts, const std::vector<double>& stamps) {
    Samples samples;
    for (const double t : stamps) samples.push_back({t, watts + 20 * (t - kWindow.start_unix_s)});
    return samples;
  };
  const Integration result = integrate_all(
      joined({readings_of(0, line(120, {98.5, 101, 103.25, 105.5, 107.75, 110.25})),
              readings_of(1, line(220, {97.75, 100.25, 102.5, 104.5, 107, 109.25, 111.5}))}),
      expecting(2), kNames);
  EXPECT_TRUE(result.reasons.empty()) << result.reasons.text();
  EXPECT_DOUBLE_EQ(result.gpus[0].energy_j, 2200);
  EXPECT_DOUBLE_EQ(result.gpus[1].energy_j, 3200);
  EXPECT_DOUBLE_EQ(*result.avg_total_gpu_power_w, 540);
  EXPECT_DOUBLE_EQ(*result.avg_power_w, 270);
}

TEST(PowerIntegrator, AgreesWithTheGoldenWholeRun) {
  // 8 GPUs, 600 W through 60 s with a sample on each edge; 100 W before, 200 W behind.
  std::vector<std::vector<Reading>> parts;
  for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
    parts.push_back(readings_of(gpu, steady(100, 950, 999)));
    parts.push_back(readings_of(gpu, steady(600, 1000, 1060)));
    parts.push_back(readings_of(gpu, steady(200, 1061, 1070)));
  }
  const Integration result = integrate_all(joined(parts), expecting(8, {1000, 1060}), kNames);
  EXPECT_EQ(result.total_gpu_energy_j, 288000);
  EXPECT_EQ(result.avg_total_gpu_power_w, 4800);
  EXPECT_EQ(result.avg_power_w, 600);
}

TEST(PowerIntegrator, AgreesWithTheGoldenRunThatIsNotBracketed) {
  // Samples at start + 1 and start + 2 only.
  std::vector<std::vector<Reading>> parts;
  for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
    parts.push_back(readings_of(gpu, {{101, 500}, {102, 500}}));
  }
  const Integration result = integrate_all(joined(parts), expecting(8), kNames);
  EXPECT_EQ(result.reasons.text(),
            "benchmark_window_not_bracketed (GPU 0: first sample 1.000 s after the start)");
  EXPECT_FALSE(result.total_gpu_energy_j || result.avg_power_w || result.avg_total_gpu_power_w);
}

TEST(PowerIntegrator, JudgesEachDevice) {
  const struct {
    const char* what;
    Samples samples;
    std::optional<Reason> issue;
    const char* text;
  } cases[] = {
      {"sound", steady(5, 97, 113), std::nullopt, ""},
      {"one stamp",
       {{105, 1}, {105, 2}},
       Reason::insufficient_power_samples,
       "insufficient_power_samples (GPU 1: 1 sample)"},
      {"late", steady(5, 101, 113), Reason::benchmark_window_not_bracketed,
       "benchmark_window_not_bracketed (GPU 1: first sample 1.000 s after the start)"},
      {"early", steady(5, 97, 108), Reason::benchmark_window_not_bracketed,
       "benchmark_window_not_bracketed (GPU 1: last sample 2.000 s before the end)"},
      {"just bracketed", steady(5, 100, 110), std::nullopt, ""},
      {"a gap of 3 s", {{99, 5}, {102, 5}, {105, 5}, {108, 5}, {111, 5}}, std::nullopt, ""},
      {"a longer one",
       {{99, 5}, {102, 5}, {105.25, 5}, {108, 5}, {111, 5}},
       Reason::sampling_gap_exceeded,
       "sampling_gap_exceeded (GPU 1: 3.250 s, at most 3 s)"},
  };
  for (const auto& c : cases) {
    const Integration result =
        integrate_all(joined({readings_of(0, steady(5, 97, 113)), readings_of(1, c.samples)}),
                      expecting(2), kNames);
    EXPECT_EQ(result.reasons.text(), c.text) << c.what;
    EXPECT_EQ(result.issues, (std::vector<std::optional<Reason>>{std::nullopt, c.issue})) << c.what;
    const bool bracketed = !c.issue || *c.issue == Reason::sampling_gap_exceeded;
    EXPECT_EQ(result.gpus[1].bracketed, bracketed) << c.what;
    EXPECT_EQ(result.total_gpu_energy_j.has_value(), bracketed) << c.what;
    if (bracketed) {
      EXPECT_DOUBLE_EQ(*result.total_gpu_energy_j, 100) << "of a gap too";
    }
  }
}

constexpr std::uint32_t kNone = DeviceNames::kNone;

TEST(PowerIntegrator, LooksOnlyAtTheBandAroundTheWindow) {
  // Three seconds on either side, ends included; whatever is wrong beyond does not matter, but for
  // a stamp that is none.
  const struct {
    const char* what;
    Reading reading;
    Codes codes;
  } cases[] = {
      {"no power, before", {96.9, 0, 0, Kind::no_power}, {}},
      {"no power, at its first instant", {97, 0, 0, Kind::no_power}, {}},
      {"no power, at the window's start", {100, 0, 0, Kind::no_power}, {"invalid_power_sample"}},
      {"no power, inside", {105, 0, 0, Kind::no_power}, {"invalid_power_sample"}},
      {"no power, at the window's end", {110, 0, 0, Kind::no_power}, {"invalid_power_sample"}},
      {"no power, at its last instant", {113, 0, 0, Kind::no_power}, {}},
      {"no power, behind", {113.1, 0, 0, Kind::no_power}, {}},
      {"below zero", {105, -5, 0, Kind::negative_power}, {"invalid_power_sample"}},
      {"below zero, before", {90, -5, 0, Kind::negative_power}, {}},
      {"below zero, just before the window", {99.999, -5, 0, Kind::negative_power}, {}},
      {"nobody's", {105, 5, 0, Kind::no_device}, {"gpu_identity_missing"}},
      {"nobody's, just before the window",
       {99.999, 5, 0, Kind::no_device},
       {"gpu_identity_missing"}},
      {"nobody's 0 W", {105, 0, 0, Kind::no_device}, {"gpu_identity_missing"}},
      {"nobody's 0 W, just after the window", {110.001, 0, kNone, Kind::no_device}, {}},
      {"nobody's, behind", {120, 5, 0, Kind::no_device}, {}},
      {"no stamp", {0, 0, 0, Kind::bad_timestamp}, {"invalid_timestamp_sample"}},
      {"a third device, before", {96, 5, 2, Kind::power}, {}},
      {"a third device",
       {105, 5, 2, Kind::power},
       {"expected_gpu_count_mismatch", "insufficient_power_samples"}},
  };
  for (const auto& c : cases) {
    const Integration result = integrate_all(
        joined(
            {{c.reading}, readings_of(0, steady(5, 90, 120)), readings_of(1, steady(5, 90, 120))}),
        expecting(2), kNames);
    EXPECT_EQ(result.reasons.codes(), c.codes) << c.what;
  }
  // Counts are of the band alone: 97 to 113.
  const Integration result =
      integrate_all(readings_of(0, steady(5, 50, 200)), expecting(1), kNames);
  EXPECT_EQ(result.gpus[0].samples, 17u);
  EXPECT_EQ(result.gpus[0].first_unix_s, 97);
  EXPECT_EQ(result.gpus[0].last_unix_s, 113);
}

// contract-october.md 1.2: a GPU at 500 W whose recording ends with rows of a GPU that is gone.
TEST(PowerIntegrator, TakesNoZeroWattsFromOutsideTheWindow) {
  const Samples until_109 = steady(500, 99, 109);
  const auto with = [&](const Samples& more, double from = 99) {
    std::vector<Reading> readings = readings_of(0, steady(500, from, 109));
    for (const Reading& reading : readings_of(0, more)) readings.push_back(reading);
    return integrate_all(readings, expecting(1), kNames);
  };
  // Bracketed by 0 W at 111 the last second would have a mean of 375 W: 487.5 W over the window.
  const Integration torn_down = with({{111, 0}});
  EXPECT_EQ(
      torn_down.reasons.text(),
      "benchmark_window_not_bracketed (GPU 0: last sample 1.000 s before the end; rows outside "
      "it without power above 0 W: 1)");
  EXPECT_EQ(torn_down.boundary_degenerate_rows, (BoundaryRows::ByName{{"0", 1}}));
  EXPECT_FALSE(torn_down.avg_power_w);

  const Integration sound = with({{110.25, 0}, {110.5, 500}, {111, 0}});
  EXPECT_TRUE(sound.reasons.empty()) << sound.reasons.text();
  EXPECT_EQ(sound.avg_power_w, 500);
  EXPECT_EQ(sound.boundary_degenerate_rows, (BoundaryRows::ByName{{"0", 2}}));
  EXPECT_EQ(sound.gpus[0].samples, until_109.size() + 1);

  const Integration on_the_edge = with({{110, 0}, {111, 0}});
  EXPECT_TRUE(on_the_edge.reasons.empty()) << on_the_edge.reasons.text();
  EXPECT_EQ(on_the_edge.avg_power_w, (9 * 500 + 250) / 10.0) << "0 W at the end is a reading";
  EXPECT_EQ(with({{110.001, 0}}).reasons.codes(), Codes{"benchmark_window_not_bracketed"});
  EXPECT_EQ(with({{110, 500}}, 101).reasons.codes(), Codes{"benchmark_window_not_bracketed"});
}

TEST(PowerIntegrator, CountsRowsWithoutPowerOutsideTheWindow) {
  const std::vector<Reading> readings =
      joined({{{99, 0, 3, Kind::no_power},          // counted though it is not observed
               {99, 0, kNone, Kind::no_power},      // of no GPU
               {99.5, 0, kNone, Kind::no_device}},  // of no GPU, too
              readings_of(1, steady(5, 97, 113)),
              {{111, -1, 1, Kind::negative_power},
               {112, 0, 1},
               {113, 0, 3},
               {113.5, 0, 1},  // beyond the band
               {96, 0, 2, Kind::no_power}}});
  const Integration result = integrate_all(readings, expecting(1), kNames);
  EXPECT_TRUE(result.reasons.empty()) << result.reasons.text();
  EXPECT_EQ(result.gpu_ids, Names{"1"});
  EXPECT_EQ(result.boundary_degenerate_rows,
            (BoundaryRows::ByName{{"3", 2}, {"unknown", 2}, {"1", 2}}));
  // A GPU may be called "unknown".
  const Integration named = integrate_all(readings, expecting(1), {"0", "1", "2", "unknown"});
  EXPECT_EQ(named.boundary_degenerate_rows, (BoundaryRows::ByName{{"unknown", 4}, {"1", 2}}));
}

TEST(PowerIntegrator, CountsThemOnceThoughRowsAreSorted) {
  const std::vector<Reading> readings = {{111, 0, 0},
                                         {108, 5, 0},
                                         {110.5, 5, 0},
                                         {99, 5, 0},
                                         {102, 5, 0},
                                         {105, 5, 0},
                                         {99, -5, 0, Kind::negative_power}};
  RowIntegrator integrator(expecting(1));
  integrator.take(std::span(readings).first(2));
  integrator.integrate();
  integrator.take(std::span(readings).subspan(2));
  ASSERT_TRUE(integrator.out_of_order());
  integrator.start_over();
  integrator.take_again(readings);
  const Integration result = integrator.finish(kNames);
  EXPECT_TRUE(result.reasons.empty()) << result.reasons.text();
  EXPECT_EQ(result.boundary_degenerate_rows, (BoundaryRows::ByName{{"0", 2}}));
  EXPECT_EQ(result.total_gpu_energy_j, 5 * 10);
}

TEST(PowerIntegrator, DoesNotObserveAGpuOfWhichNoPowerIsKnown) {
  const Integration result =
      integrate_all(joined({readings_of(0, {{99, 5}, {102, 5}, {105, 5}, {108, 5}, {111, 5}}),
                            readings_of(1, {{98, 0}, {99, 0}, {111, 0}, {112, 0}})}),
                    expecting(2), kNames);
  EXPECT_EQ(result.reasons.text(), "expected_gpu_count_mismatch (1 seen, 2 expected)");
  EXPECT_EQ(result.boundary_degenerate_rows, (BoundaryRows::ByName{{"1", 4}}));
  const Integration none = integrate_all(readings_of(0, {{99, 0}}), expecting(1), kNames);
  EXPECT_EQ(none.reasons.codes(), Codes{"no_usable_power_samples"});
  EXPECT_EQ(none.boundary_degenerate_rows, (BoundaryRows::ByName{{"0", 1}}));
}

TEST(PowerIntegrator, ObeysTheLargestGapAllowed) {
  // Every 5 s, from 97 to 117.
  const Samples samples = {{97, 5}, {102, 5}, {107, 5}, {112, 5}, {117, 5}};
  IntegrationOptions options = expecting(1);
  options.max_sample_gap_s = 5;
  const Integration wide = integrate_all(readings_of(0, samples), options, kNames);
  EXPECT_TRUE(wide.reasons.empty()) << wide.reasons.text();
  EXPECT_EQ(wide.gpus[0].samples, 4u) << "the band is as wide: 95 to 115";
  options.max_sample_gap_s = 4.5;
  EXPECT_EQ(integrate_all(readings_of(0, samples), options, kNames).reasons.text(),
            "sampling_gap_exceeded (GPU 0: 5.000 s, at most 4.5 s)");
  options.max_sample_gap_s = 1;
  EXPECT_EQ(integrate_all(readings_of(0, samples), options, kNames).reasons.text(),
            "benchmark_window_not_bracketed (GPU 0: first sample 2.000 s after the start)");
}

TEST(PowerIntegrator, ChecksTheExpectedCount) {
  const auto two = joined({readings_of(0, steady(5, 97, 113)), readings_of(1, steady(5, 97, 113))});
  EXPECT_EQ(integrate_all(two, expecting(2), kNames).reasons.text(), "");
  EXPECT_EQ(integrate_all(two, expecting(std::nullopt), kNames).reasons.text(), "");
  EXPECT_EQ(integrate_all(two, expecting(8), kNames).reasons.text(),
            "expected_gpu_count_mismatch (2 seen, 8 expected)");
  EXPECT_EQ(integrate_all(two, expecting(1), kNames).reasons.text(),
            "expected_gpu_count_mismatch (2 seen, 1 expected)");
  EXPECT_EQ(integrate_all(two, expecting(0), kNames).reasons.text(),
            "invalid_expected_gpu_count (0)");
  EXPECT_EQ(integrate_all(two, expecting(-1), kNames).reasons.text(),
            "invalid_expected_gpu_count (-1)");
  EXPECT_EQ(integrate_all(two, expecting(-1), kNames).total_gpu_energy_j, 100) << "it goes on";
}

TEST(PowerIntegrator, GivesReasonsInTheContractsOrder) {
  // Row reasons as they are met, then the identity, then the count, then device by device.
  const Integration result = integrate_all(joined({{{105, 0, 0, Kind::no_device}},
                                                   {{0, 0, 0, Kind::bad_timestamp}},
                                                   {{105, 0, 0, Kind::no_power}},
                                                   readings_of(0, {{99, 5}, {111, 5}}),
                                                   readings_of(1, {{101, 5}, {102, 5}}),
                                                   readings_of(2, {{101, 5}})}),
                                           expecting(0), {"7", "10", "2"});
  EXPECT_EQ(result.gpu_ids, (Names{"2", "7", "10"}));
  EXPECT_EQ(result.reasons.codes(),
            (Codes{"invalid_expected_gpu_count", "invalid_timestamp_sample", "invalid_power_sample",
                   "gpu_identity_missing", "insufficient_power_samples", "sampling_gap_exceeded",
                   "benchmark_window_not_bracketed"}));
  EXPECT_EQ(result.issues, (std::vector<std::optional<Reason>>{
                               Reason::insufficient_power_samples, Reason::sampling_gap_exceeded,
                               Reason::benchmark_window_not_bracketed}));
  EXPECT_EQ(result.reasons.entries().back().detail, "GPU 10: first sample 1.000 s after the start");
}

TEST(PowerIntegrator, SaysWhenThereIsNothing) {
  const Integration nothing = integrate_all({}, expecting(8), {});
  EXPECT_EQ(nothing.reasons.codes(), Codes{"no_usable_power_samples"});
  EXPECT_EQ(nothing.expected_num_gpus, 8);
  EXPECT_TRUE(nothing.gpu_ids.empty() && nothing.gpus.empty() && nothing.issues.empty());
  const Integration far = integrate_all(readings_of(0, steady(5, 0, 90)), expecting(8), kNames);
  EXPECT_EQ(far.reasons.codes(), Codes{"no_usable_power_samples"}) << "never 0 W";
  const Integration unnamed = integrate_all({{105, 5, 0, Kind::no_device}}, expecting(8), kNames);
  EXPECT_EQ(unnamed.reasons.codes(), (Codes{"gpu_identity_missing", "no_usable_power_samples"}));
}

TEST(PowerIntegrator, KeepsRowReasonsWhenReadingBreaksOff) {
  RowIntegrator integrator(expecting(2));
  integrator.take(joined({readings_of(0, steady(5, 90, 120)),
                          {{105, 0, 0, Kind::no_power}, {105, 0, 0, Kind::no_device}}}));
  integrator.take(std::vector<Reading>{{99, 0, 1}});
  const Integration result =
      integrator.abandon(Reason::telemetry_file_unreadable, "x.csv: a cell of more than ...");
  EXPECT_EQ(result.boundary_degenerate_rows, (BoundaryRows::ByName{{"1", 1}}));
  // The blank device is forgotten: B.3 step 6.
  EXPECT_EQ(
      result.reasons.text(),
      "invalid_power_sample (the first at 105.000 (1970-01-01T00:01:45.000Z)), telemetry_file_unreadable (x.csv: a cell "
      "of more than ...)");
  EXPECT_TRUE(result.gpu_ids.empty());
  EXPECT_EQ(result.expected_num_gpus, 2);
  EXPECT_FALSE(result.total_gpu_energy_j);
}

TEST(PowerIntegrator, GivesTheSameOnceRowsAreSorted) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<Reading> readings;
    for (std::uint32_t gpu = 0; gpu < 3; ++gpu) {
      const auto more = readings_of(gpu, generated_trace(dice, 100));
      readings.insert(readings.end(), more.begin(), more.end());
    }
    const IntegrationOptions options = expecting(3, {101, 102 + 5 * dice.fraction()});
    const Integration in_order = integrate_all(readings, options, kNames);
    for (std::size_t i = readings.size(); i > 1; --i) {
      std::swap(readings[i - 1], readings[dice.below(i)]);
    }
    RowIntegrator integrator(options);
    for (const Reading& reading : readings) {
      integrator.take({&reading, 1});
      integrator.integrate();
    }
    if (integrator.out_of_order()) {  // mostly; a trace may be a single stamp
      integrator.start_over();
      integrator.take_again(readings);
    }
    EXPECT_FALSE(integrator.out_of_order());
    const Integration again = integrator.finish(kNames);
    ASSERT_EQ(again.reasons.text(), in_order.reasons.text()) << "TEST_SEED=" << seed;
    ASSERT_EQ(again.total_gpu_energy_j, in_order.total_gpu_energy_j) << "TEST_SEED=" << seed;
    ASSERT_EQ(again.gpu_ids, in_order.gpu_ids);
  }
}

TEST(PowerIntegrator, KeepsWhatWasFoundWhenItStartsOver) {
  RowIntegrator integrator(expecting(1));
  integrator.take(std::vector<Reading>{
      {0, 0, 0, Kind::bad_timestamp}, {105, 0, 0, Kind::no_power}, {106, 5, 0}});
  EXPECT_FALSE(integrator.out_of_order());
  integrator.take(std::vector<Reading>{{105, 5, 0}});
  EXPECT_TRUE(integrator.out_of_order());
  integrator.start_over();
  integrator.take_again(readings_of(0, steady(5, 99, 112)));
  EXPECT_FALSE(integrator.out_of_order());
  const Integration result = integrator.finish(kNames);
  EXPECT_EQ(result.reasons.codes(),
            (std::vector<std::string>{"invalid_timestamp_sample", "invalid_power_sample"}));
  EXPECT_EQ(result.gpu_ids.size(), 1u);
  EXPECT_EQ(result.total_gpu_energy_j, 5 * 10);
}

TEST(PowerIntegrator, NoticesRowsOutOfOrderOnlyWithinADevice) {
  RowIntegrator apart(expecting(2));
  // Devices may be a moment apart, in any order.
  apart.take(joined({readings_of(0, {{99, 5}}), readings_of(1, {{98, 5}}),
                     readings_of(0, {{100, 5}}), readings_of(1, {{99.5, 5}})}));
  EXPECT_FALSE(apart.out_of_order());
  apart.take(readings_of(1, {{99.4, 5}}));
  EXPECT_TRUE(apart.out_of_order());
  RowIntegrator beyond(expecting(1));
  for (const Reading& reading : readings_of(0, {{50, 5}, {40, 5}, {99, 5}, {30, 5}, {100, 5}})) {
    beyond.take({&reading, 1});
    beyond.integrate();
  }
  EXPECT_FALSE(beyond.out_of_order()) << "outside the band order does not matter";
}

}  // namespace integrate_test
}  // namespace aggregate_power
