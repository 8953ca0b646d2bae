#include "adapters/emulated/devices.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace keel {
namespace {

TEST(EmulatedDevices, say_that_they_are_emulated_and_keep_their_uuids) {
  auto first = EmulatedDevices::parse("8xH100-80GB", "n1");
  auto again = EmulatedDevices::parse("8xH100-80GB", "n1");
  ASSERT_TRUE(first && again);
  ASSERT_EQ(first->list().size(), 8U);
  EXPECT_EQ(first->list(), again->list());
  EXPECT_TRUE(std::ranges::is_sorted(first->list(), {}, &Device::id));
  for (const Device& device : first->list()) {
    EXPECT_TRUE(device.emulated);
    EXPECT_EQ(device.model, "h100-80gb");
    EXPECT_EQ(device.memory, Bytes{80'000'000'000});
  }
  EXPECT_NE(first->list().front().id,
            EmulatedDevices::parse("8xH100-80GB", "n2")->list().front().id);
}

TEST(EmulatedDevices, refuse_what_makes_no_sense) {
  for (const char* bad : {"", "8", "8xH100", "0xH100-80GB", "-1xH100-80GB", "1025xH100-80GB",
                          "8xH100-80", "8xH100-0GB", "8xH 100-80GB", "xH100-80GB", "8x-GB"}) {
    EXPECT_FALSE(EmulatedDevices::parse(bad, "n1")) << bad;
  }
}

}  // namespace
}  // namespace keel
