#include "core/telemetry/gpu_identity.h"

#include <gtest/gtest.h>

#include "aggregate_power/error.h"

namespace aggregate_power {
namespace identity_test {

const GpuIdentity kTwo = {{"0", "GPU-a"}, {"1", "GPU-b"}};

TEST(Identity, CsvNamesColumnsAsItLikes) {
  for (const char* text : {
           "index,uuid\n0,GPU-a\n1,GPU-b\n",
           "index, uuid\r\n0, GPU-a\r\n1, GPU-b\r\n",
           "\xEF\xBB\xBFUUID,name,GPU\nGPU-a,H100,0\n\nGPU-b,H100,1",
           "index,uuid\n0,GPU-a\n1,GPU-b\n2,[N/A]\n3,\n,GPU-c\n4\n0,GPU-a\n",
       }) {
    EXPECT_EQ(read_identity_csv(std::make_unique<MemorySource>(text)), kTwo) << text;
  }
}

TEST(Identity, JsonHasTheUuidAtAnyDepth) {
  for (const char* text : {
           R"([{"gpu": 0, "uuid": "GPU-a"}, {"gpu": 1, "uuid": "GPU-b"}])",
           R"([{"index": "0", "uuid": "GPU-a"}, {"index": "1", "uuid": "GPU-b"}])",
           R"({"gpu_data": [{"gpu": 0, "asic": {"x": 1, "uuid": "GPU-a"}, "uuid": "GPU-z"},
                            {"gpu": 1, "board": [{"uuid": "N/A"}, {"uuid": "GPU-b"}]}]})",
           R"([{"gpu": 0, "asic": {"asic_serial": "GPU-a"}},
               {"gpu": 1, "asic": {"asic_serial": "0x1", "uuid": "GPU-b"}},
               {"gpu": 2, "asic": {"asic_serial": "N/A"}}, {"uuid": "GPU-c"}, 7, null])",
       }) {
    EXPECT_EQ(read_identity_json(std::make_unique<MemorySource>(text)), kTwo) << text;
  }
}

TEST(Identity, WhatNamesNoGpuIsRefused) {
  const auto fault = [](GpuIdentity (*read)(std::unique_ptr<ByteSource>), const char* text) {
    try {
      read(std::make_unique<MemorySource>(text));
      return std::string("none");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(fault(read_identity_csv, ""), "it names no GPU by index and UUID");
  EXPECT_EQ(fault(read_identity_csv, "index,uuid\n"), "it names no GPU by index and UUID");
  EXPECT_EQ(fault(read_identity_csv, "0,GPU-a\n"), "its header has no columns index and uuid");
  EXPECT_EQ(fault(read_identity_csv, "index,uuid\n0,a\n0,b\n"), "it gives GPU 0 two UUIDs");
  EXPECT_EQ(fault(read_identity_json, "{"), "it is not JSON");
  EXPECT_EQ(fault(read_identity_json, "{}"), "it is not a list of GPUs");
  EXPECT_EQ(fault(read_identity_json, "[]"), "it names no GPU by index and UUID");
  EXPECT_EQ(fault(read_identity_json, R"([{"gpu":0,"uuid":"a"},{"gpu":0,"uuid":"b"}])"),
            "it gives GPU 0 two UUIDs");
}

}  // namespace identity_test
}  // namespace aggregate_power
