// How many GPUs a result states.
#include "base/text/stated_gpus.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace stated_gpus_test {

using Members = std::map<std::string, std::string, std::less<>>;

StatedGpus stated(const Members& members) {
  return stated_gpus([&](std::string_view key) {
    const auto found = members.find(key);
    return found == members.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(StatedGpus, AreReadInEachSpelling) {
  const std::pair<Members, std::int64_t> kCases[] = {
      {{{"tp", "2"}}, 2},
      {{{"tp", "2.0"}}, 2},
      {{{"tp", "2"}, {"pp", "3"}, {"dp", "4"}}, 2 * 3 * 4},
      {{{"tp", "8"}, {"dp", "8"}, {"dp_attention", "true"}}, 8},
      {{{"tp", "8"}, {"dp", "8"}, {"dp_attention", "false"}}, 64},
      {{{"tensor_parallel_size", "2"}, {"data_parallel_size", "2"}}, 4},
      {{{"world_size", "16"}, {"tp", "8"}}, 16},
      {{{"num_gpus", "4"}}, 4},
      {{{"pp", "2"}, {"pcp_size", "2"}}, 4},
      {{{"tp_size", "4"}, {"dp_size", "2"}}, 8},
      {{{"gpu_count", "8"}, {"tp", "4"}}, 8},
      {{{"n_gpus", "3"}}, 3},
      {{{"num_nodes", "2"}, {"gpus_per_node", "4"}}, 8},
      {{{"nnodes", "2"}, {"gpus_per_node", "8"}}, 16},
  };
  for (const auto& [members, count] : kCases) {
    EXPECT_EQ(stated(members).count, count) << members.begin()->first;
    EXPECT_EQ(stated(members).fault, "");
  }
}

TEST(StatedGpus, AreAtFaultIfTheyCannotBeRead) {
  EXPECT_EQ(stated({{"tp", "two"}}).fault, "'tp' is 'two', which is not a number of GPUs");
  EXPECT_EQ(stated({{"tp", "two"}}).count, std::nullopt);
  EXPECT_EQ(stated({{"tp", "2"}, {"dp", "1.5"}}).fault,
            "'dp' is '1.5', which is not a number of GPUs");
  EXPECT_EQ(stated({{"num_gpus", "-4"}}).fault,
            "'num_gpus' is '-4', which is not a number of GPUs");
  EXPECT_EQ(stated({{"dp", "2"}}).count, std::nullopt) << "copies of what?";
  EXPECT_EQ(stated({{"gpus_per_node", "8"}}).count, std::nullopt) << "of how many nodes?";
  EXPECT_EQ(stated({{"num_nodes", "2"}}).count, std::nullopt);
  EXPECT_EQ(stated({}).fault, "");
}

}  // namespace stated_gpus_test
}  // namespace aggregate_power
