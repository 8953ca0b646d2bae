#include "mlp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "random.h"

namespace keel::digits {
namespace {

Sample sample_of(std::uint8_t label, std::uint64_t seed) {
  Random random(seed);
  Sample sample{.pixels = {}, .label = label};
  for (auto& pixel : sample.pixels) pixel = static_cast<std::uint8_t>(random.next() % 17);
  return sample;
}

TEST(mlp, a_step_against_the_gradient_lowers_the_loss) {
  Network network = initial_network(8, 1);
  const std::vector<Sample> samples = {sample_of(3, 1)};
  std::vector<double> gradient(network.weights.size(), 0.0);
  std::vector<double> velocity(network.weights.size(), 0.0);
  const Score before = add_gradient(network, samples[0], gradient);
  descend(network, velocity, gradient, 0.01);
  EXPECT_LT(score(network, samples).loss, before.loss);
}

TEST(mlp, the_gradient_is_the_slope_of_the_loss_in_every_weight) {
  Network network = initial_network(5, 7);
  const std::vector<Sample> samples = {sample_of(0, 2), sample_of(9, 3)};
  std::vector<double> gradient(network.weights.size(), 0.0);
  for (const Sample& sample : samples) add_gradient(network, sample, gradient);
  constexpr double nudge = 1e-6;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double kept = network.weights[i];
    network.weights[i] = kept + nudge;
    const double above = score(network, samples).loss;
    network.weights[i] = kept - nudge;
    const double below = score(network, samples).loss;
    network.weights[i] = kept;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * nudge), 1e-5) << "weight " << i;
  }
}

TEST(mlp, equal_seeds_give_equal_networks_and_others_do_not) {
  EXPECT_EQ(initial_network(8, 1).weights, initial_network(8, 1).weights);
  EXPECT_NE(initial_network(8, 1).weights, initial_network(8, 2).weights);
}

TEST(random, an_order_holds_every_index_once_and_differs_by_epoch) {
  const auto first = shuffled(100, {.seed = 1, .epoch = 0});
  EXPECT_EQ(std::set<std::size_t>(first.begin(), first.end()).size(), 100U);
  EXPECT_LT(*std::max_element(first.begin(), first.end()), 100U);
  EXPECT_EQ(first, shuffled(100, {.seed = 1, .epoch = 0}));
  EXPECT_NE(first, shuffled(100, {.seed = 1, .epoch = 1}));
  EXPECT_NE(first, shuffled(100, {.seed = 2, .epoch = 0}));
}

}  // namespace
}  // namespace keel::digits
