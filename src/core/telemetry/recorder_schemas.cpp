// The table of recorders whose columns are known by name, one row each.
#include "core/telemetry/recorder_schemas.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/text/characters.h"

namespace aggregate_power {
namespace {

constexpr const char* kModulePower =
    "module_power: the column is the power of the whole module, with its CPU and memory, in mW";

// "2022-07-13 02:07:36.708783111,32402": nanoseconds, and whole milliwatts.
bool is_zeus_row(const std::vector<std::string>& cells) {
  static constexpr Pattern time = "\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d\\.\\d{9}";
  static constexpr Pattern milliwatts = "\\d+";
  return cells.size() >= 2 && time.matches(strip(cells[0])) && milliwatts.matches(strip(cells[1]));
}

// xpu-smi 2.x takes the queries of nvidia-smi; the UUIDs that it writes have no "GPU-" before them.
bool is_intel_row(const std::vector<std::string>& cells) {
  static constexpr Pattern intel =
      "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|Intel(\\(R\\))? .*(GPU|Graphics|Arc|Flex).*";
  constexpr std::size_t kUuidSize = 36;
  return std::ranges::any_of(cells, [](const std::string& cell) {
    const std::string_view text = strip(cell);
    return (text.size() == kUuidSize || text.starts_with("Intel")) && intel.matches(text);
  });
}

}  // namespace

const std::vector<Schema>& schemas() {
  static const std::vector<Schema> table = {
      {.name = "srt-slurm",
       .power_words = "`power_w`",
       .device_words = "`gpu_uuid`, else host and `gpu_index`",
       .required = {"timestamp_unix", "gpu_index"},
       .power = {"power_w"},
       .device = {{"gpu_uuid", false}, {"gpu_index", true}},
       .collector = "srt-slurm",
       .scope = "gpu"},
      {.name = "dcgm-long",
       .power_words =
           "`value` in the rows whose `metric_name` is a power field, averaged before instant",
       .device_words = "`uuid`, else host and `gpu` or `gpu_id`",
       .required = {"metric_name", "timestamp"},
       .power = {"value"},
       .device = {{"uuid", false}, {"gpu|gpu_id", true}},
       .collector = "DCGM",
       .scope = "gpu"},
      {.name = "grafana-long",
       .power_words =
           "`Value` in the rows whose `__name__` is a power field of DCGM, averaged before instant",
       .device_words = "`UUID`, else host and `gpu`",
       .required = {"__name__", "time"},
       .power = {"value( #[a-z])?"},
       .device = {{"uuid", false}, {"gpu|gpu_id", true}},
       .collector = "DCGM",
       .scope = "gpu"},
      {.name = "dcgm-wide",
       .power_words = "`DCGM_FI_DEV_POWER_USAGE` or `..._BOARD_POWER_WATTS`, else the instant one",
       .device_words = "`uuid`, else host and `gpu`, `gpu_id`",
       .power = {"dcgm_fi_dev_power_usage|dcgm_fi_dev_board_power_watts",
                 "dcgm_fi_dev_power_usage_instant|dcgm_fi_dev_board_power_watts_instant"
                 "|dcgm_fi_dev_board_power_raw_watts"},
       .device = {{"uuid", false}, {"gpu|gpu_?id", true}},
       .collector = "DCGM",
       .scope = "gpu"},
      {.name = "amd-smi",
       .power_words =
           "`socket_power`, `current_socket_power`, `average_socket_power`, `current_power`",
       .device_words = "`gpu`",
       .required = {"gpu"},
       .power = {"socket_power", "current_socket_power", "average_socket_power", "current_power"},
       .device = {{"gpu", true}},
       .collector = "amd-smi",
       .scope = "package"},
      {.name = "amd-smi-monitor",
       .power_words = "`power_usage`",
       .device_words = "`gpu`",
       .required = {"gpu"},
       .power = {"power_usage"},
       .device = {{"gpu", true}},
       .collector = "amd-smi",
       .scope = "package"},
      {.name = "rocm-smi",
       .power_words =
           "`Current Socket Graphics Package Power (W)`, `Average Graphics Package Power (W)`, whichever holds a number",
       .device_words = "`device`",
       .required = {"device"},
       .power = {"current socket graphics package power", "average graphics package power"},
       .device = {{"device", true}},
       .power_may_move = true,
       .collector = "rocm-smi",
       .scope = "package"},
      {.name = "xpu-smi",
       .power_words = "`GPU Power (W)` (xpu-smi 1.x)",
       .device_words = "`DeviceId`",
       .required = {"timestamp", "deviceid"},
       .power = {"gpu power"},
       .device = {{"deviceid", true}},
       .collector = "xpu-smi",
       .scope = "gpu"},
      {.name = "xpu-smi-2",
       .power_words = "`power.draw`, `power.draw.gpu`; timestamps are UTC",
       .device_words = "`DeviceId`",
       .required = {"timestamp", "deviceid"},
       .power = {"power\\.draw", "power\\.draw\\.gpu"},
       .device = {{"deviceid", true}},
       .naive_is_utc = true,
       .collector = "xpu-smi",
       .scope = "gpu",
       .averaging = "over the interval before the stamp"},
      {.name = "zeus-monitor",
       .power_words = "`Power` of Zeus' monitor, in mW; timestamps are UTC",
       .device_words = "the file's name, `gpu0.power.csv`",
       .required = {"time"},
       .power = {"power"},
       .has_device = false,
       .naive_is_utc = true,
       .has_nanoseconds = true,
       .unit = PowerUnit::Size::milliwatt,
       .fits_row = is_zeus_row,
       .collector = "Zeus",
       .scope = "gpu"},
      {.name = "xpu-smi-query",
       .power_words =
           "`power.draw`, `power.draw.gpu` of `xpu-smi --query-gpu`, known by a UUID without `GPU-` before it or the name of a GPU of Intel; timestamps are UTC",
       .device_words = "`index`, else `uuid`",
       .required = {"timestamp"},
       .power = {"power\\.draw", "power\\.draw\\.gpu"},
       .device = {{"index|gpu_index", true},
                  {"uuid|gpu_uuid", false},
                  {"pci\\.bus_id|gpu_bus_id", true}},
       .naive_is_utc = true,
       .fits_row = is_intel_row,
       .collector = "xpu-smi",
       .scope = "gpu",
       .averaging = "over the interval before the stamp"},
      {.name = "nvidia-smi",
       .power_words =
           "`power.draw`, `power.draw.average`, `power.draw.instant`; Habana's `hl-smi` writes the same",
       .device_words = "an index or another id, see below",
       .power = {"power\\.draw", "power\\.draw\\.average", "power\\.draw\\.instant"},
       .collector = "NVML",
       .scope = "gpu"},
      {.name = "kokkos",
       .power_words = "`power_watts` of Kokkos Tools' `*-power-gpus.csv`",
       .device_words = "`device_id`",
       .required = {"timestamp_nanoseconds", "device_id"},
       .power = {"power_watts"},
       .device = {{"device_id", true}},
       .collector = "Kokkos Tools",
       .scope = "gpu"},
      {.name = "jtop",
       .power_words = "`power cur`, `Power TOT` of jetson-stats, in mW: the whole module's",
       .device_words = "one device",
       .required = {"time(stamp)?|date", "power avg|nvp[ _]model|jetson_clocks|uptime"},
       .power = {"power[ _]cur", "power[ _]tot(al)?"},
       .has_device = false,
       .unit = PowerUnit::Size::milliwatt,
       .collector = "jetson-stats",
       .scope = "module",
       .only_device = "0",
       .warning = kModulePower},
      {.name = "tegrastats",
       .power_words = "`VDD_IN`, `POM_5V_IN` of tegrastats, in mW: the whole module's",
       .device_words = "one device",
       .required = {"time(stamp)?|date([ _]?time)?"},
       .power = {"vdd_in", "vdd_in[ _](power|cur|current|inst|mw)", "pom_5v_in",
                 "pom_5v_in[ _](power|cur|current|inst|mw)"},
       .has_device = false,
       .unit = PowerUnit::Size::milliwatt,
       .collector = "tegrastats",
       .scope = "module",
       .only_device = "0",
       .warning = kModulePower},
      {.name = "gpu-z",
       .power_words = "`Board Power Draw`, `GPU Power Draw`, `GPU Power`, `GPU Chip Power Draw`",
       .device_words = "one device",
       .required = {"date", "gpu temperature.*"},
       .power = {"board power draw", "gpu power draw", "gpu power", "gpu chip power draw"},
       .has_device = false,
       .collector = "GPU-Z",
       .scope = "gpu"},
  };
  return table;
}

}  // namespace aggregate_power
