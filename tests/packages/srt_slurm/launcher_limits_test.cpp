// The launcher's files of power limits. Contract-october.md 9.8.
#include "packages/srt_slurm/launcher_limits.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/files/tree.h"

namespace aggregate_power::packages {
namespace {

class LauncherLimitsOf : public testing::Test {
 protected:
  LauncherLimitsOf() { std::filesystem::create_directories(folder_); }
  ~LauncherLimitsOf() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& rows) const {
    std::ofstream(folder_ + "/gpu_power_limits_" + name + ".csv")
        << "node,gpu_index,power_limit_w\r\n"
        << rows;
  }
  PackagePlace place() const { return {disk_tree(), folder_ + "/power", folder_}; }

  std::string folder_ = testing::TempDir() + "launcher_limits";
};

TEST_F(LauncherLimitsOf, AGpuIsTheAppliedOne) {
  write("before", "n,0,1200\r\n");
  write("applied", "n,0,700\r\nn.cluster.local,1,900\r\n");
  std::vector<std::string> warnings;
  const LauncherLimits limits(place(), warnings);
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(limits.different_w(), (std::vector<double>{700, 900}));
  EXPECT_EQ(limits.of({"n", 0})->limits_w, std::vector<double>{700});
  EXPECT_EQ(limits.of({"n", 0})->before_w, 1200);
  EXPECT_FALSE(limits.of({"n", 0})->restored_w.has_value());
  EXPECT_EQ(limits.of({"n", 1})->limits_w, std::vector<double>{900});
  EXPECT_FALSE(limits.of({"n", 2}).has_value());
  EXPECT_FALSE(limits.of({"other", 0}).has_value());
}

TEST_F(LauncherLimitsOf, ABrokenFileIsAWarning) {
  for (const char* const rows : {"n,0\r\n", "n,x,700\r\n", "n,0,-1\r\n", "n,0,nan\r\n"}) {
    write("applied", rows);
    std::vector<std::string> warnings;
    EXPECT_TRUE(LauncherLimits(place(), warnings).different_w().empty());
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("gpu_power_limits_applied.csv: not read"), std::string::npos);
  }
}

}  // namespace
}  // namespace aggregate_power::packages
