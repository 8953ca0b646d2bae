// What must hold of fair shares for every cluster, over clusters drawn by chance.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "share/fair.h"
#include "share/random_cluster.h"

namespace keel::share {
namespace {

constexpr std::uint64_t law_seeds = 1500;

using Law = std::function<void(Random&)>;

// Draws what the law wants to see, over and over. Prints the seed on which it breaks.
void expect_law(const Law& law) {
  for (std::uint64_t seed = 1; seed <= law_seeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed=" << seed);
    Random random(seed);
    law(random);
  }
}

bool operator==(const FairShare& a, const FairShare& b) {
  return a.parts == b.parts && a.whole == b.whole && a.scaled == b.scaled;
}

bool same_shares(const FairShares& a, const FairShares& b) {
  return std::ranges::equal(a.nodes, b.nodes,
                            [](const FairShare& x, const FairShare& y) { return x == y; });
}

// Without whole devices, which follow ids.
void expect_unchanged(const Cluster& before, const Cluster& after) {
  SCOPED_TRACE(text_of(before) + "and then\n" + text_of(after));
  const auto one = fair_shares(before);
  const auto other = fair_shares(after);
  ASSERT_TRUE(one && other);
  EXPECT_TRUE(same_shares(*one, *other));
}

Fraction wanted(const Node& node, std::size_t r) {
  Fraction sum;
  for (const ShapeGroup& group : node.demand) {
    sum += Fraction(group.each[r]) * Fraction(group.units);
  }
  return sum;
}

bool is_satisfied(const FairShares& shares, const Node& node) {
  const FairShare& share = shares.of(node.id);
  for (std::size_t r = 0; r < share.parts.size(); ++r) {
    if (share.parts[r].total() != wanted(node, r)) return false;
  }
  return true;
}

Fraction dominant_share(const Cluster& cluster, const FairShare& share) {
  Fraction most;
  for (std::size_t r = 0; r < share.parts.size(); ++r) {
    const std::int64_t capacity = cluster.resources[r].capacity;
    if (capacity > 0) most = std::max(most, share.parts[r].total() / Fraction(capacity));
  }
  return most;
}

bool is_leaf(const Cluster& cluster, const Node& node) {
  return std::ranges::none_of(cluster.nodes, [&](const Node& n) { return n.parent == node.id; });
}

// The part of the whole that the weights on the way down give.
Fraction part_by_weight(const Cluster& cluster, const Node& node) {
  std::int64_t sum = 0;
  for (const Node& sibling : cluster.nodes) {
    if (sibling.parent == node.parent) sum += sibling.weight;
  }
  const Fraction part = sum == 0 ? Fraction() : Fraction(node.weight, sum);
  if (!node.parent) return part;
  const auto parent = std::ranges::find(cluster.nodes, *node.parent, &Node::id);
  return part * part_by_weight(cluster, *parent);
}

bool is_full(const Cluster& cluster, const FairShares& shares, std::size_t r) {
  Fraction sum;
  for (const Node& node : cluster.nodes) {
    if (!node.parent) sum += shares.of(node.id).parts[r].total();
  }
  return sum == Fraction(cluster.resources[r].capacity);
}

TEST(FairLaw, renaming_in_order_changes_nothing) {
  expect_law([](Random& random) {
    const Cluster cluster = draw_cluster(random);
    Cluster renamed = cluster;
    for (Node& node : renamed.nodes) {
      node.id.value = node.id.value * 10 + 3;
      if (node.parent) node.parent->value = node.parent->value * 10 + 3;
    }
    expect_unchanged(cluster, renamed);
  });
}

TEST(FairLaw, the_order_of_the_input_changes_nothing) {
  expect_law([](Random& random) {
    const Cluster cluster = draw_cluster(random);
    std::vector<std::pair<std::uint64_t, std::size_t>> order;
    for (std::size_t i = 0; i < cluster.nodes.size(); ++i) order.emplace_back(random.next(), i);
    std::ranges::sort(order);
    Cluster shuffled = cluster;
    shuffled.nodes.clear();
    for (const auto& [place, i] : order) shuffled.nodes.push_back(cluster.nodes[i]);
    expect_unchanged(cluster, shuffled);
  });
}

TEST(FairLaw, scaling_all_weights_changes_nothing) {
  expect_law([](Random& random) {
    const Cluster cluster = draw_cluster(random);
    Cluster scaled = cluster;
    const std::int64_t factor = random.between(2, 1000);
    for (Node& node : scaled.nodes) node.weight *= factor;
    expect_unchanged(cluster, scaled);
  });
}

TEST(FairLaw, scaling_a_resources_unit_scales_its_shares_only) {
  expect_law([](Random& random) {
    Cluster cluster = draw_cluster(random, {.bounds = false});
    Cluster scaled = cluster;
    const std::int64_t factor = random.between(2, 1000);
    scaled.resources[0].capacity *= factor;
    for (Node& node : scaled.nodes) {
      for (ShapeGroup& group : node.demand) group.each[0] *= factor;
    }
    const auto one = fair_shares(cluster);
    const auto other = fair_shares(scaled);
    for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
      for (std::size_t r = 0; r < cluster.resources.size(); ++r) {
        EXPECT_EQ(one->nodes[i].parts[r].total() * Fraction(r == 0 ? factor : 1),
                  other->nodes[i].parts[r].total())
            << text_of(cluster);
      }
    }
  });
}

TEST(FairLaw, splitting_equal_jobs_changes_nothing) {
  expect_law([](Random& random) {
    const Cluster cluster = draw_cluster(random);
    Cluster split = cluster;
    for (Node& node : split.nodes) {
      std::vector<ShapeGroup> demand;
      for (const ShapeGroup& group : node.demand) {
        const std::int64_t first = random.between(0, group.units);
        demand.push_back({group.each, first});
        demand.push_back({group.each, group.units - first});
      }
      node.demand = demand;
    }
    expect_unchanged(cluster, split);
  });
}

TEST(FairLaw, one_job_more_takes_nobody_below_guarantee_and_weighted_part) {
  expect_law([](Random& random) {
    Cluster cluster = draw_cluster(random, {.bounds = false, .zero_weights = false});
    const auto chosen = static_cast<std::size_t>(
        random.between(0, static_cast<std::int64_t>(cluster.nodes.size()) - 1));
    Node& node = cluster.nodes[chosen];
    if (!is_leaf(cluster, node)) return;
    ShapeGroup job{.each = Amounts(cluster.resources.size(), 1), .units = 1};
    node.demand.push_back(job);
    SCOPED_TRACE(text_of(cluster));
    const auto shares = fair_shares(cluster);
    for (const Node& other : cluster.nodes) {
      if (!is_leaf(cluster, other) || is_satisfied(*shares, other)) continue;
      // Nothing is had of a model that is not there.
      const bool possible = std::ranges::none_of(other.demand, [&](const ShapeGroup& group) {
        for (std::size_t r = 0; r < group.each.size(); ++r) {
          if (group.each[r] > 0 && cluster.resources[r].capacity == 0) return true;
        }
        return false;
      });
      if (!possible) continue;
      EXPECT_GE(dominant_share(cluster, shares->of(other.id)), part_by_weight(cluster, other))
          << "node " << other.id.value;
    }
  });
}

TEST(FairLaw, nobody_takes_anything_of_what_is_guaranteed_and_wanted) {
  int seen = 0;
  expect_law([&](Random& random) {
    Cluster cluster = draw_cluster(random);
    cluster.resources.resize(1);
    cluster.resources[0].gpu = true;
    for (Node& node : cluster.nodes) {
      node.cap = node.borrow_limit = node.lend_limit = {};
      if (node.guarantee && node.guarantee->any_gpu == 0) node.guarantee->of.resize(1);
      for (ShapeGroup& group : node.demand) group.each = {std::max<std::int64_t>(group.each[0], 1)};
    }
    SCOPED_TRACE(text_of(cluster));
    const auto shares = fair_shares(cluster);
    for (const Node& node : cluster.nodes) {
      const FairShare& share = shares->of(node.id);
      if (share.scaled || !node.guarantee || !is_leaf(cluster, node)) continue;
      const Guarantee& guarantee = *node.guarantee;
      const Fraction promised(guarantee.of.empty() ? guarantee.any_gpu : guarantee.of[0]);
      EXPECT_EQ(share.parts[0].guarantee >= std::min(promised, wanted(node, 0)), true)
          << "node " << node.id.value;
      ++seen;
    }
  });
  EXPECT_GT(seen, 300);
}

TEST(FairLaw, a_job_beyond_the_own_share_changes_nobodys) {
  int seen = 0;
  expect_law([&](Random& random) {
    Cluster cluster = draw_cluster(random);
    for (Node& node : cluster.nodes) {
      if (node.demand.size() > 1) node.demand.resize(1);
    }
    const auto shares = fair_shares(cluster);
    Cluster more = cluster;
    for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
      Node& node = more.nodes[i];
      // A lend limit follows demand.
      if (node.demand.empty() || !node.lend_limit.of.empty()) continue;
      if (is_satisfied(*shares, node)) continue;
      node.demand[0].units += random.between(1, 50);
      ++seen;
    }
    expect_unchanged(cluster, more);
  });
  EXPECT_GT(seen, 500);
}

// Of one level, one shape each; all of one weight class.
Cluster draw_flat(Random& random) {
  Cluster cluster = draw_cluster(random, {.bounds = false, .groups = false, .zero_weights = false});
  for (Node& node : cluster.nodes) {
    if (node.demand.size() > 1) node.demand.resize(1);
  }
  for (Resource& resource : cluster.resources) resource.capacity += 1;
  return cluster;
}

TEST(FairLaw, sharing_is_worth_it_and_nothing_is_left_that_somebody_could_use) {
  int unsatisfied = 0;
  expect_law([&](Random& random) {
    const Cluster cluster = draw_flat(random);
    SCOPED_TRACE(text_of(cluster));
    const auto shares = fair_shares(cluster);
    for (const Node& node : cluster.nodes) {
      if (node.demand.empty() || is_satisfied(*shares, node)) continue;
      ++unsatisfied;
      EXPECT_GE(dominant_share(cluster, shares->of(node.id)), part_by_weight(cluster, node));
      bool blocked = false;
      for (std::size_t r = 0; r < cluster.resources.size(); ++r) {
        const bool asked = node.demand[0].each[r] > 0;
        blocked = blocked || (asked && is_full(cluster, *shares, r));
      }
      EXPECT_TRUE(blocked) << "node " << node.id.value;
    }
  });
  EXPECT_GT(unsatisfied, 500);
}

// Whole units of the true shape that fit into a share.
Fraction units_in(const FairShare& share, const ShapeGroup& shape) {
  Fraction units = shape.units;
  for (std::size_t r = 0; r < shape.each.size(); ++r) {
    if (shape.each[r] > 0) {
      units = std::min(units, share.parts[r].total() / Fraction(shape.each[r]));
    }
  }
  return units;
}

TEST(FairLaw, nobody_gains_by_asking_for_more_than_is_needed) {
  expect_law([](Random& random) {
    const Cluster cluster = draw_flat(random);
    Cluster lied = cluster;
    Node& liar = lied.nodes[0];
    if (liar.demand.empty()) return;
    liar.demand[0].units += random.between(0, 9);
    for (std::int64_t& amount : liar.demand[0].each) amount += random.between(0, 3);
    SCOPED_TRACE(text_of(cluster) + text_of(lied));
    const ShapeGroup& shape = cluster.nodes[0].demand[0];
    EXPECT_LE(units_in(fair_shares(lied)->of(liar.id), shape),
              units_in(fair_shares(cluster)->of(liar.id), shape));
  });
}

TEST(FairLaw, shares_add_up_and_keep_every_limit) {
  expect_law([](Random& random) {
    const Cluster cluster = draw_cluster(random);
    SCOPED_TRACE(text_of(cluster));
    const auto shares = fair_shares(cluster);
    for (std::size_t r = 0; r < cluster.resources.size(); ++r) {
      Fraction top;
      for (const Node& node : cluster.nodes) {
        const FairShare& share = shares->of(node.id);
        const Fraction total = share.parts[r].total();
        if (!node.parent) top += total;
        EXPECT_GE(share.parts[r].guarantee.sign(), 0);
        EXPECT_GE(share.parts[r].weight.sign(), 0);
        EXPECT_GE(share.parts[r].borrowed.sign(), 0);
        EXPECT_LE(std::max(Fraction(share.whole[r]) - total, total - Fraction(share.whole[r])),
                  Fraction(1));
        if (is_leaf(cluster, node)) {
          EXPECT_LE(total, wanted(node, r));
          EXPECT_LE(Fraction(share.whole[r]), wanted(node, r));
          continue;
        }
        Fraction below;
        std::int64_t whole = 0;
        for (const Node& child : cluster.nodes) {
          if (child.parent != node.id) continue;
          below += shares->of(child.id).parts[r].total();
          whole += shares->of(child.id).whole[r];
        }
        EXPECT_EQ(below, total);
        EXPECT_EQ(whole, share.whole[r]) << "nothing is lost in rounding";
      }
      EXPECT_LE(top, Fraction(cluster.resources[r].capacity));
    }
    for (const Node& node : cluster.nodes) {
      if (node.cap.of.empty()) continue;
      for (std::size_t r = 0; r < cluster.resources.size(); ++r) {
        if (node.cap.of[r]) {
          EXPECT_LE(shares->of(node.id).parts[r].total(), Fraction(*node.cap.of[r]));
        }
      }
    }
  });
}

}  // namespace
}  // namespace keel::share
