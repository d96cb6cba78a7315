// What GPUs of a package were used for.
#include "packages/srt_slurm/package.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace topology_test {

using Texts = std::vector<std::string>;

ExpectedDevice device(const char* host, std::int64_t index, const char* role,
                      std::optional<std::int64_t> group = {}) {
  return {{host, index}, {{role, 0, group}}};
}

SeenDevice seen(const char* host, std::int64_t index, std::vector<std::string> uuids) {
  SeenDevice device;
  device.key = {host, index};
  device.uuids = std::move(uuids);
  return device;
}

Texts texts(const PackageFaults& faults) {
  Texts texts;
  for (const PackageFault& fault : faults.list) texts.push_back(fault.text);
  return texts;
}

const std::vector<ExpectedDevice> kTwo = {device("a", 0, "prefill"), device("b", 0, "decode")};

TEST(Topology, HasTheRoleOfEachGpu) {
  const Topology topology = topology_of(kTwo);
  EXPECT_EQ(topology.roles,
            (std::map<DeviceKey, std::string>{{{"a", 0}, "prefill"}, {{"b", 0}, "decode"}}));
  EXPECT_TRUE(topology.conflicts.empty());
}

TEST(Topology, HasNoRolesWhereAGpuHasTwo) {
  std::vector<ExpectedDevice> devices = kTwo;
  devices[1].assignments.push_back({"prefill", 1, {}});
  const Topology topology = topology_of(devices);
  EXPECT_TRUE(topology.roles.empty());
  EXPECT_EQ(topology.conflicts, Texts{"conflicting_worker_roles"});
}

TEST(Topology, FindsGpusThatAreMissingOrNotExpectedOrShareAUuid) {
  const Topology topology = topology_of(kTwo);
  EXPECT_EQ(texts(device_faults(kTwo, topology, {seen("a", 0, {"x"}), seen("b", 0, {"y"})})),
            Texts{});
  EXPECT_EQ(texts(device_faults(kTwo, topology, {seen("a", 0, {"x"}), seen("c", 1, {"x"})})),
            (Texts{"expected_device_missing (device identity/topology: b/0)",
                   "unexpected_device (device identity/topology: c/1)",
                   "gpu_uuid_changed (device identity/topology)"}));
}

TEST(Topology, HasEachRoleInOneGroupOfItsOwn) {
  const auto faults = [](const std::vector<ExpectedDevice>& devices) {
    return topology_faults(devices, topology_of(devices), {{"decode", 1}, {"prefill", 1}});
  };
  EXPECT_EQ(faults(kTwo), Texts{});
  EXPECT_EQ(faults({device("a", 0, "prefill", 0), device("b", 0, "decode", 1)}), Texts{});
  EXPECT_EQ(faults({device("a", 0, "prefill", 1), device("b", 0, "decode", 1)}),
            Texts{"roles share a het group"});
  EXPECT_EQ(faults({device("a", 0, "prefill", 1), device("b", 0, "decode")}),
            Texts{"role decode has het group None while other devices have numbered ones"});
  EXPECT_EQ(faults({device("a", 0, "prefill"), device("b", 0, "agg")}),
            (Texts{"expected roles decode, prefill, found agg, prefill",
                   "expected 1 decode GPUs, found 0"}));
}

}  // namespace topology_test
}  // namespace aggregate_power
