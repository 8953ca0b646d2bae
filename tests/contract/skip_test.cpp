// Where a store goes that was put back, whichever of its copies and however often.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "ports/store.h"

namespace keel {
namespace {

constexpr Instant today{hours(24 * 365 * 55).us};

// What is given from a marking on is beyond all that was ever given, also by what was lost.
TEST(Skip, goes_beyond_all_that_any_copy_has_led_to) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random chance(seed);
    Instant now = today;
    Skipped store;                // what it has given
    Skipped most;                 // what any of them has
    std::vector<Skipped> copies;  // however old
    for (int step = 0; step < 100; ++step) {
      const Duration passed{chance.between(1, chance.one_in(2) ? hours(1).us : seconds(1).us)};
      now = now + passed;
      // As fast as can be.
      store.epoch.value += static_cast<std::uint64_t>(passed.us / 1000);
      store.last_token.value += static_cast<std::uint64_t>(passed.us) * 1000;
      most = {std::max(most.epoch, store.epoch), std::max(most.last_token, store.last_token)};
      copies.push_back(store);
      if (chance.one_in(2)) continue;
      const auto any = chance.between(0, static_cast<std::int64_t>(copies.size()) - 1);
      const Skipped copy = copies.at(static_cast<std::size_t>(any));
      now = now + milliseconds(1);
      store = skip(copy.epoch, copy.last_token, now);
      ASSERT_GT(store.epoch, most.epoch);
      ASSERT_GT(store.last_token, most.last_token);
    }
  }
}

// Its own marking is a minute old, so that the clock has hardly gone on since.
TEST(Skip, leads_a_young_copy_further_each_time_it_is_put_back) {
  const Skipped copy = skip({1}, {40}, today);
  Skipped before = copy;
  for (int i = 1; i <= 10; ++i) {
    const Skipped now = skip(copy.epoch, copy.last_token, today + seconds(6 * i));
    EXPECT_GT(now.epoch, before.epoch);
    EXPECT_GT(now.last_token.value, before.last_token.value + 1'000'000);
    before = now;
  }
}

TEST(Skip, goes_far_beyond_the_copy_where_the_clock_is_behind_and_further_each_time) {
  const Skipped copy = skip({1}, {40}, today);
  Skipped before = copy;
  for (const Instant wall : {Instant{-5}, Instant{}, Instant{} + seconds(1), today - hours(1)}) {
    const Skipped now = skip(copy.epoch, copy.last_token, wall);
    EXPECT_GE(now.epoch.value, copy.epoch.value + epochs_skipped);
    EXPECT_GE(now.last_token.value, copy.last_token.value + tokens_skipped);
    EXPECT_GE(now.last_token, before.last_token);
    before = now;
  }
}

TEST(Skip, finds_numbers_as_long_as_this_can_run) {
  EXPECT_LT(skip({1}, {40}, Instant{INT64_MAX}).last_token.value,
            static_cast<std::uint64_t>(INT64_MAX));
}

}  // namespace
}  // namespace keel
