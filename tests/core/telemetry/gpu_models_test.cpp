// Which names are of boards that always draw power, and of modules.
#include "core/telemetry/gpu_identity.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace gpu_models_test {

TEST(GpuModels, AreLargeInDataCentres) {
  for (const char* const name :
       {"NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "Tesla V100-SXM2-32GB",
        "AMD Instinct MI300X", "NVIDIA B200", "NVIDIA GB300", "H200", "NVIDIA L40S"}) {
    EXPECT_TRUE(is_large_gpu(name)) << name;
  }
  for (const char* const name :
       {"NVIDIA GeForce RTX 3060", "NVIDIA L4", "Tesla T4", "Orin",
        "AMD Instinct MI250X",  // a die may state 0 W
        "GRID A100-4C", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA A1000", "NVIDIA RTX A4000"}) {
    EXPECT_FALSE(is_large_gpu(name)) << name;
  }
}

TEST(GpuModels, AreOfModulesWithAProcessor) {
  for (const char* const name : {"NVIDIA GH200 480GB", "NVIDIA GB200", "GB300", "NVIDIA GB10"}) {
    EXPECT_TRUE(is_module_gpu(name)) << name;
  }
  for (const char* const name : {"NVIDIA H200", "NVIDIA B200", "NVIDIA GeForce RTX 4090"}) {
    EXPECT_FALSE(is_module_gpu(name)) << name;
  }
}

}  // namespace gpu_models_test
}  // namespace aggregate_power
