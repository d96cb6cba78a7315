// Which columns are chosen: a line per recorder, and one per trap of formats.md section 5.
#include "core/telemetry/telemetry.h"

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/text/csv.h"
#include "base/text/timestamp.h"
#include "words.h"

namespace aggregate_power {
namespace schema_test {

using test::between_bars;
using Codes = std::vector<std::string>;

// As the reader of telemetry asks: a time after 1973.
bool is_absolute_time(std::string_view text) {
  const auto stamp = StampParser(Zone::fixed(0)).parse(text);
  return stamp && stamp->unix_s >= 1e8;
}

std::vector<std::vector<std::string>> cells_of(const std::string& text) {
  std::vector<std::vector<std::string>> table;
  for (CsvTextRow& row : split_csv(text, text.size() + 1, true)) table.push_back(row.cells);
  return table;
}

// `text` is a header line and data rows.
Columns choose(const std::string& text, const ColumnNames& wanted = {}) {
  const auto table = cells_of(text);
  return choose_columns(table.at(0), Rows(table).subspan(1), is_absolute_time, wanted);
}

std::string name_of(const std::optional<Column>& column) { return column ? column->name : ""; }

struct Case {
  const char* what;
  std::string text;  // a header line, and rows
  std::string schema;
  std::string timestamp;  // empty: none
  std::string power;
  std::string device;
  std::string host = {};
  std::string reasons = {};  // their codes
};

void expect(const Case& c) {
  const Columns columns = choose(c.text);
  EXPECT_EQ(columns.schema, c.schema) << c.what;
  EXPECT_EQ(name_of(columns.timestamp), c.timestamp) << c.what;
  EXPECT_EQ(name_of(columns.power), c.power) << c.what;
  EXPECT_EQ(name_of(columns.device), c.device) << c.what;
  EXPECT_EQ(name_of(columns.host), c.host) << c.what;
  EXPECT_EQ(fmt::format("{}", fmt::join(columns.reasons.codes(), " ")), c.reasons) << c.what;
}

const char* const kNoDevice = "gpu_identity_column_missing";
const char* const kNoTime = "timestamp_column_missing";
const char* const kNoPower = "power_column_missing";

TEST(ChooseColumns, KnowsEveryRecorder) {
  const std::string nvidia_time = "\n2026/04/25 16:06:06.780";
  const Case cases[] = {
      {"srt-slurm, with UUIDs",
       "schema_version,timestamp_unix,scrape_seq,hostname,gpu_index,gpu_uuid,power_w\n"
       "1,1790360712.2,22,n1,0,GPU-1,241\n",
       "srt-slurm", "timestamp_unix", "power_w", "gpu_uuid"},
      {"srt-slurm, without", "timestamp_unix,hostname,gpu_index,power_w\n1790360712.2,n1,0,241\n",
       "srt-slurm", "timestamp_unix", "power_w", "gpu_index", "hostname"},
      {"DCGM, long",
       "timestamp,metric_name,gpu_id,device,uuid,modelName,Hostname,container,pod,namespace,value,"
       "labels_raw\n"
       "2025-07-18T13:42:33Z,DCGM_FI_DEV_POWER_USAGE,0,nvidia0,GPU-1,H100,n1,,,,71.2,x\n",
       "dcgm-long", "timestamp", "value", "uuid"},
      {"DCGM, long, by host",
       "timestamp,metric_name,Hostname,gpu,value\n"
       "2025-07-18T13:42:33Z,DCGM_FI_DEV_POWER_USAGE,n1,0,71.2\n",
       "dcgm-long", "timestamp", "value", "gpu", "Hostname"},
      {"DCGM, wide",
       "timestamp,Hostname,gpu,UUID,DCGM_FI_DEV_GPU_UTIL,DCGM_FI_DEV_POWER_USAGE\n"
       "2025-07-18T13:42:33Z,n1,0,GPU-1,5,71.2\n",
       "dcgm-wide", "timestamp", "DCGM_FI_DEV_POWER_USAGE", "UUID"},
      {"DCGM, wide, the average is preferred",
       "timestamp,gpu,DCGM_FI_DEV_POWER_USAGE_INSTANT,DCGM_FI_DEV_POWER_USAGE\n1700000000,0,1,2\n",
       "dcgm-wide", "timestamp", "DCGM_FI_DEV_POWER_USAGE", "gpu"},
      {"DCGM, wide, the names of 2026",
       "timestamp,gpu,DCGM_FI_DEV_BOARD_POWER_RAW_WATTS,DCGM_FI_DEV_BOARD_POWER_WATTS\n"
       "1700000000,0,1,2\n",
       "dcgm-wide", "timestamp", "DCGM_FI_DEV_BOARD_POWER_WATTS", "gpu"},
      {"DCGM, wide, raw only",
       "timestamp,gpuId,DCGM_FI_DEV_BOARD_POWER_RAW_WATTS\n1700000000,0,1\n", "dcgm-wide",
       "timestamp", "DCGM_FI_DEV_BOARD_POWER_RAW_WATTS", "gpuId"},
      {"DCGM, wide, in lower case", "time,gpu_id,dcgm_fi_dev_power_usage\n1700000000,0,1\n",
       "dcgm-wide", "time", "dcgm_fi_dev_power_usage", "gpu_id"},
      {"amd-smi 5.7", "timestamp,gpu,current_power\n1700000000,0,1\n", "amd-smi", "timestamp",
       "current_power", "gpu"},
      {"amd-smi 6.0",
       "timestamp,gpu,current_power,current_gfx_voltage,power_limit,power_management,"
       "throttle_status\n1700000000,0,1,2,3,ENABLED,N/A\n",
       "amd-smi", "timestamp", "current_power", "gpu"},
      {"amd-smi 6.1 to 6.4",
       "timestamp,gpu,socket_power,gfx_voltage,soc_voltage,mem_voltage,throttle_status,"
       "power_management\n1700000000,0,1,2,3,4,5,ENABLED\n",
       "amd-smi", "timestamp", "socket_power", "gpu"},
      {"amd-smi, newest: the baseboard's power is not the GPU's",
       "timestamp,gpu,ubb_power,power_management,socket_power\n1700000000,0,1,ENABLED,2\n",
       "amd-smi", "timestamp", "socket_power", "gpu"},
      {"amd-smi, other names: the first of the schema's order, not of the header's",
       "timestamp,gpu,average_socket_power,current_socket_power\n1700000000,0,1,2\n", "amd-smi",
       "timestamp", "current_socket_power", "gpu"},
      {"amd-smi, one shot: no time", "gpu,socket_power,power_management\n0,240,ENABLED\n",
       "amd-smi", "", "socket_power", "gpu", "", kNoTime},
      {"amd-smi monitor",
       "timestamp,gpu,xcp,power_usage,max_power,hotspot_temperature\n1700000000,0,0,1,750,40\n",
       "amd-smi-monitor", "timestamp", "power_usage", "gpu"},
      {"rocm-smi with a time",
       "timestamp,device,Device ID,Average Graphics Package Power (W),Max Graphics Package Power "
       "(W)\n1700000000,card0,0x744c,25.0,327.0\n",
       "rocm-smi", "timestamp", "Average Graphics Package Power (W)", "device"},
      {"rocm-smi, a mixed box",
       "time,device,Average Graphics Package Power (W),Current Socket Graphics Package Power (W)\n"
       "1700000000,card0,25.0,N/A\n",
       "rocm-smi", "time", "Current Socket Graphics Package Power (W)", "device"},
      {"rocm-smi without a time", "device,Average Graphics Package Power (W)\ncard0,25.0\n",
       "rocm-smi", "", "Average Graphics Package Power (W)", "device", "", kNoTime},
      {"xpu-smi 1.x",
       "Timestamp, DeviceId, GPU Utilization (%), GPU Power (W), GPU Frequency (MHz), GPU Energy "
       "Consumed (J)\n2024-05-26T18:51:23.769, 0, 1, 2, 3, 4\n",
       "xpu-smi", "Timestamp", "GPU Power (W)", "DeviceId"},
      {"xpu-smi 2.x", "Timestamp, DeviceId, power.draw (W)\n2026/04/25 16:06:06.780, 0, 300.1\n",
       "xpu-smi-2", "Timestamp", "power.draw (W)", "DeviceId"},
      {"xpu-smi 2.x: the card, not its engines",
       "Timestamp, DeviceId, power.draw.gpu (W), power.draw (W)\n"
       "2026/04/25 16:06:06.780, 0, 200, 300\n",
       "xpu-smi-2", "Timestamp", "power.draw (W)", "DeviceId"},
      {"nvidia-smi", "timestamp, index, power.draw [W]" + nvidia_time + ", 0, 60.5 W\n",
       "nvidia-smi", "timestamp", "power.draw [W]", "index"},
      {"nvidia-smi without units in the header",
       "timestamp,gpu,power.draw,power.limit" + nvidia_time + ",0,5,\n", "nvidia-smi", "timestamp",
       "power.draw", "gpu"},
      {"nvidia-smi: the draw, then its average, then the instant",
       "timestamp, uuid, power.draw.instant [W], power.draw.average [W], power.draw [W]" +
           nvidia_time + ", GPU-1, 1 W, 2 W, 3 W\n",
       "nvidia-smi", "timestamp", "power.draw [W]", "uuid"},
      {"nvidia-smi: average before instant",
       "timestamp, uuid, power.draw.instant [W], power.draw.average [W]" + nvidia_time +
           ", GPU-1, 1 W, 2 W\n",
       "nvidia-smi", "timestamp", "power.draw.average [W]", "uuid"},
      {"nvidia-smi: only the instant",
       "timestamp, power.draw.instant [W]" + nvidia_time + ", 1 W\n", "nvidia-smi", "timestamp",
       "power.draw.instant [W]", "", "", kNoDevice},
      {"nvidia-smi: never the module's",
       "timestamp, index, module.power.draw.instant [W], power.draw.instant [W]" + nvidia_time +
           ", 0, 1 W, 2 W\n",
       "nvidia-smi", "timestamp", "power.draw.instant [W]", "index"},
      {"nvidia-smi: limits and reasons before the draw",
       "timestamp, inforom.pwr, power.management, clocks_event_reasons.hw_power_brake_slowdown, "
       "clocks_event_reasons_counters.sw_power_cap [us], power.limit [W], enforced.power.limit "
       "[W], power.default_limit [W], power.max_limit [W], power.draw [W], index" +
           nvidia_time + ", [N/A], Enabled, Not Active, 0, 1 W, 2 W, 3 W, 4 W, 5 W, 0\n",
       "nvidia-smi", "timestamp", "power.draw [W]", "index"},
      {"hl-smi",
       "timestamp, name, temperature.aip [C], module_id, power.max [W], power.draw [W]" +
           nvidia_time + ", HL-225, 30, 2, 600 W, 100 W\n",
       "nvidia-smi", "timestamp", "power.draw [W]", "module_id"},
      {"GPU-Z, board",
       "Date , GPU Temperature [\xB0"
       "C] , GPU Chip Power Draw [W] , MVDDQ Power Draw [W] , PCIe "
       "Slot Power [W] , 6-Pin #1 Power [W] , Power Consumption (%) [% TDP] , Board Power Draw "
       "[W] ,\n2024-04-11 14:43:15 , 40 , 1 , 2 , 3 , 4 , 5 , 6 ,\n",
       "gpu-z", "Date", "Board Power Draw [W]", "", "", kNoDevice},
      {"GPU-Z, GPU",
       "Date , GPU Temperature [C] , GPU Power [W] ,\n2024-04-11 14:43:15 , 40 , 1 ,\n", "gpu-z",
       "Date", "GPU Power [W]", "", "", kNoDevice},
      {"GPU-Z, chip only",
       "Date , GPU Temperature [C] , GPU Chip Power Draw [W] ,\n2024-04-11 14:43:15 , 40 , 1 ,\n",
       "gpu-z", "Date", "GPU Chip Power Draw [W]", "", "", kNoDevice},
  };
  for (const Case& c : cases) expect(c);
}

TEST(ChooseColumns, TakesANameInAnyCaseWithAnyBlanksAround) {
  expect({"capitals", "TIMESTAMP,GPU,SOCKET_POWER\n1700000000,0,1\n", "amd-smi", "TIMESTAMP",
          "SOCKET_POWER", "GPU"});
  expect({"blanks", "\ttimestamp , \xC2\xA0gpu ,socket_power\xC2\xA0\n1700000000,0,1\n", "amd-smi",
          "timestamp", "socket_power", "gpu"});
}

TEST(ChooseColumns, MatchesWholeNamesOnly) {
  expect({"a longer name is another name",
          "timestamp,index,power.draw.sum [W],gpu_power_w\n1700000000,0,1,2\n", "generic",
          "timestamp", "gpu_power_w", "index"});
}

TEST(ChooseColumns, TakesGenericNamesOfPower) {
  const Codes names = between_bars(
      "power|Power|POWER|power_w|power_W|power.watts|power-watt|power mw|Power (W)|Power [W]|"
      "Power(Watts)|Power (mW)|power_draw|power draw|power_draw_w|power_usage|power.used|"
      "Power Used|gpu_power|GPU Power|gpu power draw|gpu_power_usage_w|GPU Power [W]|"
      "gpu_power_consumption_watts|gpupower|pwr|gpu_pwr|pwr_w|gpu_watts|gpu watts|gpu-watt|"
      "GPU Watts");
  for (const std::string& name : names) {
    expect({name.c_str(), "timestamp,gpu_index," + name + "\n1700000000,0,1\n", "generic",
            "timestamp", name, "gpu_index"});
  }
}

// formats.md section 9 row 11, in that order.
TEST(ChooseColumns, TakesGenericNamesOfTimes) {
  const Codes names = between_bars(
      "timestamp|timestamp_unix|timestamp_s|Timestamp (s)|timestamp.ms|timestamp ns|"
      "timestamp_utc|datetime|date_time|Date Time|date-time|time|Time|ts|TS|date|Date");
  for (const std::string& name : names) {
    expect({name.c_str(), "gpu," + name + ",power_w\n0,1700000000,1\n", "generic", name, "power_w",
            "gpu"});
  }
  const std::string in_order[] = {"timestamp", "datetime", "time", "ts", "date"};
  for (std::size_t i = 0; i + 1 < std::size(in_order); ++i) {
    expect({in_order[i].c_str(),
            in_order[i + 1] + "," + in_order[i] + ",power_w,gpu\n1700000000,1700000000,1,0\n",
            "generic", in_order[i], "power_w", "gpu"});
  }
}

TEST(ChooseColumns, AGenericTimeMustHoldAbsoluteTimes) {
  expect({"the first name holds none", "timestamp,ts,power_w,gpu\n0.5,1700000000,1,0\n", "generic",
          "ts", "power_w", "gpu"});
  expect({"a time of day", "time,date,power_w,gpu\n12:00:00,2026-04-25 12:00:00,1,0\n", "generic",
          "date", "power_w", "gpu"});
  expect({"three of the first five values are none",
          "ts,date,power_w,gpu\n1700000000,2026-04-25,1,0\n1700000001,2026-04-25,1,0\n"
          "2,2026-04-25,1,0\n3,2026-04-25,1,0\n4,2026-04-25,1,0\n",
          "generic", "date", "power_w", "gpu"});
  expect({"one bad stamp does not hide the others",
          "ts,date,power_w,gpu\n1700000000,2026-04-25,1,0\nprose,2026-04-25,1,0\n"
          "1700000002,2026-04-25,1,0\n",
          "generic", "ts", "power_w", "gpu"});
  expect({"blank values tell nothing",
          "ts,date,power_w,gpu\n,2026-04-25,1,0\n1700000001,2026-04-25,1,0\n", "generic", "ts",
          "power_w", "gpu"});
}

std::string loose_warning(const std::string& name) {
  return "loose_power_column: '" + name +
         "' is read as the power of the GPU, by its name alone; if another column is, choose it "
         "with --power-column";
}

// formats.md 5.1: whole names of real recorders. None is a draw, alone or beside one.
TEST(ChooseColumns, NeverTakesWhatOnlySoundsLikePower) {
  const Codes names = between_bars(
      // limits
      "power.limit|power.limit [W]|enforced.power.limit [W]|power.default_limit [W]|"
      "power.max_limit [W]|power.min_limit [W]|module.power.limit [W]|PowerCap|powercap_w|"
      "power_cap_watts|max_power|min_power|Power Max| Power Max|power.max|power_min_w|"
      "Power Limit|Max Graphics Package Power (W)|power_limit|PowerLimit|"
      "Power Consumption (%) [% TDP]|requested_power_limit|requested_power|enforced_power|"
      "default_power_w|MaxPower|PowerMax|power_max_w|"
      // states
      "power.management|power_management|inforom.pwr|inforom.power|power_state|"
      "C2C_LINK_POWER_STATE|power_profile|power mode|power_unit|PowerType|low_power|"
      "low power mode|"
      // reasons
      "clocks_event_reasons.hw_power_brake_slowdown|clocks_event_reasons.sw_power_cap|"
      "clocks_throttle_reasons.hw_power_brake_slowdown|"
      "clocks_event_reasons_counters.sw_power_cap [us]|DCGM_FI_DEV_POWER_VIOLATION|"
      "PWR_SMOOTHING_ENABLED|power_smoothing|power_throttle|power_brake|"
      // another quantity
      "power [%]|Board Power Draw [ % ]|power_pct|GPU power percent|power_ratio|"
      "power_efficiency|power_cost|target_power_w|power_wh|power [J]|Power temp|"
      // another scope
      "hbm_power_w|memory.power.draw [W]|fan_power_w|rack_power|sum_power|power_watts_all_gpus|"
      "cpu_power|cpu_power_w|ram_power|dram_power_w|soc_power|sys_power_w|system_power|"
      "node_power_w|total_measured_power_w|Total Power|psu_power|PSU1 Power|ubb_power|"
      "SYSTEM_POWER (Watts)|Processor Power_0(Watt)|IA Power_0(Watt)|DRAM Power_0(Watt)|"
      "GT Power_0(Watt)|MTBL_SOCKET_POWER|PCIe Slot Power [W]|6-Pin #1 Power [W]|"
      "MVDDQ Power Draw [W]|rail_power_mw|module.power.draw [W]|module.power.draw.average [W]|"
      "module.power.draw.instant [W]|board temp power|"
      // statistics
      "peak_power[W]|peak_power_w|power_median|power_q1|power_q3|power_std|"
      // energy
      "power_energy_j|energy_power|power_kwh|power_mwh|power_mj|power_accumulator");
  for (const std::string& name : names) {
    const Columns alone = choose("timestamp,index," + name + "\n1700000000,0,1\n");
    EXPECT_EQ(name_of(alone.power), "") << name;
    EXPECT_TRUE(alone.reasons.contains(Reason::power_column_missing)) << name;
    const Columns beside = choose("timestamp,index," + name + ",power_w\n1700000000,0,1,2\n");
    EXPECT_EQ(name_of(beside.power), "power_w") << name;
    EXPECT_EQ(beside.schema, "generic") << name;
    const Columns loose =
        choose("timestamp,index," + name + ",my power of gpu\n1700000000,0,1,2\n");
    EXPECT_EQ(name_of(loose.power), "my power of gpu") << name;
    EXPECT_EQ(loose.schema, "loose") << name;
    EXPECT_EQ(loose.warnings, Codes{loose_warning("my power of gpu")}) << name;
  }
}

// Contract.md part 0 row 3: `max` and `min` only as words of their own. Whether schema 2 takes the
// name is another question: row 32.
TEST(ChooseColumns, LooseRuleTakesTheFirstNameWithPower) {
  const Case cases[] = {
      {"minute is not min", "timestamp,index,power_minute\n1700000000,0,1\n", "loose", "timestamp",
       "power_minute", "index", "", kNoPower},
      {"nor is nominal", "timestamp,index,nominal_power\n1700000000,0,1\n", "loose", "timestamp",
       "nominal_power", "index", "", kNoPower},
      {"a name of nobody's", "my_timestamp_local,index,card_power_now\n2026-04-25 12:00:00,0,1\n",
       "loose", "my_timestamp_local", "card_power_now", "index"},
      {"a mean only where there is nothing else", "timestamp,index,avg_power_w\n1700000000,0,1\n",
       "loose", "timestamp", "avg_power_w", "index"},
      {"a draw before a mean", "timestamp,index,avg_power_w,power_of_gpu\n1700000000,0,1,2\n",
       "loose", "timestamp", "power_of_gpu", "index"},
  };
  for (const Case& c : cases) expect(c);
}

TEST(ChooseColumns, LooseRuleTakesNamesWhoseWordsAreAllKnown) {
  for (const std::string& name : between_bars(
           "board_power|Board Power Draw [W]|BoardPowerDraw|GPUBoardPowerW|boardpowerusagemw|"
           "avg_power|average_gpu_power_w|instant_power|power.instant|power_average|"
           "current power (Watts)|asic.power|socket power reading|card_power_value|gpu0 power|"
           "GPU 3 power usage (W)|power1|device_power_now_milliwatts|accelerator_power_draw|"
           "measured_power|nvidia_gpu_power_sensor|process_power_w")) {
    const Columns columns = choose("timestamp,index," + name + "\n1700000000,0,1\n");
    EXPECT_EQ(name_of(columns.power), name);
    EXPECT_EQ(columns.schema, "loose") << name;
    EXPECT_TRUE(columns.reasons.empty()) << name << ": " << columns.reasons.text();
    EXPECT_EQ(columns.warnings, Codes{loose_warning(name)}) << name;
  }
}

// Any word that is not known may make it another quantity. Schema 1 takes the column, as the
// original does.
TEST(ChooseColumns, LooseRuleNamesWhatOtherWordsMayMakeAnotherQuantity) {
  for (const std::string& name : between_bars(
           "power_util|power_threshold|powerBudget|power_setpoint|power_quota_w|power_allocated|"
           "power_headroom_w|nominal_power|ratedPower|predicted_power|power_forecast|"
           "power_baseline|power_delta|power_loss_w|power_p99|power_p50_w|power_integral|"
           "cumulative_power|reactive_power|mem_power_w|sram_power|vrm_power|host_power|"
           "serverPower|pdu_power|ac_power|dc_power|inlet_power|power_in|power_in_line|"
           "power_count|power_samples|power_seq|power_id|power_age_s|power_adc|power_error|"
           "power_cycles|power_status|power_level|power_va|power_hw|power_normalized|"
           "power_score|power_raw|power_avg_60s|power_1m|power2|power_10|aggregate_power_w|"
           "totalGpuPower|gpus_power|node1_power|idle_power_w|power/gpu|power_estimated_w")) {
    const Columns columns = choose("timestamp,index," + name + "\n1700000000,0,1\n");
    EXPECT_EQ(name_of(columns.power), name);
    EXPECT_EQ(columns.reasons.codes(), Codes{kNoPower}) << name;
    EXPECT_EQ(columns.reasons.text(),
              "power_column_missing ('" + name +
                  "' in the header is not known as the power of a whole GPU: if it is, name it "
                  "with --power-column)");
    const Columns named = choose("timestamp,index," + name + "\n1700000000,0,1\n", {.power = name});
    EXPECT_TRUE(named.reasons.empty()) << name << ": " << named.reasons.text();
    EXPECT_EQ(named.warnings, Codes{}) << name;
    const Columns generic = choose("timestamp,index," + name + ",gpu_power_w\n1700000000,0,1,2\n");
    EXPECT_EQ(name_of(generic.power), "gpu_power_w") << name;
    EXPECT_TRUE(generic.reasons.empty()) << name;
  }
}

TEST(ChooseColumns, LooseRuleWarnsOfASecondCandidate) {
  const Columns columns = choose(
      "timestamp,sometime,index,card_power,board_power [W],my_power\n1700000000,1700000000,0,1,2,3\n");
  EXPECT_EQ(columns.schema, "loose");
  EXPECT_EQ(name_of(columns.power), "card_power");
  EXPECT_EQ(name_of(columns.timestamp), "timestamp");
  EXPECT_EQ(columns.warnings,
            (Codes{"several_power_columns: 'card_power' is read; 'board_power [W]', 'my_power' "
                   "would fit too; choose with --power-column",
                   "several_timestamp_columns: 'timestamp' is read; 'sometime' would fit too; "
                   "choose with --timestamp-column"}));
  EXPECT_TRUE(columns.reasons.empty()) << columns.reasons.text();
}

TEST(ChooseColumns, LooseRuleDoesNotGuessPastAnUnknownFirst) {
  const Columns columns =
      choose("timestamp,index,power_budget,board_power\n1700000000,0,400,300\n");
  EXPECT_EQ(columns.reasons.text(),
            "power_column_missing (the header has 'power_budget', 'board_power'; 'power_budget' is "
            "not known as the power of a whole GPU: name the column that is with --power-column)");
}

// formats.md 5.2: none of these is the timestamp, whatever it holds.
TEST(ChooseColumns, NeverTakesWhatOnlySoundsLikeATime) {
  const Codes names = between_bars(
      "time_ms|time_s|time_relative_s|elapsed|elapsed_time|Elapsed Time (sec)|elapsed_s|"
      "duration|runtime|run_time|uptime|up_time|Delta|second|start_time|end_time|start_s|RDTSC|"
      "frame_idx|used_gpu_time|gpu_time_ns|evicted_time|"
      "clocks_event_reasons_counters.sw_power_cap [us]|"
      "clocks_event_reasons_counters.sw_thermal_slowdown_time [us]|TotalTime(S)|total_time|"
      "Time_Seconds|lifetime|timeout_s");
  for (const std::string& name : names) {
    for (const std::string value : {"4.5", "1700000000"}) {
      const Columns alone = choose(name + ",index,power_watts_now\n" + value + ",0,1\n");
      EXPECT_EQ(name_of(alone.timestamp), "") << name << " " << value;
      EXPECT_TRUE(alone.reasons.contains(Reason::timestamp_column_missing)) << name;
      if (name == "duration") continue;  // marks a summary of runs
      const Columns beside =
          choose(name + ",timestamp,index,power_w\n" + value + ",1700000000,0,1\n");
      EXPECT_EQ(name_of(beside.timestamp), "timestamp") << name;
      EXPECT_EQ(name_of(beside.power), "power_w") << name;
      const Columns late =
          choose(name + ",Date,gpu,power_w\n" + value + ",2026-04-25 1:02:03,0,1\n");
      EXPECT_EQ(name_of(late.timestamp), "Date") << name;
    }
  }
}

TEST(ChooseColumns, TakesTheSixNamesOfTheOriginalForADevice) {
  for (const std::string name : {"index", "gpu", "gpu_id", "gpu_index", "card", "device", "GPU_ID",
                                 "Index", "gpuId", "gpu index", "gpu-id"}) {
    expect({name.c_str(), "timestamp," + name + ",power_w\n1700000000,0,1\n", "generic",
            "timestamp", "power_w", name});
  }
  for (const std::string name :
       {"uuid", "gpu_uuid", "UUID", "pci.bus_id", "gpu_bus_id", "serial", "pci.bus", "module_id"}) {
    expect({name.c_str(), "timestamp," + name + ",power_w\n1700000000,7,1\n", "generic",
            "timestamp", "power_w", name});
  }
}

// formats.md 5.3, the traps; `device_id` is golden.md's.
TEST(ChooseColumns, NeverTakesWhatOnlySoundsLikeADevice) {
  for (const std::string& name :
       between_bars("name|gpu_name|gpu_model|gpu_vendor|gpu_memory_used_mb|gpu_util|GPU use (%)|"
                    "Device ID|device_id|Device Name|Node ID|xcp|TileId|GPU_I_ID|GPU_I_PROFILE|"
                    "partition_id|gpu0|indexed|card series|hostname")) {
    const Columns columns = choose("timestamp," + name + ",power_w\n1700000000,1,2\n");
    EXPECT_EQ(name_of(columns.device), "") << name;
    EXPECT_EQ(columns.reasons.codes(), Codes{kNoDevice}) << name;
  }
}

// Contract.md part 0 row 14.
TEST(ChooseColumns, PrefersADeviceColumnThatVaries) {
  const Case cases[] = {
      {"the six in header order",
       "timestamp,gpu,index,power_w\n1700000000,1,0,1\n1700000000,2,1,1\n", "generic", "timestamp",
       "power_w", "gpu"},
      {"the index never varies, the UUID does",
       "timestamp,index,uuid,power_w\n1700000000,0,GPU-a,1\n1700000000,0,GPU-b,1\n", "generic",
       "timestamp", "power_w", "uuid"},
      {"the same for nvidia-smi",
       "timestamp, index, pci.bus_id, power.draw [W]\n2026/04/25 16:06:06.780, 0, 00:1, 1 W\n"
       "2026/04/25 16:06:06.780, 0, 00:2, 1 W\n",
       "nvidia-smi", "timestamp", "power.draw [W]", "pci.bus_id"},
      {"the first of the six never varies, the second does",
       "timestamp,card,gpu,power_w\n1700000000,0,a,1\n1700000000,0,b,1\n", "generic", "timestamp",
       "power_w", "gpu"},
      {"neither varies: one GPU", "timestamp,index,uuid,power_w\n1700000000,0,GPU-a,1\n", "generic",
       "timestamp", "power_w", "index"},
      {"the index varies, so does the UUID",
       "timestamp,uuid,index,power_w\n1700000000,GPU-a,0,1\n1700000000,GPU-b,1,1\n", "generic",
       "timestamp", "power_w", "index"},
      {"no index: UUID before bus before serial",
       "timestamp,serial,pci.bus_id,uuid,power_w\n1700000000,1,2,3,1\n1700000000,4,5,6,1\n",
       "generic", "timestamp", "power_w", "uuid"},
      {"no index: the bus before the serial",
       "timestamp,module_id,pci.bus,serial,pci.bus_id,power_w\n1700000000,1,2,3,4,1\n"
       "1700000000,5,6,7,8,1\n",
       "generic", "timestamp", "power_w", "pci.bus_id"},
      {"no index, and the UUID never varies",
       "timestamp,uuid,serial,power_w\n1700000000,1,2,1\n1700000000,1,3,1\n", "generic",
       "timestamp", "power_w", "serial"},
      {"a blank cell is no variation",
       "timestamp,index,uuid,power_w\n1700000000,0,GPU-a,1\n1700000000,,GPU-a,1\n", "generic",
       "timestamp", "power_w", "index"},
  };
  for (const Case& c : cases) expect(c);
}

TEST(ChooseColumns, AHostIsPartOfTheDevice) {
  for (const std::string host : {"hostname", "Hostname", "host", "node", "instance"}) {
    expect({host.c_str(), "timestamp," + host + ",gpu,power_w\n1700000000,a,0,1\n", "generic",
            "timestamp", "power_w", "gpu", host});
  }
}

TEST(ChooseColumns, TheLastOfTheSameNameCounts) {
  const Columns columns =
      choose("timestamp,power_w,gpu,timestamp ,power_w, gpu\n1700000000,1,0,1700000000,2,1\n");
  ASSERT_TRUE(columns.timestamp && columns.power && columns.device);
  EXPECT_EQ(columns.timestamp->index, 3u);
  EXPECT_EQ(columns.power->index, 4u);
  EXPECT_EQ(columns.device->index, 5u);
  EXPECT_EQ(columns.schema, "generic");
  EXPECT_TRUE(columns.reasons.empty());
}

// formats.md section 9: candidates of the same rank are an error that lists them and names the
// option. The other columns are there all the same.
TEST(ChooseColumns, RefusesTwoPowersOfTheSameRank) {
  const std::string text =
      "timestamp, index, power.draw [W], power.draw [mW]\n2026/04/25 16:06:06.780, 0, 5, 5000\n";
  const Columns columns = choose(text);
  EXPECT_EQ(columns.schema, "nvidia-smi");
  EXPECT_FALSE(columns.power);
  EXPECT_EQ(name_of(columns.timestamp), "timestamp");
  EXPECT_EQ(name_of(columns.device), "index");
  EXPECT_EQ(columns.reasons.codes(), (Codes{kNoPower, "ambiguous_power_column"}));
  EXPECT_EQ(columns.reasons.text(),
            "power_column_missing, ambiguous_power_column ('power.draw [W]', 'power.draw [mW]'; "
            "choose with --power-column)");

  const Columns chosen = choose(text, {"", "power.draw [mW]", ""});
  EXPECT_EQ(name_of(chosen.power), "power.draw [mW]");
  EXPECT_EQ(chosen.unit.size, PowerUnit::Size::milliwatt);
  EXPECT_EQ(name_of(chosen.timestamp), "timestamp");
  EXPECT_EQ(name_of(chosen.device), "index");
  EXPECT_TRUE(chosen.reasons.empty()) << chosen.reasons.text();
}

TEST(ChooseColumns, RefusesWideFiles) {
  const Case cases[] = {
      {"GPU0, GPU1", "timestamp,GPU0,GPU1\n1763638585.215,60,70\n", "loose", "timestamp", "", "",
       "", "power_column_missing gpu_identity_column_missing wide_power_columns"},
      {"gpu0_power, gpu1_power", "timestamp,gpu0_power,gpu1_power\n1763638585.215,60,70\n", "loose",
       "timestamp", "", "", "",
       "power_column_missing gpu_identity_column_missing wide_power_columns"},
      {"power_gpu_0, power_gpu_1", "timestamp,power_gpu_0,power_gpu_1\n1763638585.215,60,70\n",
       "loose", "timestamp", "", "", "",
       "power_column_missing gpu_identity_column_missing wide_power_columns"},
  };
  for (const Case& c : cases) expect(c);
  const Columns chosen = choose("timestamp,GPU0,GPU1\n1763638585.215,60,70\n", {"", "GPU1", ""});
  EXPECT_EQ(name_of(chosen.power), "GPU1");
  EXPECT_EQ(name_of(chosen.timestamp), "timestamp");
  EXPECT_EQ(chosen.reasons.codes(), Codes{kNoDevice});
}

TEST(ChooseColumns, SaysWhenThereAreOnlyLimits) {
  const Case cases[] = {
      {"nvidia-smi", "timestamp, index, power.limit [W]\n2026/04/25 16:06:06.780, 0, 700 W\n",
       "loose", "timestamp", "", "index", "", "power_column_missing only_power_limits"},
      {"amd-smi static --limit: socket_power is the limit",
       "gpu,max_power,min_power,socket_power\n0,750,0,750\n", "amd-smi", "", "socket_power", "gpu",
       "", "timestamp_column_missing only_power_limits"},
  };
  for (const Case& c : cases) expect(c);
}

TEST(ChooseColumns, SaysWhenAFileIsASummary) {
  const Case cases[] = {
      {"CodeCarbon",
       "timestamp,project_name,run_id,duration,emissions,cpu_power,gpu_power,ram_power\n"
       "2024-05-26T18:51:23,p,r,10,0.1,1,2,3\n",
       "generic", "timestamp", "", "", "",
       "power_column_missing gpu_identity_column_missing run_summary"},
      {"a duration alone", "timestamp,gpu,duration,power_w\n1700000000,0,10,5\n", "generic",
       "timestamp", "", "gpu", "", "power_column_missing run_summary"},
  };
  for (const Case& c : cases) expect(c);
}

TEST(ChooseColumns, RefusesModelNamesAsDevices) {
  for (const std::string& model : between_bars(
           "NVIDIA H100 80GB HBM3|NVIDIA GeForce RTX 4090|H100|H100 SXM|A100-SXM4-80GB|"
           "A100-PCIE-40GB|MI300X|MI355X|B200|GH200|L40S|A10G|T4|V100|RTX 4090|RTX 3090 Ti|"
           "GTX 1650|GeForce RTX 3090|Tesla V100-SXM2-32GB|Quadro RTX 5000|AMD Instinct MI250X|"
           "Radeon RX 7900 XTX|Intel Arc A770|H800|H20|RTX A6000|RTX 6000 Ada Generation")) {
    const Columns columns =
        choose("timestamp,gpu,power_w\n1700000000," + model + ",1\n1700000001," + model + ",1\n");
    EXPECT_EQ(name_of(columns.device), "") << model;
    EXPECT_EQ(columns.reasons.codes(), (Codes{kNoDevice, "model_name_as_device"})) << model;
  }
  for (const std::string& id : between_bars(
           "0|12|100|4090|card0|nvidia0|GPU-8fe3a97d|gpu1|00000000:0F:00.0|0xC7|node7/3|a|xpu0")) {
    const Columns columns = choose("timestamp,gpu,power_w\n1700000000," + id + ",1\n");
    EXPECT_EQ(name_of(columns.device), "gpu") << id;
    EXPECT_TRUE(columns.reasons.empty()) << id;
  }
  expect({"an index beside it", "timestamp,gpu,gpu_index,power_w\n1700000000,NVIDIA H100,0,1\n",
          "generic", "timestamp", "power_w", "gpu_index"});
}

TEST(ChooseColumns, ReadsTheUnitOffTheName) {
  const struct {
    const char* name;
    PowerUnit::Size size;
    bool stated;
  } cases[] = {
      {"power", PowerUnit::Size::watt, false},
      {"power_usage", PowerUnit::Size::watt, false},
      {"power [W]", PowerUnit::Size::watt, true},
      {"power[W]", PowerUnit::Size::watt, true},
      {"power (W)", PowerUnit::Size::watt, true},
      {"power (Watt)", PowerUnit::Size::watt, true},
      {"power (watts)", PowerUnit::Size::watt, true},
      {"power_w", PowerUnit::Size::watt, true},
      {"power W", PowerUnit::Size::watt, true},
      {"gpu_power_watts", PowerUnit::Size::watt, true},
      {"gpu_watts", PowerUnit::Size::watt, true},
      {"power [mW]", PowerUnit::Size::milliwatt, true},
      {"power (mW)", PowerUnit::Size::milliwatt, true},
      {"power_milliwatts", PowerUnit::Size::milliwatt, true},
      {"gpuPowerMilliwatts", PowerUnit::Size::milliwatt, true},
      {"power_mw_gpu", PowerUnit::Size::milliwatt, true},
      {"power [microwatts]", PowerUnit::Size::microwatt, true},
      {"power_uw", PowerUnit::Size::microwatt, true},
      {"power_kilowatts", PowerUnit::Size::kilowatt, true},
      {"power_mw", PowerUnit::Size::milliwatt, true},
      {"power_mW", PowerUnit::Size::milliwatt, true},
      {"power (kW)", PowerUnit::Size::kilowatt, true},
      {"power (GPU 0)", PowerUnit::Size::watt, false},
  };
  for (const auto& c : cases) {
    const Columns columns =
        choose(std::string("timestamp,gpu,") + c.name + "\n1700000000,0,1\n", {"", c.name, ""});
    ASSERT_TRUE(columns.power) << c.name;
    EXPECT_EQ(columns.unit.size, c.size) << c.name;
    EXPECT_EQ(columns.unit.stated, c.stated) << c.name;
  }
}

TEST(ChooseColumns, ReadsNoColumnInAnotherUnit) {
  for (const char* name :
       {"power [%]", "power [dW]", "power [10mW]", "power (x10 mW)", "power_dbm"}) {
    const std::string text = std::string("timestamp,gpu,") + name + "\n1700000000,0,1\n";
    const Columns columns = choose(text, {"", name, ""});
    EXPECT_FALSE(columns.power) << name;
    EXPECT_EQ(columns.reasons.codes(), Codes{kNoPower}) << name;
    EXPECT_NE(columns.reasons.text().find("states the unit"), std::string::npos) << name;
    EXPECT_TRUE(choose(text, {.power = name, .power_unit = PowerUnit::Size::watt}).power) << name;
  }
}

TEST(ChooseColumns, ObeysNamedColumns) {
  const std::string text =
      "Time,stamp,gpu,slot,power_w,board power [mW]\n"
      "1700000000,1700000000,0,3,5,5000\n1700000000,1700000000,1,4,5,5000\n";
  const Columns all = choose(text, {"stamp", "board power [mW]", "slot"});
  EXPECT_EQ(name_of(all.timestamp), "stamp");
  EXPECT_EQ(name_of(all.power), "board power [mW]");
  EXPECT_EQ(name_of(all.device), "slot");
  EXPECT_EQ(all.unit.size, PowerUnit::Size::milliwatt);
  EXPECT_EQ(all.timestamp->why, "named by --timestamp-column");
  EXPECT_EQ(all.power->why, "named by --power-column");
  EXPECT_EQ(all.device->why, "named by --device-column");
  EXPECT_TRUE(all.reasons.empty()) << all.reasons.text();
  for (const std::string name : {"STAMP", " stamp ", "Stamp"}) {
    EXPECT_EQ(name_of(choose(text, {name, "", ""}).timestamp), "stamp") << name;
  }
  EXPECT_EQ(name_of(choose(text, {"", "board power", ""}).power), "board power [mW]")
      << "a name without its unit";
  EXPECT_EQ(name_of(choose("timestamp,P,p\n1700000000,1,2\n", {"", "p", ""}).power), "p")
      << "the exact name first";
}

TEST(ChooseColumns, ReadsANamedColumnOfMany) {
  const std::string text = "timestamp,gpu0_power,gpu1_power\n1700000000,5,6\n";
  EXPECT_EQ(choose(text).reasons.codes(), (Codes{kNoPower, kNoDevice, "wide_power_columns"}));
  const Columns named = choose(text, {"", "gpu1_power", ""});
  EXPECT_EQ(name_of(named.power), "gpu1_power");
  EXPECT_EQ(named.reasons.codes(), Codes{kNoDevice});
  EXPECT_EQ(
      named.warnings,
      Codes{
          "one_of_several_gpus: 'gpu1_power' is of one GPU, and others are not counted: 'gpu0_power'"});
}

TEST(ChooseColumns, WarnsOfARepeatedName) {
  const std::string text = "timestamp,gpu,power_w,power_w,temp,temp\n1700000000,0,5,6,7,8\n";
  EXPECT_EQ(choose(text).warnings,
            Codes{"duplicate_column: 'power_w' is in the header more than once; the last one "
                  "is read"});
}

TEST(ChooseColumns, WarnsOfOtherSeparators) {
  for (const char* separator : {";", "\t", "|"}) {
    std::string text = "timestamp;gpu;power_w\n1700000000;0;5\n";
    for (std::size_t at; (at = text.find(';')) != text.npos && *separator != ';';) {
      text.replace(at, 1, separator);
    }
    const Columns columns = choose(text);
    ASSERT_EQ(columns.warnings.size(), 1u) << separator;
    EXPECT_TRUE(columns.warnings[0].starts_with("not_comma_separated: the header looks separated"))
        << columns.warnings[0];
  }
}

TEST(ChooseColumns, ANamedDeviceDropsTheHost) {
  const Columns columns =
      choose("timestamp,host,gpu,slot,power_w\n1700000000,a,0,3,5\n", {"", "", "slot"});
  EXPECT_EQ(name_of(columns.device), "slot");
  EXPECT_FALSE(columns.host);
}

TEST(ChooseColumns, TakesTheUnitThatIsGivenBeforeTheHeaders) {
  using Size = PowerUnit::Size;
  for (const char* name : {"power_w", "power", "power.draw [mW]"}) {
    const std::string text = std::string("timestamp,gpu,") + name + "\n1700000000,0,5\n";
    const Columns columns = choose(text, {.power_unit = Size::kilowatt});
    EXPECT_EQ(columns.unit.size, Size::kilowatt) << name;
    EXPECT_FALSE(columns.unit.stated) << "a cell may state another";
    EXPECT_EQ(choose(text, {.power = name, .power_unit = Size::watt}).unit.size, Size::watt);
  }
}

TEST(ChooseColumns, SaysWhichNamedColumnIsMissing) {
  const Columns columns = choose("timestamp,gpu,power_w\n1700000000,0,5\n", {"", "watts", ""});
  EXPECT_FALSE(columns.power);
  EXPECT_EQ(columns.reasons.codes(), (Codes{kNoPower, "named_column_missing"}));
  EXPECT_EQ(columns.reasons.text(),
            "power_column_missing, named_column_missing (--power-column: no column 'watts'; the "
            "header has 'timestamp', 'gpu', 'power_w')");
  const Columns time = choose("timestamp,gpu,power_w\n1700000000,0,5\n", {"x", "", ""});
  EXPECT_EQ(time.reasons.codes(), (Codes{kNoTime, "named_column_missing"}));
  const Columns device = choose("timestamp,gpu,power_w\n1700000000,0,5\n", {"", "", "x"});
  EXPECT_EQ(device.reasons.codes(), (Codes{kNoDevice, "named_column_missing"}));
}

TEST(ChooseColumns, SaysAllThatIsMissingInTheContractsOrder) {
  expect({"nothing known", "a,b,c\n1,2,3\n", "", "", "", "", "",
          "timestamp_column_missing power_column_missing gpu_identity_column_missing"});
  expect({"only a device", "gpu,b,c\n1,2,3\n", "", "", "", "gpu", "",
          "timestamp_column_missing power_column_missing"});
  expect({"only a power", "power_w,b,c\n1,2,3\n", "loose", "", "power_w", "", "",
          "timestamp_column_missing gpu_identity_column_missing"});
  expect({"an empty header", ",\n1,2\n", "", "", "", "", "",
          "timestamp_column_missing power_column_missing gpu_identity_column_missing"});
}

TEST(ChooseColumns, NeverFailsOnAStrangeHeader) {
  for (const std::string& name :
       {std::string("\xFF\xFE"), std::string("\0", 1), std::string(5000, 'p') + "ower",
        std::string("power[[[]]]"), std::string("power ]"), std::string(")"), std::string("]"),
        std::string("[]"), std::string("power(W"), std::string("\"\"\"\"")}) {
    const std::vector<std::string> header = {name, "x"};
    const Columns columns = choose_columns(header, {}, is_absolute_time);
    EXPECT_FALSE(columns.reasons.empty());
  }
  EXPECT_FALSE(choose_columns({}, {}, is_absolute_time).reasons.empty());
}

TEST(ChooseColumns, KnowsWhichRecorderWritesUtc) {
  EXPECT_TRUE(
      choose("Timestamp, DeviceId, power.draw (W)\n2026/04/25 16:06:06.780, 0, 1\n").naive_is_utc);
  EXPECT_FALSE(
      choose("timestamp, index, power.draw [W]\n2026/04/25 16:06:06.780, 0, 1\n").naive_is_utc);
}

TEST(ChooseColumns, KnowsTimesOfDay) {
  for (const std::string time : {"21:54:35.000", "18:51:13:298", "22:45:30", "9:05"}) {
    EXPECT_TRUE(choose("Timestamp, DeviceId, GPU Power (W)\n" + time + ", 0, 1\n").time_of_day)
        << time;
  }
  EXPECT_FALSE(
      choose("Timestamp, DeviceId, GPU Power (W)\n2026-04-25 21:54:35, 0, 1\n").time_of_day);
}

TEST(ChooseColumns, PrefersTheAveragedMetricOfALongTable) {
  const auto metric = [](const std::string& names) {
    std::string text = "timestamp,metric_name,uuid,value\n";
    std::string name;
    for (const char c : names + ",") {
      if (c == ',') {
        text += "1700000000,DCGM_FI_DEV_" + name + ",GPU-1,5\n";
        name.clear();
      } else {
        name += c;
      }
    }
    return choose(text).metric;
  };
  EXPECT_EQ(metric("GPU_UTIL,POWER_USAGE"), "DCGM_FI_DEV_POWER_USAGE");
  EXPECT_EQ(metric("POWER_USAGE_INSTANT,POWER_USAGE"), "DCGM_FI_DEV_POWER_USAGE");
  EXPECT_EQ(metric("POWER_USAGE_INSTANT"), "DCGM_FI_DEV_POWER_USAGE_INSTANT");
  EXPECT_EQ(metric("BOARD_POWER_RAW_WATTS,BOARD_POWER_WATTS"), "DCGM_FI_DEV_BOARD_POWER_WATTS");
  EXPECT_EQ(metric("GPU_UTIL,BOARD_POWER_RAW_WATTS"), "DCGM_FI_DEV_BOARD_POWER_RAW_WATTS");
}

TEST(HeaderKindOf, TellsHeadersFromOtherLines) {
  const auto check = [](const std::string& text, bool strict) {
    const auto table = cells_of(text);
    const HeaderKind kind = header_kind(table.at(0), Rows(table).subspan(1), is_absolute_time);
    return strict ? kind == HeaderKind::of_schema : kind != HeaderKind::none;
  };
  const std::string row = "\n1700000000,0,5\n";
  EXPECT_TRUE(check("timestamp,gpu,socket_power" + row, true));
  EXPECT_TRUE(check("timestamp,gpu,power_w" + row, true));
  EXPECT_FALSE(check("some time,gpu,some power" + row, true)) << "the loose rule";
  EXPECT_TRUE(check("some time,gpu,some power" + row, false));
  EXPECT_FALSE(check("This time the power is on" + row, false)) << "one cell cannot be both";
  EXPECT_FALSE(check("'CTRL + C' to stop watching:" + row, false));
  EXPECT_FALSE(check("1700000000,0,5" + row, false));
}

TEST(ChooseColumns, KeepsWhatOtherColumnsCallTheDevices) {
  const auto others = choose(
                          "timestamp,gpu,gpu_uuid,power.draw [W]\n"
                          "1788852000,0,GPU-a,100\n1788852000,1,GPU-b,100\n",
                          {.device = "gpu_uuid"})
                          .other_names;
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].column, "gpu");
  EXPECT_EQ(others[0].names, (std::vector<std::string>{"0", "1"}));
  // The indices of two hosts are not names of four devices.
  EXPECT_TRUE(choose("timestamp,gpu,gpu_uuid,power.draw [W]\n"
                     "1788852000,0,GPU-a,100\n1788852000,0,GPU-b,100\n",
                     {.device = "gpu_uuid"})
                  .other_names.empty());
  EXPECT_TRUE(choose("timestamp,host,gpu,index,power.draw [W]\n"
                     "1788852000,a,0,0,100\n1788852000,b,0,0,100\n")
                  .other_names.empty());
}

}  // namespace schema_test
}  // namespace aggregate_power
