// What was met in a store, by the run's name.
#include "store/disk_index.h"

#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace aggregate_power {
namespace disk_index_test {

using Found = std::map<std::string, std::vector<std::string>>;

Found all_of(DiskIndex& index) {
  Found found;
  index.for_each_name([&](const std::string& name, const std::vector<IndexEntry>& entries) {
    EXPECT_FALSE(found.contains(name)) << name << " was given twice";
    for (const IndexEntry& entry : entries) {
      EXPECT_EQ(entry.name, name);
      found[name].push_back(fmt::format("{}:{}", entry.kind, entry.text));
    }
  });
  return found;
}

TEST(DiskIndex, GivesTogetherWhatHasOneName) {
  DiskIndex index;
  index.add({1, "a", "store/a.json"});
  index.add({0, "b", "store/b.csv"});
  index.add({0, "a", "store/a.csv"});
  EXPECT_EQ(all_of(index),
            (Found{{"a", {"0:store/a.csv", "1:store/a.json"}}, {"b", {"0:store/b.csv"}}}));
}

TEST(DiskIndex, KeepsAnyBytes) {
  DiskIndex index;
  const std::string odd("a\0b\n\xFF", 5);
  index.add({0, odd, odd});
  index.add({0, "", ""});
  EXPECT_EQ(all_of(index), (Found{{odd, {"0:" + odd}}, {"", {"0:"}}}));
}

TEST(DiskIndex, MayBeEmpty) {
  DiskIndex index;
  EXPECT_TRUE(all_of(index).empty());
}

TEST(DiskIndex, GivesAllOfThousandsOfNames) {
  DiskIndex index;
  for (int i = 0; i < 10000; ++i) {
    index.add({static_cast<std::uint8_t>(i % 2), fmt::format("run{}", i / 2), "x"});
  }
  const Found found = all_of(index);
  EXPECT_EQ(found.size(), 5000U);
  for (const auto& [name, texts] : found) EXPECT_EQ(texts.size(), 2U) << name;
}

}  // namespace disk_index_test
}  // namespace aggregate_power
