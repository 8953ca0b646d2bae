#include "adapters/nvml/model_name.h"

#include <gtest/gtest.h>

namespace keel::nvml {
namespace {

TEST(ModelName, is_how_people_call_the_device) {
  EXPECT_EQ(model_name("NVIDIA H100 80GB HBM3"), "h100-80gb");
  EXPECT_EQ(model_name("NVIDIA A100-SXM4-80GB"), "a100-80gb");
  EXPECT_EQ(model_name("NVIDIA A100 80GB PCIe"), "a100-80gb-pcie");
  EXPECT_EQ(model_name("Tesla V100-SXM2-16GB"), "v100-16gb");
  EXPECT_EQ(model_name("NVIDIA H200"), "h200");
  EXPECT_EQ(model_name("NVIDIA GeForce RTX 4090"), "rtx-4090");
  EXPECT_EQ(model_name("NVIDIA GH200 480GB"), "gh200-480gb");
}

TEST(ModelName, never_holds_what_a_job_file_could_not_say) {
  EXPECT_EQ(model_name("Näive\n\x1b[31m GPU,x"), "n-ive-31m-gpu-x");
  EXPECT_EQ(model_name(""), "unknown");
  EXPECT_EQ(model_name("NVIDIA"), "unknown");
}

}  // namespace
}  // namespace keel::nvml
