// Stores as they were named to those that are to be walked.
#include "store/backfill/backfill.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace distinct_stores_test {

namespace fs = std::filesystem;
using test::Folder;
using Names = std::vector<std::string>;

Names named(const std::vector<NamedStore>& stores) {
  Names names;
  for (const NamedStore& store : stores) names.push_back(store.named);
  return names;
}

TEST(DistinctStores, AreTakenOnceWhateverTheirNames) {
  const Folder folder;
  fs::create_directories(folder / "a/b");
  fs::create_directories(folder / "ab");
  test::put(folder / "x.zip", "");
  fs::create_directory_symlink("a", folder / "link");
  const std::string dots = folder / "ab/../a";
  EXPECT_EQ(named(distinct_stores({folder / "ab", folder / "a", folder / "a"})),
            (Names{folder / "ab", folder / "a"}));
  EXPECT_EQ(named(distinct_stores({folder / "link", dots, folder / "a"})), Names{folder / "link"});
  EXPECT_EQ(named(distinct_stores({folder / "a/b", folder / "ab", folder / "link"})),
            (Names{folder / "ab", folder / "link"}));
  EXPECT_EQ(named(distinct_stores({folder / "x.zip", folder.path(), folder / "x.zip"})),
            Names{folder.path()});
  EXPECT_EQ(distinct_stores({dots})[0].real, folder / "a");
}

// The walk of an artifact of agents, or of the LOGS of a package, goes no deeper.
TEST(DistinctStores, AreKeptWhereTheOuterOnesWalkDoesNotComeByThem) {
  const Folder folder;
  const std::string agentic = folder / "agentic_r";
  const std::string logs = folder / "power_audit_p/LOGS";
  const std::string plain_logs = folder / "power_audit_q/LOGS";
  fs::create_directories(agentic + "/results");
  fs::create_directories(logs + "/power");
  fs::create_directories(plain_logs);
  const Names inner = {agentic, agentic + "/results", logs, plain_logs};
  EXPECT_EQ(named(distinct_stores({folder.path(), inner[0], inner[1], inner[2], inner[3]})),
            (Names{folder.path(), agentic + "/results", logs}));
}

}  // namespace distinct_stores_test
}  // namespace aggregate_power
