// The layouts of abi.h against what NVIDIA publishes for 64-bit Linux.
#include "adapters/nvml/abi.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace keel::nvml {
namespace {

TEST(Abi, records_are_laid_out_as_nvml_lays_them_out) {
  EXPECT_EQ(sizeof(PciPlace), 68u);
  EXPECT_EQ(offsetof(PciPlace, pci_device_id), 28u);
  EXPECT_EQ(offsetof(PciPlace, bus_id), 36u);
  EXPECT_EQ(sizeof(Memory), 24u);
  EXPECT_EQ(offsetof(Memory, used), 16u);
  EXPECT_EQ(sizeof(Utilization), 8u);
  EXPECT_EQ(sizeof(Holder), 24u);
  EXPECT_EQ(offsetof(Holder, used_memory), 8u);
  EXPECT_EQ(sizeof(EventReading), 32u);
  EXPECT_EQ(offsetof(EventReading, payload), 16u);
}

}  // namespace
}  // namespace keel::nvml
