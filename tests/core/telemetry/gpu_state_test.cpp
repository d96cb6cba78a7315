// What a telemetry file says of a GPU besides its power.
#include "core/telemetry/telemetry.h"

#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recorders/recorder_table.h"
#include "test_util.h"

namespace aggregate_power {
namespace gpu_state_test {

using Header = std::vector<std::string>;

TEST(GpuState, ColumnsAreFoundByTheRecordersNames) {
  constexpr auto kNone = std::nullopt;
  const struct {
    const char* schema;
    Header header;
    GpuStateColumns columns;
  } cases[] = {
      {"nvidia-smi",
       {"timestamp", " power.draw [W]", " memory.used [MiB]", " utilization.gpu [%]",
        " utilization.memory [%]", " temperature.gpu"},
       {{5, 3, 2}}},
      {"nvidia-smi", {"timestamp", "power.draw", "Temperature.GPU"}, {{2, kNone, kNone}}},
      {"nvidia-smi", {"temperature.gpu", "power.draw", "temperature.gpu"}, {{2, kNone, kNone}}},
      {"amd-smi",
       {"timestamp", "gpu", "gfx_activity", "socket_power", "edge", "hotspot", "mem", "used_vram"},
       {{5, 2, 7}}},
      {"amd-smi", {"timestamp", "gpu", "socket_power", "edge"}, {{3, kNone, kNone}}},
      {"rocm-smi",
       {"device", "Temperature (Sensor edge) (C)", "Temperature (Sensor junction) (C)",
        "GPU use (%)"},
       {{2, 3, kNone}}},
      {"dcgm-wide",
       {"gpu", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_UTIL"},
       {{2, 3, 1}}},
      {"srt-slurm",
       {"timestamp_unix", "power_w", "gpu_util_pct", "sm_active"},
       {{kNone, 2, kNone}}},
      {"xpu-smi",
       {"Timestamp", "DeviceId", "GPU Utilization (%)", "GPU Power (W)"},
       {{kNone, 2, kNone}}},
      {"generic", {"timestamp", "power", "temperature.gpu", "gpu_util_pct"}, {}},
      {"nvidia-smi", {}, {}},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(choose_state_columns(c.header, c.schema), c.columns) << c.schema;
  }
}

TEST(GpuState, CellsAreNumbersWithAUnit) {
  const struct {
    const char* cell;
    std::optional<double> value;
  } cases[] = {
      {"45", 45},
      {" 45.5 % ", 45.5},
      {"1234 MiB", 1234},
      {"61 C", 61},
      {"61\u00B0C", 61},
      {"0", 0},
      {"[N/A]", {}},
      {"N/A", {}},
      {"", {}},
      {"-1", {}},
      {"nan", {}},
      {"inf", {}},
      {"1e3", {}},
      {"45 W", 45},
      {"699.95 W", 699.95},
      {" 350.1 W", 350.1},
      {"1234567.89", 1234567.89},
      {"123456789.123456789 W", 123456789.123456789},
      {"0.1 %", 0.1},
      {"7.5 V", {}},
      {"45 50", {}},
      {"%", {}},
      {"Active", 1},
      {"Not Active", 0},
      {"0x0000000000000044", 68},
      {"0xg", {}},
  };
  for (const auto& c : cases) {
    const double value = parse_state(c.cell);
    EXPECT_EQ(std::isnan(value) ? std::nullopt : std::optional(value), c.value) << c.cell;
  }
}

TEST(GpuState, GoesWithTheReadingOfItsRow) {
  // The second column of power, which rocm-smi may use, and a row that says nothing.
  const std::string text =
      "timestamp,device,Average Graphics Package Power (W),"
      "Current Socket Graphics Package Power (W),GPU use (%),Temperature (Sensor junction) (C)\n"
      "1788852000,card0,N/A,300.0,80,55.0\n"
      "\n"
      "1788852001,card0,250.0,N/A,N/A,56.0\n";
  Telemetry telemetry = open_telemetry(std::make_unique<test::StutterSource>(text, test::kWhole));
  std::vector<double> found;
  telemetry.read_with_states([&](std::span<const Reading> readings, const RowStates& states) {
    ASSERT_EQ(readings.size(), states.size());
    for (std::size_t i = 0; i < readings.size(); ++i) {
      found.push_back(readings[i].watts);
      found.push_back(states[i][GpuQuantity::temperature_c]);
      found.push_back(states[i][GpuQuantity::utilization_pct]);
      EXPECT_TRUE(std::isnan(states[i][GpuQuantity::memory_used_mb]));
    }
  });
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(std::vector<double>(found.begin(), found.begin() + 5),
            (std::vector<double>{300, 55, 80, 250, 56}));
  EXPECT_TRUE(std::isnan(found[5]));
}

TEST(GpuState, MayBeTheLimitAlone) {
  const std::string text =
      "timestamp, index, temperature.gpu, power.draw [W], power.limit [W]\n"
      "2026/09/08 07:20:19.000, 0, 60, 300.00 W, 699.95 W\n"
      "2026/09/08 07:20:20.000, 0, 61, 301.00 W, [N/A]\n";
  Telemetry telemetry = open_telemetry(std::make_unique<test::StutterSource>(text, test::kWhole));
  EXPECT_TRUE(telemetry.facts().has_power_limit);
  std::vector<double> limits_w;
  telemetry.read_with_states(
      [&](std::span<const Reading>, const RowStates& states) {
        for (std::size_t i = 0; i < states.size(); ++i) {
          limits_w.push_back(states[i][GpuQuantity::power_limit_w]);
          EXPECT_TRUE(std::isnan(states[i][GpuQuantity::temperature_c]));
        }
      },
      quantity_set({GpuQuantity::power_limit_w}));
  ASSERT_EQ(limits_w.size(), 2U);
  EXPECT_EQ(limits_w[0], 699.95);
  EXPECT_TRUE(std::isnan(limits_w[1]));
}

}  // namespace gpu_state_test
}  // namespace aggregate_power
