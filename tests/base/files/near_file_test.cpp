// Proposals for mistyped paths.
#include "base/files/path.h"

#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace near_file_test {

TEST(NearFile, IsTheNearestInTheSameFolder) {
  const test::Folder folder;
  test::put(folder / "gpu_metrics.csv", "");
  test::put(folder / "run.json", "");
  EXPECT_EQ(near_file(folder / "gpu_metrcs.csv"), folder / "gpu_metrics.csv");
  EXPECT_EQ(near_file(folder / "Run.json"), folder / "run.json");
  EXPECT_EQ(near_file(folder / "agg_run.json"), std::nullopt);  // another file, not a misspelt one
  EXPECT_EQ(missing_file_hint(folder / "rnu.json"),
            (folder / "rnu.json") + " does not exist: did you mean " + (folder / "run.json") + "?");
}

TEST(NearFile, IsNothingForWhatExistsOrCannotBeListed) {
  const test::Folder folder;
  test::put(folder / "run.json", "");
  std::filesystem::create_directory(folder / "runs.json");
  std::filesystem::create_symlink("nowhere", folder / "rum.json");
  EXPECT_EQ(near_file(folder / "run.json"), std::nullopt);
  EXPECT_EQ(near_file(folder / "runs.json"), std::nullopt);
  EXPECT_EQ(near_file(folder / "rum.json"), std::nullopt);  // a link that leads nowhere is there
  EXPECT_EQ(near_file(folder / "none/run.json"), std::nullopt);
  EXPECT_EQ(near_file("-"), std::nullopt);
  EXPECT_EQ(near_file(""), std::nullopt);
  EXPECT_EQ(missing_file_hint(folder / "run.json"), "");
}

}  // namespace near_file_test
}  // namespace aggregate_power
