#include "share/fair.h"

#include <gtest/gtest.h>

namespace keel::share {
namespace {

// Exact shares of one node, by resource: "21/2 7".
std::string exact_of(const FairShares& shares, std::uint64_t id) {
  std::string text;
  for (const Part& part : shares.of({id}).parts) {
    text += (text.empty() ? "" : " ") + part.total().text();
  }
  return text;
}

// "guarantee+weight+borrowed" of the first resource.
std::string origins_of(const FairShares& shares, std::uint64_t id) {
  const Part& part = shares.of({id}).parts[0];
  return part.guarantee.text() + "+" + part.weight.text() + "+" + part.borrowed.text();
}

using Expected = std::vector<std::pair<std::uint64_t, const char*>>;

void expect_shares(const Cluster& cluster, const Expected& expected) {
  const auto shares = fair_shares(cluster);
  ASSERT_TRUE(shares) << describe(shares.error());
  for (const auto& [id, text] : expected) EXPECT_EQ(exact_of(*shares, id), text) << "node " << id;
}

std::vector<Resource> capacities(std::vector<std::int64_t> of) {
  std::vector<Resource> resources;
  for (const std::int64_t capacity : of) resources.push_back({.capacity = capacity, .gpu = true});
  return resources;
}

Guarantee of_gpus(std::int64_t gpus) { return {.of = {gpus}}; }

TEST(Fair, the_example_of_the_drf_paper) {
  // Ghodsi et al., NSDI 2011: 9 CPUs and 18 GB; tasks of 1 CPU, 4 GB and of 3 CPUs, 1 GB.
  expect_shares(
      {.resources = {{.capacity = 9}, {.capacity = 18}},
       .nodes = {{.id = {1}, .demand = {{{1, 4}, 100}}}, {.id = {2}, .demand = {{{3, 1}, 100}}}}},
      {{1, "3 12"}, {2, "6 2"}});
}

TEST(Fair, published_and_worked_examples_of_dominant_shares) {
  // Both are bound by the same resource.
  expect_shares(
      {.resources = capacities({21, 21}),
       .nodes = {{.id = {1}, .demand = {{{3, 2}, 10}}}, {.id = {2}, .demand = {{{4, 1}, 10}}}}},
      {{1, "21/2 7"}, {2, "21/2 21/8"}});
  // Ghodsi et al.: when one of three leaves, neither of the others loses.
  Cluster three{.resources = capacities({100, 100}),
                .nodes = {{.id = {1}, .demand = {{{4, 1}, 25}}},
                          {.id = {2}, .demand = {{{1, 16}, 7}}},
                          {.id = {3}, .demand = {{{16, 1}, 7}}}}};
  expect_shares(three, {{1, "1600/33 400/33"}, {2, "100/33 1600/33"}, {3, "1600/33 100/33"}});
  three.nodes.pop_back();
  expect_shares(three, {{1, "80 20"}, {2, "5 80"}});
}

TEST(Fair, published_and_worked_examples_of_one_resource) {
  expect_shares({.resources = capacities({100}),
                 .nodes = {{.id = {1}, .demand = {{{1}, 20}}},
                           {.id = {2}, .demand = {{{1}, 26}}},
                           {.id = {3}, .demand = {{{1}, 40}}},
                           {.id = {4}, .demand = {{{1}, 50}}}}},
                {{1, "20"}, {2, "26"}, {3, "27"}, {4, "27"}});
  expect_shares({.resources = capacities({16}),
                 .nodes = {{.id = {1}, .weight = 2500, .demand = {{{1}, 4}}},
                           {.id = {2}, .weight = 4000, .demand = {{{1}, 2}}},
                           {.id = {3}, .weight = 500, .demand = {{{1}, 10}}},
                           {.id = {4}, .weight = 1000, .demand = {{{1}, 4}}}}},
                {{1, "4"}, {2, "2"}, {3, "6"}, {4, "4"}});
  expect_shares(
      {.resources = capacities({100}),
       .nodes = {{.id = {1}, .demand = {{{1}, 1}}}, {.id = {2}, .demand = {{{1}, 1000}}}}},
      {{1, "1"}, {2, "99"}});
  expect_shares({.resources = capacities({12}),
                 .nodes = {{.id = {1}, .weight = 1, .demand = {{{2}, 6}}},
                           {.id = {2}, .weight = 2, .demand = {{{2}, 6}}},
                           {.id = {3}, .weight = 3, .demand = {{{2}, 6}}}}},
                {{1, "2"}, {2, "4"}, {3, "6"}});
}

TEST(Fair, groups_whose_children_need_different_things_are_not_starved) {
  // Bhattacharya et al., SoCC 2013: 2 has the children 3 and 4.
  expect_shares({.resources = capacities({10, 10}),
                 .nodes = {{.id = {1}, .weight = 50, .demand = {{{1, 1}, 10}}},
                           {.id = {2}, .weight = 50},
                           {.id = {3}, .parent = NodeId{2}, .demand = {{{1, 0}, 10}}},
                           {.id = {4}, .parent = NodeId{2}, .demand = {{{0, 1}, 10}}}}},
                {{1, "5 5"}, {2, "5 5"}, {3, "5 0"}, {4, "0 5"}});
  // Two pools, 1 with the children 3 and 4, 2 with 5; memory is used up.
  expect_shares({.resources = capacities({100, 1000}),
                 .nodes = {{.id = {1}},
                           {.id = {2}},
                           {.id = {3}, .parent = NodeId{1}, .demand = {{{1, 20}, 10}}},
                           {.id = {4}, .parent = NodeId{1}, .demand = {{{3, 10}, 33}}},
                           {.id = {5}, .parent = NodeId{2}, .demand = {{{1, 50}, 20}}}}},
                {{1, "125/2 375"}, {3, "10 200"}, {4, "105/2 175"}, {2, "25/2 625"}});
}

TEST(Fair, groups_share_first_and_their_children_within) {
  // Flattened, 3 would get a fourth.
  expect_shares({.resources = capacities({12}),
                 .nodes = {{.id = {1}},
                           {.id = {2}, .demand = {{{1}, 12}}},
                           {.id = {3}, .parent = NodeId{1}, .demand = {{{1}, 12}}},
                           {.id = {4}, .parent = NodeId{1}, .demand = {{{1}, 12}}},
                           {.id = {5}, .parent = NodeId{1}, .demand = {{{1}, 1}}}}},
                {{1, "6"}, {2, "6"}, {3, "5/2"}, {4, "5/2"}, {5, "1"}});
}

TEST(Fair, a_leaf_takes_its_shapes_in_order) {
  // When the first model is full it goes on with what asks for others.
  expect_shares({.resources = capacities({4, 8}),
                 .nodes = {{.id = {1}, .demand = {{{1, 0}, 9}, {{0, 1}, 2}, {{1, 1}, 9}}},
                           {.id = {2}, .demand = {{{1, 0}, 9}, {{0, 2}, 9}}}}},
                {{1, "2 2"}, {2, "2 6"}});
}

TEST(Fair, weights_divide_the_whole_or_what_guarantees_leave) {
  Cluster cluster{.resources = capacities({10}),
                  .nodes = {{.id = {1}, .guarantee = of_gpus(6), .demand = {{{1}, 10}}},
                            {.id = {2}, .demand = {{{1}, 10}}}}};
  expect_shares(cluster, {{1, "6"}, {2, "4"}});
  EXPECT_EQ(origins_of(*fair_shares(cluster), 1), "6+0+0");
  EXPECT_EQ(origins_of(*fair_shares(cluster), 2), "0+4+0");
  cluster.surplus = Surplus::additive;
  expect_shares(cluster, {{1, "8"}, {2, "2"}});
  EXPECT_EQ(origins_of(*fair_shares(cluster), 1), "6+2+0");
  cluster.surplus = Surplus::floor;
  cluster.nodes[0].demand[0].units = 3;
  expect_shares(cluster, {{1, "3"}, {2, "7"}});
  EXPECT_EQ(origins_of(*fair_shares(cluster), 2), "0+5+2");
}

TEST(Fair, weight_zero_keeps_its_guarantee_and_is_last_above_it) {
  Cluster cluster{
      .resources = capacities({8}),
      .nodes = {{.id = {1}, .weight = 0, .guarantee = of_gpus(4), .demand = {{{1}, 4}, {{1}, 1}}},
                {.id = {2}, .weight = 1, .guarantee = of_gpus(4), .demand = {{{1}, 4}, {{1}, 4}}}}};
  expect_shares(cluster, {{1, "4"}, {2, "4"}});
  cluster.nodes[1].guarantee = of_gpus(3);
  expect_shares(cluster, {{1, "4"}, {2, "4"}});
  EXPECT_EQ(origins_of(*fair_shares(cluster), 2), "3+1+0");
  cluster.nodes[1].demand = {{{1}, 2}};
  expect_shares(cluster, {{1, "5"}, {2, "2"}});
  EXPECT_EQ(origins_of(*fair_shares(cluster), 1), "4+0+1");
  // Among those of weight 0 nobody is first.
  cluster.nodes = {{.id = {1}, .weight = 0, .demand = {{{1}, 9}}},
                   {.id = {2}, .weight = 0, .demand = {{{1}, 9}}},
                   {.id = {3}, .weight = 1, .demand = {{{1}, 3}}}};
  expect_shares(cluster, {{1, "5/2"}, {2, "5/2"}, {3, "3"}});
}

TEST(Fair, a_guarantee_holds_on_every_model_that_a_job_asks_for) {
  // 1 is guaranteed the first model only: its job for both is beyond the guarantee.
  Cluster cluster{
      .resources = capacities({4, 4}),
      .nodes = {{.id = {1}, .guarantee = Guarantee{.of = {4, 0}}, .demand = {{{1, 1}, 4}}},
                {.id = {2}, .weight = 3, .demand = {{{1, 1}, 4}}}}};
  expect_shares(cluster, {{1, "1 1"}, {2, "3 3"}});
  // A plain number is of any model, and what comes first in the queue is counted first.
  cluster.nodes[0].guarantee = Guarantee{.any_gpu = 4};
  cluster.nodes[0].demand = {{{0, 1}, 3}, {{1, 0}, 4}};
  expect_shares(cluster, {{1, "3 3"}, {2, "1 1"}});
  EXPECT_EQ(origins_of(*fair_shares(cluster), 1), "1+0+2");
}

TEST(Fair, promises_beyond_what_is_there_are_cut_in_proportion) {
  Cluster cluster{.resources = capacities({6}),
                  .nodes = {{.id = {1}, .guarantee = of_gpus(8), .demand = {{{1}, 8}}},
                            {.id = {2}, .guarantee = of_gpus(4), .demand = {{{1}, 8}}},
                            {.id = {3}, .demand = {{{1}, 8}}}}};
  const auto shares = fair_shares(cluster);
  expect_shares(cluster, {{1, "4"}, {2, "2"}, {3, "0"}});
  EXPECT_TRUE(shares->of({1}).scaled);
  EXPECT_FALSE(shares->of({3}).scaled);
}

TEST(Fair, what_a_group_is_guaranteed_beyond_its_children_is_theirs_before_others) {
  expect_shares(
      {.resources = capacities({10}),
       .nodes = {{.id = {1}, .guarantee = of_gpus(8)},
                 {.id = {2}, .parent = NodeId{1}, .guarantee = of_gpus(2), .demand = {{{1}, 3}}},
                 {.id = {3}, .parent = NodeId{1}, .weight = 0, .demand = {{{1}, 9}}},
                 {.id = {4}, .weight = 100, .demand = {{{1}, 9}}}}},
      {{1, "8"}, {2, "3"}, {3, "5"}, {4, "2"}});
}

TEST(Fair, caps_and_limits_of_loans_bind) {
  // A parent's cap wins over its child's guarantee.
  expect_shares(
      {.resources = capacities({100}),
       .nodes =
           {{.id = {1}, .guarantee = of_gpus(100), .cap = {.any_gpu = 50}},
            {.id = {2}, .parent = NodeId{1}, .guarantee = of_gpus(100), .demand = {{{1}, 100}}}}},
      {{1, "50"}, {2, "50"}});
  Cluster loan{.resources = capacities({15}),
               .nodes = {{.id = {1}, .guarantee = of_gpus(10), .lend_limit = {.any_gpu = 3}},
                         {.id = {2},
                          .guarantee = of_gpus(5),
                          .borrow_limit = {.any_gpu = 10},
                          .demand = {{{1}, 20}}}}};
  expect_shares(loan, {{2, "8"}});
  loan.nodes[0].lend_limit = {.of = {5}};
  expect_shares(loan, {{2, "10"}});
  loan.nodes[0].lend_limit = {};
  expect_shares(loan, {{2, "15"}});
  loan.nodes[1].borrow_limit = {.of = {4}};
  expect_shares(loan, {{2, "9"}});
  // What its owner uses itself is not kept back a second time.
  loan.nodes[0].lend_limit = {.any_gpu = 3};
  loan.nodes[0].demand = {{{1}, 6}};
  expect_shares(loan, {{1, "6"}, {2, "8"}});
  // A group keeps back what its children leave: 8 of 10, of which they want 3.
  expect_shares({.resources = capacities({15}),
                 .nodes = {{.id = {1}, .guarantee = of_gpus(10), .lend_limit = {.any_gpu = 2}},
                           {.id = {2}, .demand = {{{1}, 20}}},
                           {.id = {3}, .parent = NodeId{1}, .demand = {{{1}, 3}}}}},
                {{1, "3"}, {2, "7"}, {3, "3"}});
}

TEST(Fair, a_resource_left_out_of_dominance_costs_nothing) {
  Cluster cluster{.resources = capacities({10, 10}),
                  .nodes = {{.id = {1}, .demand = {{{1, 0}, 9}, {{0, 1}, 9}}},
                            {.id = {2}, .demand = {{{1, 0}, 9}}}}};
  cluster.resources[1].dominant = false;
  expect_shares(cluster, {{1, "5 9"}, {2, "5 0"}});
}

TEST(Fair, whole_devices_go_by_largest_remainder_then_to_the_longest_waiting) {
  Cluster cluster{.resources = capacities({21}),
                  .nodes = {{.id = {1}, .demand = {{{1}, 30}}, .waiting_since = 9},
                            {.id = {2}, .demand = {{{1}, 30}}, .waiting_since = 4}}};
  EXPECT_EQ(fair_shares(cluster)->of({1}).whole, Amounts{10});
  EXPECT_EQ(fair_shares(cluster)->of({2}).whole, Amounts{11});
  cluster.nodes[1].waiting_since = 9;
  EXPECT_EQ(fair_shares(cluster)->of({1}).whole, Amounts{11}) << "the lower id";
  cluster.nodes[1].weight = 3;  // 21/4 and 63/4
  EXPECT_EQ(fair_shares(cluster)->of({1}).whole, Amounts{5});
  EXPECT_EQ(fair_shares(cluster)->of({2}).whole, Amounts{16});
}

TEST(Fair, nothing_is_had_where_there_is_nothing) {
  expect_shares({}, {});
  expect_shares({.resources = capacities({0}), .nodes = {{.id = {1}, .demand = {{{1}, 5}}}}},
                {{1, "0"}});
  expect_shares({.resources = capacities({5}), .nodes = {{.id = {1}, .demand = {{{1}, 0}}}}},
                {{1, "0"}});
}

}  // namespace
}  // namespace keel::share
