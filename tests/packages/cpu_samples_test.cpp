// The CPU power samples of a package, version 1 and 2.
#include "packages/cpu_samples.h"

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

Read read(const std::string& text) {
  Read result;
  MemorySource source(text);
  result.reasons =
      read_cpu_samples(source, [&](const CpuSample& sample) { result.samples.push_back(sample); });
  return result;
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
