// A multilayer perceptron of one hidden layer: ReLU, then softmax with cross-entropy. Pure
// arithmetic.
//
// Everything is in double, so that the order in which gradients are summed, which differs with the
// number of tasks, moves the result by rounding only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataset.h"

namespace keel::digits {

// Weights and gradients of a network, in one vector: hidden × pixels, hidden, classes × hidden,
// classes. The second and the fourth are the biases.
struct Network {
  std::size_t hidden;
  std::vector<double> weights;
};

std::size_t weight_count(std::size_t hidden);

// Uniform in ±sqrt(6 / inputs of the unit), biases zero (He et al., 2015). Deterministic.
Network initial_network(std::size_t hidden, std::uint64_t seed);

struct Score {
  double loss = 0;  // Summed over samples.
  std::size_t correct = 0;
  std::size_t seen = 0;

  [[nodiscard]] double mean_loss() const { return loss / static_cast<double>(seen); }
  [[nodiscard]] double accuracy() const {
    return static_cast<double>(correct) / static_cast<double>(seen);
  }
};

Score& operator+=(Score& sum, const Score& other);

// Adds the gradient of this sample's loss to `gradient`, which has the layout of the weights.
Score add_gradient(const Network& network, const Sample& sample, std::span<double> gradient);

Score score(const Network& network, std::span<const Sample> samples);

// Gradient descent with momentum (0.9). `gradient` is the mean over a batch.
void descend(Network& network, std::vector<double>& velocity, std::span<const double> gradient,
             double rate);

}  // namespace keel::digits
