#include "share/select.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace keel::share {
namespace {

constexpr std::int64_t an_hour = 3'600'000'000;
const HalfLife day_half_life = *HalfLife::of_us(24 * an_hour);
const Terms now_only{day_half_life, 0};
const Terms even_terms{day_half_life, 500};
constexpr NodeId heron{1}, fjord{2}, larch{3};

Cluster fleet(std::int64_t count, std::vector<Node> nodes) {
  return {.resources = {{.capacity = count, .gpu = true}}, .nodes = std::move(nodes)};
}

Guarantee of_gpus(std::int64_t count) { return {.of = {count}}; }

// Everybody asks for the same, and has waited for equally long.
Selector line_of(const Cluster& cluster, Terms terms, const Amounts& shape) {
  Selector selector(terms);
  EXPECT_TRUE(selector.arrange(cluster, terms, an_hour));
  for (const Node& node : cluster.nodes) {
    const auto is_child = [&](const Node& other) { return other.parent == node.id; };
    if (std::ranges::any_of(cluster.nodes, is_child)) continue;
    selector.set_head(node.id, Head{shape});
  }
  return selector;
}

std::string order(Selector& selector, std::optional<NodeId> parent = {}) {
  std::string text;
  for (const NodeId id : selector.in_line(parent)) text += std::to_string(id.value) + " ";
  return text;
}

TEST(Select, gives_each_in_turn_what_its_weight_says) {
  Selector selector = line_of(fleet(9, {{.id = heron}, {.id = fjord, .weight = 2}}), now_only, {1});
  std::string starts;
  for (int i = 0; i < 9; ++i) {
    const NodeId next = selector.pick().value();
    starts += std::to_string(next.value);
    selector.hold(next, {{1}}, an_hour);
  }
  EXPECT_EQ(starts, "212212212") << "after the start 1/2 < 1; 1 = 1, and 2 had more before";
}

TEST(Select, says_what_counted) {
  Selector selector =
      line_of(fleet(8, {{.id = heron, .guarantee = of_gpus(2)}, {.id = fjord}}), even_terms, {4});
  selector.hold(fjord, {{4}, 2000}, an_hour);
  selector.freeze(25 * an_hour);
  selector.set_fair(fjord, {Fraction(13, 2)});
  const Standing standing = selector.standing(fjord);
  EXPECT_EQ(standing.offers, fjord);
  EXPECT_FALSE(standing.within);
  EXPECT_EQ(standing.counted,
            (std::vector<Counted>{
                {.judged = true, .now = 4, .after = Fraction(13, 2), .usage = Fraction(4)}}));
  EXPECT_EQ(standing.before, Fraction(1, 2)) << "4/8 now, and 4 at twice the price for a day";
  EXPECT_EQ(standing.after, Fraction(13, 16) / Fraction(2) + Fraction(1, 4));
  selector.set_head(heron, std::nullopt);
  EXPECT_EQ(selector.standing(heron).offers, std::nullopt);
  selector.set_head(heron, Head{{1}});
  EXPECT_TRUE(selector.standing(heron).within);
  EXPECT_EQ(selector.standing(heron).ratio, Fraction(1, 2));
}

// The amounts held, of GPUs and memory; in which order equal jobs are considered.
struct OrderRow {
  const char* name;
  std::vector<std::int64_t> capacity;
  std::vector<Amounts> held;
  const char* order;
};
const OrderRow order_rows[] = {
    {"lowest dominant share first", {100, 100}, {{5, 5}, {6, 6}, {1, 1}, {3, 1}}, "3 4 1 2 "},
    {"memory makes poor", {50, 200}, {{2, 2}, {1, 16}, {3, 1}, {1, 5}, {5, 1}}, "4 1 3 2 5 "},
};

TEST(Select, orders_by_the_dominant_share) {
  for (const OrderRow& row : order_rows) {
    SCOPED_TRACE(row.name);
    Cluster cluster{
        .resources = {{.capacity = row.capacity[0], .gpu = true}, {.capacity = row.capacity[1]}}};
    for (std::size_t i = 0; i < row.held.size(); ++i) cluster.nodes.push_back({.id = {i + 1}});
    Selector selector = line_of(cluster, now_only, {1, 1});
    for (std::size_t i = 0; i < row.held.size(); ++i)
      selector.hold({i + 1}, {row.held[i]}, an_hour);
    EXPECT_EQ(order(selector), row.order);
  }
}

// What 1 and 2 hold of 8 GPUs, and ask for; who goes first.
struct GuaranteeRow {
  const char* name;
  Node one, two;
  std::int64_t held_one, held_two, asked_one, asked_two;
  const char* order;
};
const GuaranteeRow guarantee_rows[] = {
    {"within the guarantee comes first, whatever s",
     {.id = {1}, .guarantee = of_gpus(4)},
     {.id = {2}},
     3,
     0,
     1,
     1,
     "1 2 "},
    {"one GPU beyond it does not",
     {.id = {1}, .guarantee = of_gpus(4)},
     {.id = {2}},
     3,
     0,
     2,
     2,
     "2 1 "},
    {"the lower part of the guarantee first",
     {.id = {1}, .guarantee = of_gpus(2)},
     {.id = {2}, .guarantee = of_gpus(6)},
     0,
     1,
     1,
     1,
     "2 1 "},
    {"a plain number covers any model",
     {.id = {1}, .guarantee = Guarantee{.any_gpu = 2}},
     {.id = {2}},
     1,
     0,
     1,
     1,
     "1 2 "},
    {"weight 0 has its guarantee",
     {.id = {1}, .weight = 0, .guarantee = of_gpus(4)},
     {.id = {2}},
     3,
     0,
     1,
     1,
     "1 2 "},
    {"weight 0 is last above its guarantee",
     {.id = {1}, .weight = 0, .guarantee = of_gpus(4)},
     {.id = {2}, .guarantee = of_gpus(4)},
     4,
     4,
     1,
     4,
     "2 1 "},
    {"weight 0 is last though it holds nothing",
     {.id = {1}, .weight = 0},
     {.id = {2}},
     0,
     7,
     1,
     1,
     "2 1 "},
    {"two of weight 0 share evenly",
     {.id = {1}, .weight = 0},
     {.id = {2}, .weight = 0},
     2,
     1,
     1,
     1,
     "2 1 "},
};

TEST(Select, guarantees_come_first_and_weight_0_comes_last) {
  for (const GuaranteeRow& row : guarantee_rows) {
    SCOPED_TRACE(row.name);
    Selector selector = line_of(fleet(8, {row.one, row.two}), now_only, {1});
    selector.hold({1}, {{row.held_one}}, an_hour);
    selector.hold({2}, {{row.held_two}}, an_hour);
    selector.set_head({1}, Head{{row.asked_one}});
    selector.set_head({2}, Head{{row.asked_two}});
    EXPECT_EQ(order(selector), row.order);
  }
}

TEST(Select, a_job_without_gpus_is_within_only_what_is_guaranteed) {
  // GPUs and CPUs: 1 is guaranteed GPUs only, 2 CPUs as well.
  const Cluster cluster{.resources = {{.capacity = 8, .gpu = true}, {.capacity = 80}},
                        .nodes = {{.id = {1}, .guarantee = Guarantee{.of = {4, 0}}},
                                  {.id = {2}, .guarantee = Guarantee{.of = {4, 10}}}}};
  Selector selector = line_of(cluster, now_only, {0, 4});
  EXPECT_FALSE(selector.standing({1}).within);
  EXPECT_TRUE(selector.standing({2}).within);
  selector.hold({2}, {{0, 7}}, an_hour);
  EXPECT_FALSE(selector.standing({2}).within) << "11 of 10 CPUs";
  selector.set_head({2}, Head{{1, 20}});
  EXPECT_TRUE(selector.standing({2}).within) << "with GPUs, CPUs come along";
}

TEST(Select, only_what_lies_above_the_guarantee_counts_where_weights_divide_the_surplus) {
  Cluster cluster = fleet(12, {{.id = {1}, .guarantee = of_gpus(4)}, {.id = {2}}});
  for (const Surplus surplus : {Surplus::floor, Surplus::additive}) {
    cluster.surplus = surplus;
    Selector selector = line_of(cluster, now_only, {1});
    selector.hold({1}, {{5}}, an_hour);
    selector.hold({2}, {{2}}, an_hour);
    EXPECT_EQ(order(selector), surplus == Surplus::floor ? "2 1 " : "1 2 ");
  }
}

TEST(Select, a_huge_job_is_no_guaranteed_one) {
  Selector selector = line_of(
      fleet(512, {{.id = {1}, .guarantee = Guarantee{.any_gpu = 1}}, {.id = {2}}}), now_only, {1});
  selector.set_head({1}, Head{{512}});
  EXPECT_EQ(order(selector), "2 1 ");
}

TEST(Select, a_group_is_judged_by_the_sum_and_on_what_its_job_asks_for) {
  // 3 and 4 are children of 1 and need different things; 2 needs both.
  const Cluster cluster{.resources = {{.capacity = 10, .gpu = true}, {.capacity = 10}},
                        .nodes = {{.id = {1}},
                                  {.id = {2}},
                                  {.id = {3}, .parent = NodeId{1}},
                                  {.id = {4}, .parent = NodeId{1}}}};
  Selector selector = line_of(cluster, now_only, {1, 1});
  selector.set_head({3}, Head{{1, 0}});
  selector.set_head({4}, Head{{0, 1}});
  std::vector<int> starts(5);
  std::vector<std::int64_t> free{10, 10};
  while (const auto next = selector.pick()) {
    const Amounts shape{next->value == 4 ? 0 : 1, next->value == 3 ? 0 : 1};
    if (free[0] < shape[0] || free[1] < shape[1]) {
      selector.set_head(*next, std::nullopt);
      continue;
    }
    free = {free[0] - shape[0], free[1] - shape[1]};
    selector.hold(*next, {shape}, an_hour);
    ++starts[next->value];
  }
  EXPECT_EQ(starts, (std::vector<int>{0, 0, 5, 5, 5})) << "one number for 1 would starve it";
}

TEST(Select, what_is_held_of_other_things_counts_for_leaves_only) {
  const Cluster cluster{.resources = {{.capacity = 10, .gpu = true}, {.capacity = 10}},
                        .nodes = {{.id = {1}},
                                  {.id = {2}},
                                  {.id = {3}, .parent = NodeId{1}},
                                  {.id = {4}, .parent = NodeId{1}}}};
  Selector selector = line_of(cluster, even_terms, {1, 0});
  for (const NodeId id : {NodeId{2}, NodeId{3}}) selector.hold(id, {{0, 5}}, an_hour);
  selector.hold({4}, {{2, 0}}, an_hour);
  EXPECT_EQ(selector.standing({1}).after, Fraction(3, 20)) << "half of 3 GPUs of 10";
  EXPECT_EQ(selector.standing({2}).after, Fraction(5, 20)) << "half of 5 of 10";
  EXPECT_EQ(selector.standing({3}).before, Fraction(5, 20));
}

TEST(Select, ties_go_to_who_had_less_then_to_the_longest_wait_then_by_id) {
  Selector selector = line_of(fleet(8, {{.id = {1}}, {.id = {2}}, {.id = {3}}}), now_only, {1});
  EXPECT_EQ(order(selector), "1 2 3 ");
  selector.set_head({3}, Head{{1}, -1});
  EXPECT_EQ(order(selector), "3 1 2 ");
  for (const NodeId id : {NodeId{1}, NodeId{3}}) selector.hold(id, {{1}}, an_hour);
  for (const NodeId id : {NodeId{1}, NodeId{2}, NodeId{3}}) selector.set_fair(id, {1});
  EXPECT_EQ(order(selector), "2 3 1 ") << "1/8 after the start for all; 2 has nothing yet";
}

TEST(Select, what_never_ran_leaves_nothing_behind) {
  Selector selector = line_of(fleet(8, {{.id = heron}, {.id = fjord}}), even_terms, {1});
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t at = an_hour + i * 1000;
    selector.hold(heron, {{1}}, at);
    selector.release(heron, {{1}}, at);
  }
  EXPECT_EQ(selector.account(heron).usage[0].then, Decayed{});
  selector.freeze(2 * an_hour);
  EXPECT_EQ(selector.standing(heron), [&] {
    Standing standing = selector.standing(fjord);
    standing.offers = heron;
    return standing;
  }());
  EXPECT_EQ(order(selector), "1 2 ") << "only the id decides";
}

TEST(Select, what_was_held_shortly_counts_for_as_long_as_it_was_held) {
  Selector selector = line_of(fleet(8, {{.id = heron}, {.id = fjord}}), even_terms, {1});
  std::int64_t at = an_hour;
  for (int i = 0; i < 1000; ++i) {
    selector.hold(heron, {{1}}, at);
    selector.release(heron, {{1}}, at + 1000);
    at += 2000;
  }
  selector.freeze(at);
  // A second in all: at most its part of the half-life, times ln 2.
  const Fraction used = selector.standing(heron).counted[0].usage;
  EXPECT_LE(used, Fraction(1, 24 * 3600));
  EXPECT_GE(used, Fraction(69, 100) * Fraction(1, 24 * 3600));
  EXPECT_EQ(order(selector), "2 1 ");
}

TEST(Select, what_is_frozen_stays_until_the_next_cycle) {
  Selector selector = line_of(fleet(8, {{.id = heron}, {.id = fjord}}), even_terms, {1});
  selector.hold(heron, {{4}}, 2 * an_hour);
  const Fraction before = selector.standing(heron).counted[0].usage;
  selector.release(heron, {{4}}, 20 * an_hour);
  EXPECT_EQ(selector.standing(heron).counted[0].usage, before);
  selector.freeze(20 * an_hour);
  EXPECT_GT(selector.standing(heron).counted[0].usage, before);
}

// 10 holds two groups; 1 is a leaf of the first.
Cluster two_groups(std::optional<NodeId> parent_of_1) {
  Cluster cluster = fleet(8, {{.id = {10}},
                              {.id = {20}},
                              {.id = {11}, .parent = NodeId{10}},
                              {.id = {21}, .parent = NodeId{20}}});
  if (parent_of_1) cluster.nodes.push_back({.id = {1}, .parent = parent_of_1});
  return cluster;
}

Fraction used_by(Selector& selector, NodeId id) { return selector.standing(id).counted[0].usage; }

// Inheriting rounds once.
Fraction rounded(const Fraction& amount) {
  return {(amount + Fraction(1, 2000)).thousandths(), 1000};
}

TEST(Select, a_leaf_that_moves_takes_its_usage_along_and_groups_keep_theirs) {
  Selector selector = line_of(two_groups(NodeId{10}), even_terms, {1});
  selector.hold({1}, {{8}}, an_hour);
  ASSERT_TRUE(selector.arrange(two_groups(NodeId{20}), even_terms, 25 * an_hour));
  EXPECT_EQ(used_by(selector, {1}), Fraction(4));
  EXPECT_EQ(used_by(selector, {10}), Fraction(4));
  EXPECT_EQ(used_by(selector, {20}), Fraction(0));
  EXPECT_EQ(selector.account({10}).held, Amounts{0});
  EXPECT_EQ(selector.account({20}).held, Amounts{8});
  EXPECT_EQ(selector.in_line(NodeId{20}), (std::vector<NodeId>{{21}, {1}})) << "its head stays";
  selector.release({1}, {{8}}, 49 * an_hour);
  selector.freeze(49 * an_hour);
  EXPECT_EQ(used_by(selector, {10}), Fraction(2));
  EXPECT_EQ(used_by(selector, {20}), Fraction(4));
  EXPECT_EQ(used_by(selector, {1}), Fraction(6));
}

TEST(Select, who_is_deleted_and_created_again_does_not_start_at_nothing) {
  for (const NodeId again : {NodeId{1}, NodeId{2}}) {
    SCOPED_TRACE(again.value);
    Selector selector = line_of(two_groups(NodeId{10}), even_terms, {1});
    selector.hold({1}, {{8}}, an_hour);
    const auto refused = selector.arrange(two_groups({}), even_terms, 25 * an_hour);
    ASSERT_FALSE(refused);
    EXPECT_EQ(describe(refused.error()), "what is held of node 1 has to be released first");
    selector.release({1}, {{8}}, 25 * an_hour);
    ASSERT_TRUE(selector.arrange(two_groups({}), even_terms, 25 * an_hour));
    EXPECT_EQ(used_by(selector, {10}), Fraction(4)) << "the group keeps it";
    Cluster cluster = two_groups({});
    cluster.nodes.push_back({.id = again, .parent = NodeId{10}});
    ASSERT_TRUE(selector.arrange(cluster, even_terms, 30 * an_hour));
    EXPECT_EQ(selector.inherit(again, {1}, 30 * an_hour), again != NodeId{1});
    selector.freeze(49 * an_hour);
    EXPECT_EQ(rounded(used_by(selector, again)), Fraction(2));
    EXPECT_EQ(used_by(selector, {10}), Fraction(2));
  }
}

TEST(Select, a_restart_with_all_accounts_goes_on_as_before) {
  const Cluster cluster = two_groups(NodeId{10});
  Selector selector = line_of(cluster, even_terms, {1});
  selector.hold({1}, {{3}, 1500}, 2 * an_hour);
  selector.hold({21}, {{2}}, 3 * an_hour);
  Selector again(even_terms);
  for (const Node& node : cluster.nodes) again.remember(node.id, selector.account(node.id));
  ASSERT_TRUE(again.arrange(cluster, even_terms, 30 * an_hour));
  selector.freeze(30 * an_hour);
  EXPECT_EQ(used_by(again, {1}), used_by(selector, {1}));
  EXPECT_EQ(used_by(again, {20}), used_by(selector, {20}));
  EXPECT_EQ(again.account({10}).held, Amounts{3});
}

TEST(Select, refuses_what_is_outside_its_limits_and_changes_nothing) {
  Selector selector = line_of(fleet(8, {{.id = heron}}), even_terms, {1});
  EXPECT_EQ(selector.arrange(fleet(8, {}), {day_half_life, 1001}, an_hour).error().field,
            "lambda_thousandths");
  EXPECT_EQ(selector.arrange(fleet(8, {}), {day_half_life, -1}, an_hour).error().field,
            "lambda_thousandths");
  EXPECT_EQ(selector.arrange({.resources = {}}, even_terms, an_hour).error().field, "resources");
  EXPECT_EQ(
      selector.arrange(fleet(8, {{.id = {1}, .weight = -1}}), even_terms, an_hour).error().field,
      "weight");
  EXPECT_EQ(selector.pick(), heron);
  ASSERT_TRUE(selector.arrange(fleet(8, {}), even_terms, an_hour));
  EXPECT_EQ(selector.pick(), std::nullopt);
}

TEST(Select, another_half_life_holds_from_now_on) {
  const Cluster cluster = fleet(8, {{.id = heron}});
  Selector selector = line_of(cluster, even_terms, {1});
  selector.hold(heron, {{8}}, an_hour);
  const Terms short_memory{*HalfLife::of_us(an_hour), 500};
  ASSERT_TRUE(selector.arrange(cluster, short_memory, 25 * an_hour));
  EXPECT_EQ(used_by(selector, heron), Fraction(4)) << "what is past was remembered with a day";
  selector.freeze(26 * an_hour);
  EXPECT_EQ(used_by(selector, heron), Fraction(6));
}

TEST(Select, costs_keys_for_the_way_to_the_root_only) {
  // 5,000 leaves, 50 to a group, 10 groups to a group: three levels.
  Cluster cluster = fleet(100'000, {});
  for (std::uint64_t i = 0; i < 10; ++i) cluster.nodes.push_back({.id = {100'000 + i}});
  for (std::uint64_t i = 0; i < 100; ++i) {
    cluster.nodes.push_back({.id = {50'000 + i}, .parent = NodeId{100'000 + i / 10}});
  }
  for (std::uint64_t i = 1; i <= 5000; ++i) {
    cluster.nodes.push_back({.id = {i}, .parent = NodeId{50'000 + i % 100}});
  }
  Selector selector = line_of(cluster, even_terms, {1});
  (void)selector.pick();
  Random random(1);
  constexpr std::uint64_t levels = 3;
  constexpr std::uint64_t matches = 6 + 4 + 4;  // ceil of log2 of 50, 10, 10, at most
  for (int i = 0; i < 1000; ++i) {
    const Effort before = selector.effort();
    const NodeId next = selector.pick().value();
    EXPECT_EQ(selector.effort().keys, before.keys) << "looking costs nothing";
    selector.hold(next, {{1}}, an_hour);
    selector.set_head(next, Head{{random.between(1, 8)}, i});
    (void)selector.pick();
    EXPECT_LE(selector.effort().keys - before.keys, levels);
    EXPECT_LE(selector.effort().comparisons - before.comparisons, matches);
  }
  const Effort before = selector.effort();
  selector.freeze(2 * an_hour);
  (void)selector.pick();
  EXPECT_LE(selector.effort().keys - before.keys, 5110U) << "each once";
}

}  // namespace
}  // namespace keel::share
