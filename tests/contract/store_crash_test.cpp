// RELIABILITY 6.2: a power cut at each step of 200 transactions, in three forms. In four parts, so
// that they can run beside each other.
#include <gtest/gtest.h>

#include "tests/contract/store_crash.h"

namespace keel {
namespace {

class StoreCrash : public testing::TestWithParam<std::uint64_t> {};

TEST_P(StoreCrash, at_each_step_nothing_acknowledged_is_lost_and_no_batch_is_torn) {
  constexpr std::uint64_t parts = 4;
  const CrashCount count = play_crashes(
      {.seed = GetParam(), .transactions = 200, .step_first = GetParam(), .step_every = parts});
  EXPECT_GE(count.transactions, 200u);
  EXPECT_GE(count.images * parts, 10'000u);
  RecordProperty("images", static_cast<int>(count.images));
}

INSTANTIATE_TEST_SUITE_P(Parts, StoreCrash, testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace keel
