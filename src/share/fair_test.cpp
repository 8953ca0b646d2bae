#include "share/fair.h"

#include <gtest/gtest.h>

namespace keel::share {
namespace {

Node leaf(std::uint64_t id, std::vector<ShapeGroup> demand) {
  return {.id = {id},
          .parent = {},
          .guarantee = {},
          .cap = {},
          .borrow_limit = {},
          .lend_limit = {},
          .demand = std::move(demand)};
}

std::string held_of(const FairShares& shares, std::uint64_t id) {
  std::string text;
  for (const Part& part : shares.of({id}).parts) {
    text += (text.empty() ? "" : " ") + part.total().text();
  }
  return text;
}

TEST(Fair, the_example_of_the_drf_paper) {
  // Ghodsi et al., NSDI 2011: 9 CPUs and 18 GB; tasks of 1 CPU, 4 GB and of 3 CPUs, 1 GB.
  Cluster cluster{.resources = {{.capacity = 9}, {.capacity = 18}},
                  .nodes = {leaf(1, {{{1, 4}, 100}}), leaf(2, {{{3, 1}, 100}})}};
  const auto shares = fair_shares(cluster);
  ASSERT_TRUE(shares) << describe(shares.error());
  EXPECT_EQ(held_of(*shares, 1), "3 12");
  EXPECT_EQ(held_of(*shares, 2), "6 2");
}

}  // namespace
}  // namespace keel::share
