// What must hold of selection in the long run, in small worlds.
#include <gtest/gtest.h>

#include <algorithm>

#include "share/random_cluster.h"
#include "share/select_world.h"

namespace keel::share {
namespace {

constexpr std::int64_t law_minute = 60'000'000;
constexpr std::int64_t law_hour = 60 * law_minute;
const HalfLife two_hours = *HalfLife::of_us(2 * law_hour);
const Terms mixed_terms{two_hours, 500};

std::function<WorldJob(Random&)> jobs_of(std::vector<std::int64_t> sizes) {
  return [sizes](Random& random) {
    const auto last = static_cast<std::int64_t>(sizes.size()) - 1;
    return WorldJob{.gpus = sizes[static_cast<std::size_t>(random.between(0, last))],
                    .length_us = random.between(law_minute, 10 * law_minute)};
  };
}

// How far held GPU time divided by weight is from the mean of all, in thousandths of it, at most.
std::int64_t unevenness(const SelectWorld& world, std::size_t players) {
  std::int64_t all = 0;
  std::int64_t weights = 0;
  for (std::size_t i = 0; i < players; ++i) {
    all += world.player(i).gpu_us;
    weights += world.player(i).weight;
  }
  std::int64_t worst = 0;
  for (std::size_t i = 0; i < players; ++i) {
    const std::int64_t due = all / weights * world.player(i).weight;
    worst = std::max(worst, std::abs(world.player(i).gpu_us - due) / (due / 1000));
  }
  return worst;
}

TEST(SelectLaw, what_is_held_divides_by_weight) {
  // 4 x 8 GPUs, 1-GPU jobs of random length, weights 1, 2, 4: their parts are no whole GPUs.
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed=" << seed);
    std::vector<Player> players;
    for (const std::int64_t weight : {1, 2, 4}) {
      players.push_back({.weight = weight, .next = jobs_of({1})});
    }
    SelectWorld world(32, players, mixed_terms, seed);
    world.run_until(100 * law_hour);
    EXPECT_LE(unevenness(world, 3), 10);
  }
}

TEST(SelectLaw, the_same_mix_of_sizes_divides_by_weight) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed=" << seed);
    std::vector<Player> players;
    for (const std::int64_t weight : {1, 1, 2, 3}) {
      players.push_back({.weight = weight, .next = jobs_of({1, 2, 4, 8})});
    }
    SelectWorld world(64, players, mixed_terms, seed);
    world.run_until(200 * law_hour);
    EXPECT_LE(unevenness(world, 4), 10);
  }
}

TEST(SelectLaw, different_sizes_stay_within_the_largest_job) {
  for (const std::int64_t lambda : {0, 500}) {
    SCOPED_TRACE(testing::Message() << "lambda=" << lambda);
    std::vector<Player> players;
    for (const std::int64_t size : {1, 4, 8}) players.push_back({.next = jobs_of({size})});
    SelectWorld world(64, players, {two_hours, lambda}, 1);
    world.run_until(law_hour);
    world.forget_gpu_time();
    world.run_until(101 * law_hour);
    for (std::size_t i = 1; i < 3; ++i) {
      const std::int64_t gap = world.player(i).gpu_us - world.player(0).gpu_us;
      EXPECT_LE(std::abs(gap) / (100 * law_hour), lambda == 0 ? 8 : 0) << i << " " << gap;
    }
  }
}

TEST(SelectLaw, large_jobs_are_not_shut_out) {
  // Its fair share is 16/9, its jobs take 8 of 16.
  std::vector<Player> players(8, {.next = jobs_of({1})});
  players.push_back({.next = jobs_of({8})});
  SelectWorld world(16, players, mixed_terms, 1);
  world.run_until(law_hour);
  EXPECT_GT(world.player(8).gpu_us, 0) << "it has started within an hour";
  world.run_until(200 * law_hour);
  EXPECT_LE(unevenness(world, 9), 50);
}

// Two of equal weight; the first was alone for long, so u is 1 and 0 when the second comes. As
// long as jobs are short against H, whoever has the lower s takes what is freed until s is equal:
//   a1 + u1 = a2 + u2,  a1 + a2 = 1.
// With d = u1 - u2 that is a2 - a1 = d, and du/dt = (a - u) ln 2 / H gives
//   dd/dt = (a1 - a2 - d) ln 2 / H = -2 d ln 2 / H,  d(t) = 2^(-2t / H).
// What is missed is made good twice as fast as it would be forgotten. After 3/2 H it is 1/8, and
// the second has held the integral of (1 + d) / 2: 3/4 H + (1 - 1/8) H / (4 ln 2) = 1.0656 H.
TEST(SelectLaw, who_was_away_catches_up_as_fast_as_the_formula_says) {
  const auto short_jobs = [](Random& random) {
    return WorldJob{.gpus = 1, .length_us = random.between(10'000'000, 50'000'000)};
  };
  SelectWorld world(64, {{.next = short_jobs}, {.next = short_jobs, .from_us = 20 * law_hour}},
                    mixed_terms, 1);
  world.run_until(20 * law_hour);
  world.forget_gpu_time();
  world.run_until(23 * law_hour);
  EXPECT_NEAR(static_cast<double>(world.player(1).gpu_us), 1.0656 * 2 * law_hour * 64,
              0.01 * 2 * law_hour * 64);
  const Fraction gap = (world.used(0) - world.used(1)) / Fraction(64);
  EXPECT_NEAR(static_cast<double>(gap.thousandths()), 125, 10);
}

TEST(SelectLaw, without_the_past_nothing_is_made_good) {
  SelectWorld world(64, {{.next = jobs_of({1})}, {.next = jobs_of({1}), .from_us = 20 * law_hour}},
                    {two_hours, 0}, 1);
  world.run_until(21 * law_hour);
  world.forget_gpu_time();
  world.run_until(31 * law_hour);
  EXPECT_LE(unevenness(world, 2), 10);
}

TEST(SelectLaw, a_flood_delays_nobody_who_is_below_the_fair_share) {
  SelectWorld world(64,
                    {{.next = jobs_of({1}), .jobs = 50'000},
                     {.next = jobs_of({1}), .jobs = 50, .from_us = law_minute}},
                    mixed_terms, 1);
  world.run_until(2 * law_hour);
  const std::vector<std::int64_t>& starts = world.player(1).starts_us;
  ASSERT_EQ(starts.size(), 50U);
  const auto first =
      std::ranges::lower_bound(world.ends_us(), law_minute) - world.ends_us().begin();
  for (std::size_t k = 0; k < 32; ++k) {
    EXPECT_LE(starts[k], world.ends_us()[static_cast<std::size_t>(first) + k]) << k;
  }
}

// What is picked, in a history drawn by chance; ids are renamed by `rename`, and nodes come in the
// order of `order`.
struct Telling {
  std::function<std::uint64_t(std::uint64_t)> rename;
  bool backwards{};
};

std::vector<std::uint64_t> picks_of(std::uint64_t seed, const Telling& telling) {
  Random random(seed);
  Cluster cluster = draw_cluster(random);
  const auto told = [&](NodeId id) { return NodeId{telling.rename(id.value)}; };
  std::vector<NodeId> leaves;
  for (Node& node : cluster.nodes) {
    node.demand.clear();
    const auto is_child = [&](const Node& other) { return other.parent == node.id; };
    if (std::ranges::none_of(cluster.nodes, is_child)) leaves.push_back(node.id);
  }
  Cluster named = cluster;
  for (Node& node : named.nodes) {
    node.id = told(node.id);
    if (node.parent) node.parent = told(*node.parent);
  }
  if (telling.backwards) std::ranges::reverse(named.nodes);
  Selector selector(mixed_terms);
  EXPECT_TRUE(selector.arrange(named, mixed_terms, 0));
  std::vector<std::uint64_t> picks;
  for (std::int64_t i = 0; i < 20; ++i) {
    const auto last = static_cast<std::int64_t>(leaves.size()) - 1;
    const NodeId leaf = leaves[static_cast<std::size_t>(random.between(0, last))];
    Amounts shape(cluster.resources.size());
    for (std::int64_t& amount : shape) amount = random.between(1, 3);
    selector.set_head(told(leaf), Head{shape});
    if (random.one_in(4)) selector.freeze(i * law_hour);
    const NodeId next = selector.pick().value();
    for (const Node& node : cluster.nodes) {
      if (told(node.id) == next) picks.push_back(node.id.value);
    }
    selector.hold(next, {shape}, i * law_hour);
  }
  return picks;
}

TEST(SelectLaw, order_of_input_and_renaming_in_order_change_nothing) {
  const auto same = [](std::uint64_t id) { return id; };
  const auto other = [](std::uint64_t id) { return id * 10 + 3; };
  for (std::uint64_t seed = 1; seed <= 500 && !testing::Test::HasFailure(); ++seed) {
    const auto picks = picks_of(seed, {same});
    EXPECT_EQ(picks, picks_of(seed, {same, true})) << "seed=" << seed;
    EXPECT_EQ(picks, picks_of(seed, {other})) << "seed=" << seed;
  }
}

}  // namespace
}  // namespace keel::share
