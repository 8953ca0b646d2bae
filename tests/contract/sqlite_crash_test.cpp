// A part of the images for each check; store_crash_test.cpp looks at all of them.
#include <gtest/gtest.h>

#include "tests/contract/store_crash.h"

namespace keel {
namespace {

TEST(SqliteCrash, a_power_cut_at_any_step_leaves_what_was_acknowledged_and_no_half_batch) {
  const CrashCount count =
      play_crashes({.seed = 1, .transactions = 80, .step_first = 5, .step_every = 29});
  EXPECT_GE(count.images, 100u);
  EXPECT_GE(count.unacknowledged, 5u);
}

TEST(SqliteCrash, a_power_cut_while_the_store_is_made_leaves_none_or_a_whole_one) {
  const CrashCount count = play_crashes({.seed = 2, .transactions = 2});
  EXPECT_GE(count.images, 100u);
}

}  // namespace
}  // namespace keel
