#include "share/tree.h"

#include <gtest/gtest.h>

#include "share/fair.h"

namespace keel::share {
namespace {

Cluster with(Node node) {
  return {.resources = {{.capacity = 8, .gpu = true}}, .nodes = {std::move(node)}};
}

// what is wrong, the sentence for people.
struct RefusedRow {
  Cluster cluster;
  const char* words;
};

TEST(Tree, what_is_refused_is_named_with_value_and_limit) {
  const RefusedRow rows[] = {
      {with({.id = {7}, .weight = -1}), "weight of node 7 is -1; it must be at least 0"},
      {with({.id = {7}, .weight = INT64_MIN}),
       "weight of node 7 is -9223372036854775808; it must be at least 0"},
      {with({.id = {7}, .weight = weight_max + 1}),
       "weight of node 7 is 1000000001; it must be at most 1000000000"},
      {with({.id = {7}, .guarantee = Guarantee{.of = {-3}}}),
       "guarantee.of[0] of node 7 is -3; it must be at least 0"},
      {with({.id = {7}, .guarantee = Guarantee{.of = {1, 1}}}),
       "guarantee.of of node 7 has 2 amounts; there are 1 resources"},
      {with({.id = {7}, .guarantee = Guarantee{.of = {1}, .any_gpu = 1}}),
       "guarantee of node 7 is by resource and a plain number at once"},
      {with({.id = {7}, .cap = {.any_gpu = -1}}),
       "cap.any_gpu of node 7 is -1; it must be at least 0"},
      {with({.id = {7}, .borrow_limit = {.of = {INT64_MAX}}}),
       "borrow_limit.of[0] of node 7 is 9223372036854775807; it must be at most "
       "1152921504606846976"},
      {with({.id = {7}, .demand = {{{1}, -5}}}),
       "demand[0].units of node 7 is -5; it must be at least 0"},
      {with({.id = {7}, .demand = {{{1}, 1}, {{0}, 1}}}),
       "demand[1] of node 7 asks for no resource"},
      {with({.id = {7}, .parent = NodeId{8}}), "parent of node 7 is not there"},
      {with({.id = {7}, .parent = NodeId{7}}), "parent of node 7 leads back to the node itself"},
      {{.resources = {{.capacity = -1}}}, "resources[0].capacity is -1; it must be at least 0"},
      {{.nodes = {{.id = {7}}, {.id = {7}}}}, "id of node 7 is the id of two nodes"},
  };
  for (const RefusedRow& row : rows) {
    const auto shares = fair_shares(row.cluster);
    ASSERT_FALSE(shares) << row.words;
    EXPECT_EQ(describe(shares.error()), row.words);
  }
}

TEST(Tree, chains_are_refused_beyond_the_limit_and_groups_have_no_demand) {
  Cluster chain;
  for (std::uint64_t id = 1; id <= depth_max; ++id) {
    chain.nodes.push_back({.id = {id}});
    if (id > 1) chain.nodes.back().parent = NodeId{id - 1};
  }
  EXPECT_TRUE(validate(chain));
  chain.nodes.push_back({.id = {99}, .parent = NodeId{depth_max}});
  EXPECT_EQ(describe(validate(chain).error()), "parent of node 99 is at level 17; 16 may be");
  chain.nodes.pop_back();
  chain.resources = {{.capacity = 1}};
  chain.nodes[0].demand = {{{1}, 1}};
  EXPECT_EQ(describe(validate(chain).error()),
            "demand of node 1 is said, but only leaves have demand");
}

}  // namespace
}  // namespace keel::share
