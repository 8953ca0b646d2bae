// Selection against a slow second answer, over trees and histories drawn by chance.
// KEEL_SELECT_SEEDS says how many (default 2,000), KEEL_SELECT_SEED names one.
#include "share/select_oracle.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/random.h"
#include "share/random_cluster.h"
#include "share/select.h"

namespace keel::share {
namespace {

constexpr std::int64_t oracle_minute = 60'000'000;
constexpr int history_steps = 40;

// What is told to both.
class History {
 public:
  explicit History(std::uint64_t seed)
      : random_(seed),
        lambda_(random_.one_in(3) ? random_.between(0, 1) * 1000 : random_.between(0, 1000)),
        huge_(random_.one_in(3)),
        selector_({half_life_, lambda_}),
        oracle_(half_life_, lambda_) {
    cluster_ = draw();
    EXPECT_TRUE(selector_.arrange(cluster_, {half_life_, lambda_}, at_));
    oracle_.arrange(cluster_, at_);
  }

  void step() {
    at_ += random_.one_in(3) ? random_.between(1, 300 * oracle_minute) : 0;
    const NodeId leaf = any_leaf();
    switch (random_.between(0, 9)) {
      case 0:
      case 1:
      case 2: return head(leaf);
      case 3:
      case 4:
      case 5: return start();
      case 6: return release(leaf);
      case 7: return fair();
      case 8: return freeze();
      default: return arrange();
    }
  }

  std::string said() {
    std::string text = cluster_text();
    text += "lambda " + std::to_string(lambda_) + (huge_ ? ", huge\n" : "\n");
    return text + log_;
  }

  // Now and then only: what changes in between is taken in together.
  bool is_looked_at() { return random_.one_in(3); }

  void compare() {
    const SelectOracle::Answer answer = oracle_.answer();
    const auto next = answer.offers.find(std::nullopt);
    EXPECT_EQ(selector_.pick(),
              next == answer.offers.end() ? std::nullopt : std::optional(next->second));
    const bool closely = random_.one_in(4);
    for (const auto& [parent, line] : answer.lines) {
      std::vector<NodeId> ids;
      for (const SelectOracleKey& key : line) {
        ids.push_back(key.id);
        if (closely) compare_keys(key, answer.offers.at(key.id));
      }
      EXPECT_EQ(selector_.in_line(parent), ids);
    }
  }

 private:
  void compare_keys(const SelectOracleKey& key, NodeId leaf) {
    const Standing standing = selector_.standing(key.id);
    EXPECT_EQ(standing.offers, leaf);
    EXPECT_EQ(standing.within, key.within);
    EXPECT_EQ(standing.ratio.text(), key.ratio.text());
    EXPECT_EQ(standing.last, key.last);
    EXPECT_EQ(standing.before.text(), key.before.text());
    EXPECT_EQ(standing.after.text(), key.after.text());
  }

  std::string cluster_text() const { return text_of(cluster_); }

  // With amounts as of bytes and with the largest weights, where brackets are short of digits.
  Cluster draw() {
    Cluster cluster = draw_cluster(random_);
    for (Node& node : cluster.nodes) node.demand.clear();
    if (!huge_) return cluster;
    for (Resource& resource : cluster.resources) resource.capacity *= factor;
    for (Node& node : cluster.nodes) {
      node.weight *= random_.one_in(2) ? weight_max / 4 : 1;
      if (!node.guarantee) continue;
      node.guarantee->any_gpu *= factor;
      for (std::int64_t& amount : node.guarantee->of) amount *= factor;
    }
    return cluster;
  }

  NodeId any_leaf() {
    const std::vector<NodeId> leaves = oracle_.leaves();
    return leaves[static_cast<std::size_t>(
        random_.between(0, static_cast<std::int64_t>(leaves.size()) - 1))];
  }

  Amounts shape() {
    Amounts shape(cluster_.resources.size());
    while (shape == Amounts(shape.size())) {
      for (std::int64_t& amount : shape) {
        if (random_.one_in(2)) amount = random_.between(1, 4) * (huge_ ? factor : 1);
        if (amount > 0 && huge_ && random_.one_in(4)) amount += random_.between(-2, 2);
      }
    }
    return shape;
  }

  void head(NodeId leaf) {
    std::optional<Head> head;
    if (!random_.one_in(4)) head = Head{shape(), random_.between(0, 3)};
    log_ += "head of " + std::to_string(leaf.value) + "\n";
    selector_.set_head(leaf, head);
    oracle_.set_head(leaf, head);
  }

  void start() {
    const auto leaf = random_.one_in(4) ? any_leaf() : selector_.pick().value_or(any_leaf());
    const Holding holding{shape(), random_.between(0, 5) * 500};
    log_ += "hold " + std::to_string(leaf.value) + "\n";
    selector_.hold(leaf, holding, at_);
    oracle_.hold(leaf, holding, at_);
  }

  void release(NodeId leaf) {
    const std::size_t count = oracle_.held_by(leaf).size();
    if (count == 0) return;
    const auto last = static_cast<std::int64_t>(count) - 1;
    log_ += "release " + std::to_string(leaf.value) + "\n";
    const auto index = static_cast<std::size_t>(random_.between(0, last));
    selector_.release(leaf, oracle_.release(leaf, index, at_), at_);
  }

  void fair() {
    const auto count = static_cast<std::int64_t>(cluster_.nodes.size());
    const NodeId node = cluster_.nodes[static_cast<std::size_t>(random_.between(0, count - 1))].id;
    std::vector<Fraction> fair;
    for (std::size_t r = 0; r < cluster_.resources.size() && !random_.one_in(9); ++r) {
      const std::int64_t whole = random_.between(0, 12) * (huge_ ? factor : 1);
      fair.emplace_back(whole, random_.between(1, 7));
    }
    if (fair.size() != cluster_.resources.size()) fair.clear();
    log_ += "fair of " + std::to_string(node.value) + "\n";
    selector_.set_fair(node, fair);
    oracle_.set_fair(node, fair);
  }

  void freeze() {
    log_ += "freeze\n";
    selector_.freeze(at_);
    oracle_.freeze(at_);
  }

  void arrange() {
    Cluster next = draw();
    const bool fewer = next.resources.size() < cluster_.resources.size();
    const bool allowed = !fewer && oracle_.may_arrange(next);
    EXPECT_EQ(selector_.arrange(next, {half_life_, lambda_}, at_).has_value(), allowed);
    if (!allowed) return;
    cluster_ = std::move(next);
    log_ += "arrange " + cluster_text();
    oracle_.arrange(cluster_, at_);
  }

  static constexpr std::int64_t factor = (std::int64_t{1} << 42U) + 15;
  Random random_;
  HalfLife half_life_ = *HalfLife::of_us(24 * 60 * oracle_minute);
  std::int64_t lambda_;
  bool huge_;
  std::int64_t at_ = oracle_minute;
  Cluster cluster_{};
  Selector selector_;
  SelectOracle oracle_;
  std::string log_{};
};

bool both_agree(std::uint64_t seed) {
  History history(seed);
  for (int i = 0; i < history_steps && !testing::Test::HasFailure(); ++i) {
    history.step();
    if (history.is_looked_at()) history.compare();
  }
  if (testing::Test::HasFailure()) {
    ADD_FAILURE() << "KEEL_SELECT_SEED=" << seed << " " << history.said();
  }
  return !testing::Test::HasFailure();
}

std::uint64_t said_seeds(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(SelectOracle, agrees_on_trees_and_histories_drawn_by_chance) {
  const std::uint64_t one = said_seeds("KEEL_SELECT_SEED", 0);
  if (one != 0) {
    EXPECT_TRUE(both_agree(one));
    return;
  }
  const std::uint64_t seeds = said_seeds("KEEL_SELECT_SEEDS", 2000);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (!both_agree(seed)) break;
  }
}

}  // namespace
}  // namespace keel::share
