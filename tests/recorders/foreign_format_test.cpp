// Files that are not telemetry CSVs: what each begins with is as its program writes it.
#include "recorders/foreign_format.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/telemetry/lines.h"

namespace aggregate_power {
namespace foreign_format_test {

using namespace std::string_literals;
using Lines = std::vector<std::string>;

struct Case {
  std::string head;
  const char* sentence;  // how it begins; "": none
  bool is_binary = false;
};

TEST(ForeignFormat, IsNamedByContent) {
  const Case cases[] = {
      {"SQLite format 3\0\x10\0\1\1"s, "this is an SQLite database", true},
      {"PAR1\x15\x04\x15\x10"s, "this is a Parquet file", true},
      {"PK\x03\x04\x14\0\0"s, "this is compressed in a way that is not read", true},
      {"\xFD\x37zXZ\0\0\4"s, "this is compressed in a way that is not read", true},
      {"\x7F"
       "ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\x3E\0"s,
       "this is a binary file", true},
      {" \n\n\r\n", "this has nothing but blank lines"},
      {"\0\0\0\n"s, "this has nothing but blank lines"},
      {R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{"gpu":"0"},)"
       R"("values":[[1777118400,"100.5"]]}]}})",
       "this is the answer to a Prometheus query"},
      {"{\n  \"data\": {\"result\": [], \"resultType\": \"vector\"},\n  \"status\": \"success\"\n}\n",
       "this is the answer to a Prometheus query"},
      {"{\n  \"telemetry_data\": {\n    \"summary\": {\n      \"endpoints_configured\": []",
       "this is an export of AIPerf, which has statistics"},
      {"{\"timestamp\": 1777118400, \"power\": 100}\n{\"timestamp\": 1777118401, \"power\": 101}\n",
       "these are JSON lines"},
      {"[{\"gpu\": 0, \"power\": {\"socket_power\": 100}}]",
       "this is one reading of amd-smi, without a time: record with amd-smi metric -p -E -w 1"},
      {"{\"gpu_power\": 0.4, \"ane_power\": 0.0}\n",
       "these are lines of a macmon that writes no times"},
      {":W&B\0\xE1\xBE\0"s, "this is W&B's binary log of a run: upload it with wandb sync", true},
      {"# gpu         pid   type     sm\n# Idx           #    C/G      %\n",
       "this is the text of nvidia-smi pmon, which has the shares of processes and no power"},
      {"_NVIDIA_GPU_POWER_USAGE Host Socket DeviceID Power\n", "this is the text of Variorum"},
      {"time_relative_ms,power_watts,energy_relative_joules\n0,1,0\n", "its times count from"},
      {"timestamp_system_epoch_ms,nvml_joules_energy\n1,0\n",
       "this is an energy counter of Kokkos"},
      {"<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n", "this is one reading of nvidia-smi -q -x"},
      {"\n{\n  \"card0\": {\"Average Graphics Package Power (W)\": \"34.0\"}\n}\n", "this is JSON"},
      {"<!DOCTYPE html>\n<html lang=\"en\">", "this is a web page (HTML)"},
      {"<HTML><BODY>", "this is a web page (HTML)"},
      {"<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">",
       "this is XML"},
      {"# gpu    pwr  gtemp  mtemp\n# Idx      W      C      C\n    0     10     52      -\n",
       "this is the text of nvidia-smi dmon"},
      {"#Date       Time        gpu    pwr  gtemp\n#YYYYMMDD   HH:MM:SS    Idx      W      C\n",
       "this is the text of nvidia-smi dmon"},
      {"\n==============NVSMI LOG==============\n\nTimestamp    : Tue May  3 09:04:37 2022\n",
       "this is one reading of nvidia-smi -q: record with nvidia-smi -q -l 1"},
      {"Wed Feb 26 13:50:18 2025       \n"
       "+-----------------------------------------------------------------------------------------+\n"
       "| NVIDIA-SMI 560.35.03              Driver Version: 560.35.03      CUDA Version: 12.6     |\n",
       "this is the table of nvidia-smi"},
      {"============================ ROCm System Management Interface ============================\n",
       "this is the text of rocm-smi"},
      {"#Entity   POWER     TOTEC\nID        W         mJ\nGPU 0     71.033    12345\n",
       "this is the text of dcgmi dmon"},
      {"RAM 936/3964MB (lfb 366x4MB) SWAP 0/4096MB (cached 0MB)\n",
       "this is the text of tegrastats"},
      {"10-01-2025 20:05:55 RAM 936/3964MB (lfb 366x4MB)\n", "this is the text of tegrastats"},
      {"#Time        gpu    pwr  gtemp\n#HH:MM:SS    Idx      W      C\n",
       "this is the text of nvidia-smi dmon without dates: record with nvidia-smi dmon -o DT"},
      {"{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n", "this is a profiler's trace"},
      {"[{\"name\": \"k\", \"ph\": \"X\", \"ts\": 1}]", "this is a profiler's trace"},
      {"layer_name,exec_id,start_time,end_time,duration_ms\n0,0,1763508239.3,1763508239.4,0.1\n",
       "these are the layers of a profile (GPUPP)"},
      {"kernel_name,exec_id,duration_ms,avg_power_w,energy_j\n",
       "these are the kernels of a profile (GPUPP)"},
      {"kernel_name,total_duration_ms,avg_power_w,total_energy_j\n",
       "these are the kernels of a profile (GPUPP)"},
      {"timestamp,energy_uj,domain\n1777118400,2000000000,package-0\n",
       "these are energy counters of processors (RAPL)"},
      {"timestamp,package-0,package-1,dram-0,psys\n1777118400,0,0,0,0\n",
       "these are energy counters of processors (RAPL)"},
      {"timestamp,core\n1777118400,1\n", "these are energy counters of processors (RAPL)"},
      {"# HELP DCGM_FI_DEV_POWER_USAGE Power draw (in W).\n# TYPE DCGM_FI_DEV_POWER_USAGE gauge\n"
       "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 52.636\n",
       "these are metrics as an exporter prints them for Prometheus"},
      {"nvidia_smi_power_draw_watts{uuid=\"5f0c\"} 4.2e+01\n",
       "these are metrics as an exporter prints them for Prometheus"},
      {"2026/04/25 12:00:00.000, 0, 100 W\n", "row 1 looks like data: "},
      {"# by hand\n1777118400,0,100\n",
       "row 1 looks like data: the file needs a header; give --columns timestamp,index,power.draw, "
       "with"},
      {"2026/04/25 12:00:00.000, NVIDIA H100, GPU-5f0c1a2b-1111-2222, 97 %, 100.1 W, 1980 MHz\n",
       "row 1 looks like data: the file needs a header; give --columns "
       "timestamp,name,uuid,column4,power.draw,column6, with"},
      // Of two columns of watts, the limit is the one that stays the same.
      {"2026/04/25 12:00:00.000, 00000000:07:00.0, 700.00 W, 100.10 W\n"
       "2026/04/25 12:00:01.000, 00000000:07:00.0, 700.00 W, 101.10 W\n",
       "row 1 looks like data: the file needs a header; give --columns "
       "timestamp,pci.bus_id,power.limit,power.draw, with"},
      {"2026/04/25 12:00:00.000, 0, 700.00 W, 100.10 W\n",
       "row 1 looks like data: the file needs a header; give --columns timestamp,index,power.draw, "
       "with"},
      {"2026/04/25 12:00:00.000, 0, 1, 100.10 W\n",
       "row 1 looks like data: the file needs a header; give --columns timestamp,index,power.draw, "
       "with"},
      {"28.44\n28.45\n", ""},
      {"", "this has nothing but blank lines"},
  };
  for (const Case& c : cases) {
    const std::optional<ForeignFormat> format = foreign_format(c.head);
    if (*c.sentence == '\0') {
      EXPECT_FALSE(format) << c.head;
      continue;
    }
    ASSERT_TRUE(format) << c.head;
    EXPECT_TRUE(format->sentence.starts_with(c.sentence)) << format->sentence;
    EXPECT_EQ(format->is_binary, c.is_binary) << c.head;
  }
}

// Each line that a file may begin with, with a quote in each place.
TEST(ForeignFormat, ReadsBrokenQuotes) {
  const std::string line = "2026/09/08 09:20:30.123, 0, 100.00 W";
  for (std::size_t i = 0; i <= line.size(); ++i) {
    std::string broken = line;
    broken.insert(i, 1, '"');
    EXPECT_NO_THROW(foreign_format(line + "\n" + broken + "\n")) << broken;
    EXPECT_NO_THROW(foreign_format(broken + "\n" + line + "\n")) << broken;
  }
}

TEST(ForeignFormat, IsNoneForCsvs) {
  for (const std::string_view head :
       {"timestamp, index, power.draw [W]\n2026/04/25 12:00:00.000, 0, 100 W\n",
        "second,power_w\n0,9.73\n", "timestamp,GPU0,GPU1\n1763638585.215,199.975,256.513\n",
        "timestamp,energy_j,utilization\n1,2,3\n", "timestamp,core_clock\n1,2\n",
        "[04-03-2021 @ 13:32:39] >  Temp: 58C  Power: 1/250 W\n", "Found 1 device\nPower: 42.8W\n",
        "\xFF\xE4\xF6,temp\n1,2\n"}) {
    EXPECT_FALSE(foreign_format(head)) << head;
  }
}

TEST(ForeignFormat, ShowsTheErrorOfPrometheus) {
  const std::string begin = R"({"status":"error","errorType":"bad_data","error":)";
  EXPECT_EQ(foreign_format(begin + R"("parse error\u001b[31m"})")->sentence,
            "this is an error of Prometheus and has no samples: 'parse error?[31m'; correct the "
            "query and ask again");
  const std::string long_one =
      foreign_format(begin + '"' + std::string(300, 'x') + "\"}")->sentence;
  EXPECT_NE(long_one.find("'" + std::string(200, 'x') + "...'"), long_one.npos) << long_one;
  EXPECT_NE(foreign_format(begin + "\"cut")->sentence.find("'unknown'"), std::string::npos);
}

TEST(ForeignFormat, ShowsTheFirstLinesForATerminal) {
  EXPECT_EQ(first_lines("\n a,b\r\n\n1,2\n3,4\n5,6\n"), (Lines{"a,b", "1,2", "3,4"}));
  EXPECT_EQ(first_lines(""), Lines{});
  EXPECT_EQ(first_lines("a\x1B[31m\tb\n"), Lines{"a?[31m?b"});
  EXPECT_EQ(first_lines("D\0\0ate\n"s), Lines{"Date"});
  EXPECT_EQ(first_lines(std::string(101, 'x')), Lines{std::string(100, 'x') + "..."});
}

}  // namespace foreign_format_test
}  // namespace aggregate_power
