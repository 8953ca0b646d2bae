#include "base/random.h"

#include <gtest/gtest.h>

#include <array>

namespace keel {
namespace {

TEST(Random, numbers_lie_in_their_range_and_reach_both_of_its_ends) {
  Random random(7);
  std::array<int, 5> seen{};
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t number = random.between(-2, 2);
    ASSERT_GE(number, -2);
    ASSERT_LE(number, 2);
    ++seen.at(static_cast<std::size_t>(number + 2));
  }
  for (const int count : seen) EXPECT_GT(count, 100);
}

// Their width has no room in a signed number.
TEST(Random, the_widest_ranges_are_drawn_from_as_any_other) {
  Random random(7);
  int negative = 0;
  for (int i = 0; i < 1000; ++i) {
    if (random.between(INT64_MIN, INT64_MAX) < 0) ++negative;
    EXPECT_NE(random.between(-INT64_MAX, INT64_MAX), INT64_MIN);
    EXPECT_GE(random.between(INT64_MAX - 1, INT64_MAX), INT64_MAX - 1);
  }
  EXPECT_GT(negative, 400);
  EXPECT_LT(negative, 600);
}

}  // namespace
}  // namespace keel
