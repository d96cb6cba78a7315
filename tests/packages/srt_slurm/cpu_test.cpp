// The CPU power samples of a package, and of its hosts.
#include "packages/srt_slurm/srt_slurm.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace cpu_samples_test {

const std::string kV1 =
    "schema_version,timestamp_unix,hostname,source,sensor,socket_id,power_w,total_power_w\n";
const std::string kV2 =
    "schema_version,timestamp_unix,hostname,source,sensor,socket_id,power_w,cpu_rail_w,soc_w,"
    "dram_w,total_power_w\n";

struct Read {
  std::vector<CpuSample> samples;
  Reasons reasons;
};

Read read(const std::string& text, CpuRecorder recorder = CpuRecorder::head_node) {
  Read result;
  MemorySource source(text);
  result.reasons = read_cpu_samples(
      source, recorder, [&](const CpuSample& sample) { result.samples.push_back(sample); });
  return result;
}

// The columns of contract-october.md 9.1, with `more` before and behind total_power_w.
std::string header(const std::string& stamps, const std::string& more, const std::string& end) {
  return "schema_version,timestamp_unix," + stamps + "hostname,source,sensor,socket_id,power_w," +
         more + "total_power_w" + end + "\n";
}
const std::string kRails = "cpu_rail_w,soc_w,dram_w,";
const std::string kUtilization =
    ",cpu_util_total,cpu_util_user,cpu_util_nice,cpu_util_sys,cpu_util_irq";
const std::string kLocal = "timestamp_local,";

TEST(CpuSamples, OfVersion3HaveModules) {
  const std::string v3 = header("", kRails + "module_w,", "");
  const Read some = read(v3 + "3,1000,h,acpi,CPU0:cpuSidePowerUsageW,0,94,40,5,,480,188\n" +
                         "3,1001,h,acpi,CPU0:cpuSidePowerUsageW,0,94,,,,,\n");
  EXPECT_TRUE(some.reasons.empty());
  ASSERT_EQ(some.samples.size(), 2u);
  EXPECT_EQ(some.samples[0].module_w, 480);
  EXPECT_EQ(some.samples[1].module_w, std::nullopt);
  EXPECT_TRUE(some.samples[1].has_module_column);
  for (const char* module : {"-1", "nan", "x", "inf", " "}) {
    const Read bad = read(v3 + "3,1000,h,acpi,s,0,94,40,5,," + module + ",188\n");
    EXPECT_EQ(bad.reasons.codes(), std::vector<std::string>{"cpu_samples_malformed"}) << module;
  }
  const Read other = read(v3 + "2,1000,h,acpi,s,0,94,40,5,,480,188\n");
  EXPECT_EQ(other.reasons.codes(), std::vector<std::string>{"cpu_samples_malformed"});
}

TEST(CpuSamples, OfHostsHaveColumnsOfTheirOwn) {
  const std::string local = "2026-09-08T11:20:00.031250+02:00";
  const std::pair<std::string, std::string> files[] = {
      {header("", "", ""), "1,1000,h,acpi,s,1,94,188"},
      {header(kLocal, "", ""), "2,1000," + local + ",h,acpi,s,1,94,"},
      {header(kLocal, "", kUtilization), "3,1000," + local + ",h,acpi,s,1,94,None,,,,,"},
      {header(kLocal, kRails, kUtilization), "4,1000," + local + ",h,acpi,s,1,94,40,5,,188,,,,,"},
      {header(kLocal, kRails + "module_w,", kUtilization),
       "5,1000," + local + ",h,dcgm,s,1,94,40,5,,480,188,0.5,0.4,0,0.1,0"}};
  for (const auto& [names, row] : files) {
    const Read read_row = read(names + row + "\n", CpuRecorder::hosts);
    EXPECT_TRUE(read_row.reasons.empty()) << row << read_row.reasons.text();
    ASSERT_EQ(read_row.samples.size(), 1u);
    EXPECT_EQ(read_row.samples[0].hostname, "h");
    EXPECT_EQ(read_row.samples[0].socket_id, 1);
    EXPECT_EQ(read_row.samples[0].power_w, 94);
    const bool is_newest = row[0] == '5';
    EXPECT_EQ(read_row.samples[0].module_w, is_newest ? std::optional(480.0) : std::nullopt);
    const bool is_of_both = row[0] == '1';
    EXPECT_EQ(read(names + row + "\n").reasons.empty(), is_of_both) << row;
  }
}

TEST(CpuSamples, AreReadInBothVersions) {
  const Read v1 = read(kV1 + "1,1000.5,node-a,acpi,Grace Power Socket 1,1,99.5,\n");
  EXPECT_TRUE(v1.reasons.empty());
  ASSERT_EQ(v1.samples.size(), 1u);
  EXPECT_EQ(v1.samples[0].unix_s, 1000.5);
  EXPECT_EQ(v1.samples[0].hostname, "node-a");
  EXPECT_EQ(v1.samples[0].source, "acpi");
  EXPECT_EQ(v1.samples[0].sensor, "Grace Power Socket 1");
  EXPECT_EQ(v1.samples[0].socket_id, 1);
  EXPECT_EQ(v1.samples[0].power_w, 99.5);
  EXPECT_EQ(v1.samples[0].cpu_rail_w, std::nullopt);

  const Read v2 = read(kV2 +
                       "2,1000,node-a,acpi,CPU0:cpuSidePowerUsageW,0,100,60.5,20,,\n"
                       "2,1001,node-a,acpi,CPU0:cpuSidePowerUsageW,0,100,,0,not read,nor this\n");
  EXPECT_TRUE(v2.reasons.empty());
  ASSERT_EQ(v2.samples.size(), 2u);
  EXPECT_EQ(v2.samples[0].cpu_rail_w, 60.5);
  EXPECT_EQ(v2.samples[0].soc_w, 20);
  EXPECT_EQ(v2.samples[1].cpu_rail_w, std::nullopt);
  EXPECT_EQ(v2.samples[1].soc_w, 0);
}

TEST(CpuSamples, NeedAKnownHeader) {
  for (const std::string& text :
       {std::string(), std::string("\n"), " " + kV1, "\xEF\xBB\xBF" + kV1,
        kV1.substr(0, kV1.size() - 15) + "\n1,1,a,b,c,0,1\n", "a,b\n" + kV1}) {
    const Read result = read(text);
    EXPECT_EQ(result.reasons.codes(), std::vector<std::string>{"cpu_samples_header_mismatch"})
        << text;
    EXPECT_TRUE(result.samples.empty());
  }
  EXPECT_EQ(read("a,b\n" + kV1).reasons.text(), "cpu_samples_header_mismatch (it is 'a,b')");
  EXPECT_EQ(read("").reasons.text(), "cpu_samples_header_mismatch (it is missing)");
}

TEST(CpuSamples, ThatCannotBeReadAreAFault) {
  const std::string good = "2,1000,a,acpi,s,0,100,60,20,,\n";
  EXPECT_TRUE(read(kV2 + good).reasons.empty());
  for (const char* row : {
           "\n",                                // blank
           "2,1000,a,acpi,s,0,100,60,20,\n",    // too few cells
           "2,1000,a,acpi,s,0,100,60,20,,,\n",  // too many
           "1,1000,a,acpi,s,0,100,60,20,,\n",   // of another version
           "2.0,1000,a,acpi,s,0,100,60,20,,\n",
           ",1000,a,acpi,s,0,100,60,20,,\n",
           "2,,a,acpi,s,0,100,60,20,,\n",
           "2,soon,a,acpi,s,0,100,60,20,,\n",
           "2,inf,a,acpi,s,0,100,60,20,,\n",
           "2,1000,,acpi,s,0,100,60,20,,\n",
           "2,1000,a,,s,0,100,60,20,,\n",
           "2,1000,a,acpi,,0,100,60,20,,\n",
           "2,1000,a,acpi,s,-1,100,60,20,,\n",
           "2,1000,a,acpi,s,0.5,100,60,20,,\n",
           "2,1000,a,acpi,s,0,,60,20,,\n",
           "2,1000,a,acpi,s,0,-1,60,20,,\n",
           "2,1000,a,acpi,s,0,nan,60,20,,\n",
           "2,1000,a,acpi,s,0,100,-1,20,,\n",
           "2,1000,a,acpi,s,0,100,60,x,,\n",
           "2,1000,a,acpi,s,0,100,60,inf,,\n",
       }) {
    const Read result = read(kV2 + good + row + good);
    EXPECT_EQ(result.reasons.text(), "cpu_samples_malformed (row 2 after the header)") << row;
    EXPECT_EQ(result.samples.size(), 2u) << row;
  }
  const Read torn = read(kV2 + good + "2,1000,\xFF");
  EXPECT_EQ(torn.reasons.text(),
            "cpu_samples_malformed (row 2 after the header: bytes that are not UTF-8)");
  EXPECT_EQ(torn.samples.size(), 1u);
  const Read unused = read(kV2 + good + "2,1000,a,acpi,s,0,100,60,20,,\xFF\n" + good);
  EXPECT_EQ(unused.reasons.text(),
            "cpu_samples_malformed (row 2 after the header: bytes that are not UTF-8)");
  const std::string nul("2,1000,a\0,acpi,s,0,100,60,20,,\n", 31);
  EXPECT_EQ(read(kV2 + good + nul + good).reasons.codes(),
            std::vector<std::string>{"cpu_samples_malformed"});
  const std::string endless(200000, 'x');
  EXPECT_EQ(
      read(kV2 + good + "2,\"" + endless).reasons.text(),
      "cpu_samples_malformed (row 2 after the header: a cell of more than 131072 characters)");
}

TEST(CpuSamples, TakeNumbersAsPythonDoes) {
  const Read result = read(kV1 + " 1 ,1_000, a,b,c,+0,1e2,\n");
  EXPECT_TRUE(result.reasons.empty());
  ASSERT_EQ(result.samples.size(), 1u);
  EXPECT_EQ(result.samples[0].unix_s, 1000);
  EXPECT_EQ(result.samples[0].hostname, " a");
  EXPECT_EQ(result.samples[0].power_w, 100);
}

}  // namespace cpu_samples_test
}  // namespace aggregate_power
