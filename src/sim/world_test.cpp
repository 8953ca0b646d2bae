#include "sim/world.h"

#include <gtest/gtest.h>

#include "sim/checkers/violation.h"

namespace keel::sim {
namespace {

// Minutes of work for keel-dst; here only as many as a look at each change is worth.
constexpr std::uint64_t seeds = 4;

TEST(World, of_any_seed_keeps_every_promise) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    World world(seed);
    try {
      world.run();
    } catch (const Violation& violation) {
      ADD_FAILURE() << "seed " << seed << ": " << violation.what() << "\n  keel-dst --seed " << seed
                    << " --trace tells how";
    }
  }
}

TEST(World, plays_a_seed_the_same_way_every_time) {
  World first(7), second(7), other(8);
  first.run();
  second.run();
  other.run();
  EXPECT_EQ(first.trace.digest(), second.trace.digest());
  EXPECT_NE(first.trace.digest(), other.trace.digest());
}

}  // namespace
}  // namespace keel::sim
