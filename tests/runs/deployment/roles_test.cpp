#include "runs/deployment/roles.h"

#include <gtest/gtest.h>

#include "aggregate_power/error.h"

namespace aggregate_power {
namespace roles_test {

const std::vector<std::string> kHosts = {"hostA", "hostB", "7"};

std::vector<std::string> shares_of(const std::vector<std::string>& texts) {
  std::vector<std::string> shares;
  for (const RoleShare& share : parse_roles(texts, kHosts)) {
    shares.push_back(std::string(role_name(share.role)) + " " + share.text());
  }
  return shares;
}

using Texts = std::vector<std::string>;

TEST(Roles, AWordWithAColonBeginsAHost) {
  EXPECT_EQ(shares_of({"prefill=hostA:0-7"}), Texts({"prefill hostA:0-7"}));
  EXPECT_EQ(shares_of({"prefill=hostA:0,2,4-5"}),
            Texts({"prefill hostA:0", "prefill hostA:2", "prefill hostA:4-5"}));
  EXPECT_EQ(shares_of({"prefill=hostA:0-3,6,hostB:1"}),
            Texts({"prefill hostA:0-3", "prefill hostA:6", "prefill hostB:1"}));
  EXPECT_EQ(shares_of({"decode=hostA:GPU-1-2,GPU-3", "agg=hostB"}),
            Texts({"decode hostA:GPU-1-2", "decode hostA:GPU-3", "agg hostB"}));
}

TEST(Roles, AHostAloneIsAllOfItsGpus) {
  EXPECT_EQ(shares_of({"prefill=hostA,hostB"}), Texts({"prefill hostA", "prefill hostB"}));
  EXPECT_EQ(shares_of({"prefill=hostA:0,hostB"}), Texts({"prefill hostA:0", "prefill hostB"}));
}

TEST(Roles, ANumberBehindAHostIsAGpuWhateverHostsAreCalled) {
  EXPECT_EQ(shares_of({"prefill=hostA:0,7"}), Texts({"prefill hostA:0", "prefill hostA:7"}));
  EXPECT_EQ(shares_of({"prefill=7:0,7"}), Texts({"prefill 7:0", "prefill 7:7"}));
  EXPECT_EQ(shares_of({"prefill=hostA,7"}), Texts({"prefill hostA", "prefill 7"}));
}

TEST(Roles, WhatCannotBeMeantIsRefused) {
  for (const auto& [texts, message] : std::vector<std::pair<Texts, std::string>>{
           {{"prefill"}, "--role: expected prefill, decode or agg before '=', got 'prefill'"},
           {{"both=hostA"}, "--role: expected prefill, decode or agg before '=', got 'both=hostA'"},
           {{"prefill=hostC"},
            "--role: unknown host 'hostC'; known: hostA, hostB, 7 in 'prefill=hostC'"},
           {{"prefill=hostA:0,,1"},
            "--role: expected a GPU after 'hostA:' in 'prefill=hostA:0,,1'"},
           {{"prefill=hostA:3-2"}, "--role: expected FIRST-LAST, got '3-2' in 'prefill=hostA:3-2'"},
           {{"prefill=hostA:0-4", "decode=hostA:4-8"},
            "--role: hostA:0-4 (prefill) and hostA:4-8 (decode) share GPUs"},
           {{"prefill=hostA:x,x"}, "--role: hostA:x (prefill) and hostA:x (prefill) share GPUs"},
           {{"prefill=hostA", "decode=hostA:x"},
            "--role: hostA (prefill) and hostA:x (decode) share GPUs"}}) {
    try {
      parse_roles(texts, kHosts);
      ADD_FAILURE() << texts[0] << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), message);
    }
  }
}

std::vector<RecordedGpu> gpus_of(const std::string& host, int count) {
  std::vector<RecordedGpu> gpus;
  for (int i = 0; i < count; ++i) {
    gpus.push_back({host, std::to_string(i), host + "-uuid-" + std::to_string(i), {}});
  }
  return gpus;
}

std::string assigned(const Texts& texts, const std::vector<RecordedGpu>& gpus) {
  const RoleAssignment result = assign_roles(parse_roles(texts, kHosts), gpus);
  if (!result.reasons.empty()) return result.reasons.text();
  std::string roles;
  for (const Role role : result.roles) roles += role_name(role)[0];
  return roles;
}

TEST(Roles, EveryGpuHasOne) {
  const std::vector<RecordedGpu> gpus = gpus_of("hostA", 4);
  EXPECT_EQ(assigned({}, gpus), "aaaa");
  EXPECT_EQ(assigned({"prefill=hostA:0-1", "decode=hostA:2-3"}, gpus), "ppdd");
  EXPECT_EQ(assigned({"prefill=hostA:0,hostA-uuid-3", "decode=hostA:1,2"}, gpus), "pddp");
  EXPECT_EQ(assigned({"prefill=hostA:0-4"}, gpus), "topology_env_mismatch (hostA: no GPU 4)");
  EXPECT_EQ(assigned({"prefill=hostA:0-2"}, gpus),
            "topology_env_mismatch (hostA: GPU 3 has no role)");
  EXPECT_EQ(assigned({"prefill=hostA:0-3", "decode=hostA:hostA-uuid-2"}, gpus),
            "topology_env_mismatch (hostA: GPU 2 is named twice)");
  EXPECT_EQ(assigned({"prefill=hostA:0-3,GPU-9"}, gpus),
            "topology_env_mismatch (hostA: no GPU GPU-9)");
}

TEST(Roles, OfDevicesNamedByUuidTheIndexIsTheIdentityFiles) {
  const std::vector<RecordedGpu> gpus = {{"hostA", "GPU-x", "GPU-x", "1"},
                                         {"hostA", "GPU-y", "GPU-y", "0"}};
  EXPECT_EQ(assigned({"prefill=hostA:1", "decode=hostA:0"}, gpus), "pd");
}

}  // namespace roles_test
}  // namespace aggregate_power
