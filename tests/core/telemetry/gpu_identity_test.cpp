// Which GPUs a list names. Expected values are by hand.
#include "core/telemetry/gpu_identity.h"

#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "aggregate_power/error.h"

namespace aggregate_power {
namespace gpu_selection_test {

using Names = std::vector<std::string>;

TEST(GpuSelection, ParsesIndicesRangesAndIds) {
  EXPECT_EQ(parse_gpus("0-3").names, (Names{"0", "1", "2", "3"}));
  EXPECT_EQ(parse_gpus("0,2,5-7").names, (Names{"0", "2", "5", "6", "7"}));
  EXPECT_EQ(parse_gpus(" 1 , 1-2, 01 ").names, (Names{"1", "2"}));
  EXPECT_EQ(parse_gpus("7-7").names, Names{"7"});
  EXPECT_EQ(parse_gpus("GPU-5f0c1a2b,0000:C7:00.0,card3").names,
            (Names{"GPU-5f0c1a2b", "0000:C7:00.0", "card3"}));
  EXPECT_EQ(parse_gpus("00ff74a1-0000-1000-80e8-3c1d2e4f5a6b").names,
            Names{"00ff74a1-0000-1000-80e8-3c1d2e4f5a6b"});
}

TEST(GpuSelection, RefusesOtherLists) {
  for (const char* text : {"", ",", "0,", ",0", "0,,1", " "}) {
    EXPECT_THROW(parse_gpus(text), Error) << text;
  }
  try {
    parse_gpus("3-1");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--gpus: '3-1' begins after its end");
  }
}

struct Case {
  const char* name;
  const char* device;
  bool fits;
  bool fits_with_host;
};

TEST(GpuSelection, FitsDevicesByName) {
  const char* const uuid = "GPU-5f0c1a2b-1111-2222-3333-444455556666";
  const Case cases[] = {
      {"0", "0", true, true},
      {"0", "00", true, true},
      {"0", "10", false, false},
      {"1", "0", false, false},
      {"3", "card3", true, true},
      {"3", "card13", false, false},
      {"card3", "Card3", true, true},
      {"card3", "3", true, true},
      {"gpu0", "0", true, true},
      {"GPU 0", "nvidia0", true, true},
      {"1", "GPU-12345678-1111-2222-3333-444455556666", false, false},
      {"3", "node1/3", false, true},
      {"node1/3", "node1/3", true, true},
      {"node2/3", "node1/3", false, false},
      {"0", "MIG-GPU-5f0c1a2b/1/0", false, true},  // no recording names hosts and these
      {uuid, uuid, true, true},
      {"gpu-5F0C1A2B-1111-2222-3333-444455556666", uuid, true, true},
      {"GPU-5f0c", uuid, true, true},
      {"GPU-5f0", uuid, false, false},  // 7 characters
      {"GPU-5f0d", uuid, false, false},
      {"5f0c1a2b", uuid, true, true},
      {"5F0C1A2B111122223333444455556666", uuid, true, true},
      {"5f0c1a2", uuid, false, false},  // 7 characters
      {"00000000:C7:00.0", "00000000:c7:00.0", true, true},
      {"0000:c7:00.0", "00000000:C7:00.0", true, true},
      {"C7:00.0", "00000000:C7:00.0", true, true},
      {"C7:00.0", "00000001:C7:00.0", false, false},
      {"00000000", "00000000:C7:00.0", false, false},
      {"00000000:C7", "00000000:C7:00.0", false, false},
      {"00ff74a1", "00ff74a1-0000-1000-80e8-3c1d2e4f5a6b", true, true},
      {"12345678", "12345678-0000-1000-80e8-3c1d2e4f5a6b", true, true},
  };
  for (const Case& c : cases) {
    const GpuSelection gpus{{c.name}};
    EXPECT_EQ(gpus.has(c.device, false), c.fits) << c.name << " " << c.device;
    EXPECT_EQ(gpus.has(c.device, true), c.fits_with_host) << c.name << " " << c.device;
  }
}

const SeriesFacts kPlain;
const SeriesFacts kHosts = {.names_hosts = true};

std::string fault_of(const GpuSelection& gpus, const Names& devices, const Names& measured,
                     const SeriesFacts& series, const std::vector<GpuKey>& keys = {}) {
  const SelectableGpus all{devices, measured, series, keys};
  return selection_fault(gpus, std::span(&all, 1));
}

TEST(GpuSelection, SaysWhichNameIsOfNoGpu) {
  const Names devices = {"10", "0", "1"};
  EXPECT_EQ(fault_of({{"0", "1"}}, devices, devices, kPlain), "");
  EXPECT_EQ(fault_of({{"0", "3"}}, devices, devices, kPlain),
            "GPU 3 is not in the recording, which has 0, 1, 10");
  EXPECT_EQ(fault_of({{"0"}}, {}, {}, kPlain), "GPU 0 is not in the recording, which has none");
}

TEST(GpuSelection, SaysWhichColumnHasTheName) {
  const Names uuids = {"GPU-5f0c1aaa", "GPU-5f0c1bbb"};
  const SeriesFacts series = {.other_names = {{"serial", {"17", "18"}}, {"gpu id", {"0", "1"}}}};
  EXPECT_EQ(fault_of({{"1"}}, uuids, uuids, series),
            "GPU 1 is not in the recording, which has GPU-5f0c1aaa, GPU-5f0c1bbb; column 'gpu id' "
            "has it: add --device-column 'gpu id'");
  EXPECT_EQ(fault_of({{"2"}}, uuids, uuids, series),
            "GPU 2 is not in the recording, which has GPU-5f0c1aaa, GPU-5f0c1bbb");
}

TEST(GpuSelection, SaysWhichNameIsOfSeveralGpus) {
  const Names uuids = {"GPU-5f0c1aaa", "GPU-5f0c1bbb"};
  EXPECT_EQ(fault_of({{"GPU-5f0c1"}}, uuids, uuids, kPlain),
            "GPU GPU-5f0c1 may be any of GPU-5f0c1aaa, GPU-5f0c1bbb");
  EXPECT_EQ(fault_of({{"GPU-5f0c1a"}}, uuids, uuids, kPlain), "");
  const Names on_hosts = {"a/0", "b/0"};
  EXPECT_EQ(fault_of({{"0"}}, on_hosts, on_hosts, kHosts), "GPU 0 may be any of a/0, b/0");
  EXPECT_EQ(fault_of({{"b/0"}}, on_hosts, on_hosts, kHosts), "");
}

TEST(GpuSelection, FindsGpusByAllTheirNames) {
  const std::vector<GpuKey> keys = {
      {.index = "0", .uuid = "GPU-5f0c1aaa", .pci = "00000000:07:00.0"},
      {.index = "1", .uuid = "GPU-5f0c1bbb", .pci = "00000000:0B:00.0"}};
  const Names devices = {"0", "1"};
  for (const char* name : {"0", "GPU-5f0c1aaa", "5f0c1aaa", "07:00.0", "gpu 0"}) {
    EXPECT_EQ(fault_of({{name}}, devices, devices, kPlain, keys), "") << name;
  }
  EXPECT_EQ(fault_of({{"GPU-5f0c1"}}, devices, devices, kPlain, keys),
            "GPU GPU-5f0c1 may be any of 0, 1");
  EXPECT_EQ(fault_of({{"GPU-77777777"}}, devices, devices, kPlain, keys),
            "GPU GPU-77777777 is not in the recording, which has 0, 1");
}

TEST(GpuSelection, SaysWhichGpuWasNotMeasured) {
  const Names devices = {"0", "1"};
  const Names measured = {"0"};
  EXPECT_EQ(fault_of({{"0", "1"}}, devices, measured, kPlain),
            "GPU 1 has no power reading in or near the window");
  EXPECT_EQ(fault_of({{"0"}}, devices, measured, kPlain), "");
  EXPECT_EQ(fault_of({{"0", "1"}}, devices, {}, kPlain), "");
}

}  // namespace gpu_selection_test
}  // namespace aggregate_power
