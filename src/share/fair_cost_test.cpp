// That fair shares of a large tree can be computed. KEEL_SHARE_TENANTS says how many leaves
// (default 2,000), KEEL_SHARE_ASK what jobs ask for: "gpus" (default), "even" (as much CPU and
// memory for each GPU) or "odd" (amounts drawn by chance). Prints how long it took.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/random.h"
#include "share/fair.h"

namespace keel::share {
namespace {

constexpr std::int64_t gibibyte = std::int64_t{1} << 30U;

ShapeGroup draw_shape(Random& random, const std::string& ask) {
  const std::int64_t gpus = std::int64_t{1} << random.between(0, 3);
  ShapeGroup group{.each = {0, 0, 0, 0}, .units = random.between(1, 20)};
  group.each[random.one_in(2) ? 0 : 1] = gpus;
  if (ask == "even") {
    group.each[2] = gpus * 8000;
    group.each[3] = gpus * 64 * gibibyte;
  } else if (ask == "odd") {
    group.each[2] = gpus * random.between(1000, 16'000);
    group.each[3] = gpus * random.between(1, 200) * gibibyte;
  }
  return group;
}

// 12,500 nodes of 8 GPUs of two models; seven children for each group, four levels of groups.
Cluster large_tree(std::uint64_t tenants, const std::string& ask) {
  Random random(1);
  Cluster cluster{.resources = {{.capacity = 50'000, .gpu = true},
                                {.capacity = 50'000, .gpu = true},
                                {.capacity = 1'200'000'000},
                                {.capacity = 12'500 * 2048 * gibibyte}}};
  std::vector<std::optional<NodeId>> above{std::nullopt};
  const auto add = [&](std::optional<NodeId> parent) -> Node& {
    const NodeId id{cluster.nodes.size() + 1};
    cluster.nodes.push_back({.id = id, .parent = parent, .weight = random.between(1, 4)});
    return cluster.nodes.back();
  };
  for (int level = 1; level <= 4; ++level) {
    std::vector<std::optional<NodeId>> here;
    for (const auto& parent : above) {
      for (int i = 0; i < 7; ++i) here.emplace_back(add(parent).id);
    }
    above = here;
  }
  for (std::uint64_t i = 0; i < tenants; ++i) {
    Node& leaf = add(above[i % above.size()]);
    for (std::int64_t n = random.between(1, 3); n > 0; --n) {
      leaf.demand.push_back(draw_shape(random, ask));
    }
  }
  return cluster;
}

std::string said_in(const char* variable, const char* otherwise) {
  const char* text = std::getenv(variable);
  return text ? text : otherwise;
}

TEST(FairCost, thousands_of_tenants_five_levels_deep) {
  const std::uint64_t tenants = std::stoull(said_in("KEEL_SHARE_TENANTS", "2000"));
  const Cluster cluster = large_tree(tenants, said_in("KEEL_SHARE_ASK", "gpus"));
  const auto start = std::chrono::steady_clock::now();
  const auto shares = fair_shares(cluster);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(shares) << describe(shares.error());
  std::uint32_t bits = 0;
  Fraction gpus;
  for (const Node& node : cluster.nodes) {
    const FairShare& share = shares->of(node.id);
    for (const Part& part : share.parts) bits = std::max(bits, part.total().bits());
    if (!node.parent) gpus += share.parts[0].total();
  }
  std::printf("%zu tenants below %zu groups: %.0f ms, at most %u bits\n", std::size_t{tenants},
              cluster.nodes.size() - tenants, took.count(), bits);
  EXPECT_GT(gpus, Fraction(0));
  EXPECT_LE(gpus, Fraction(50'000));
}

}  // namespace
}  // namespace keel::share
