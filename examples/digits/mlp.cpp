#include "mlp.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "random.h"

namespace keel::digits {
namespace {

constexpr double momentum = 0.9;

// Where each part of the vector of weights begins.
struct Layout {
  explicit Layout(std::size_t hidden)
      : bias1(hidden * pixels_per_image),
        weights2(bias1 + hidden),
        bias2(weights2 + hidden * classes),
        end(bias2 + classes) {}

  std::size_t bias1;
  std::size_t weights2;
  std::size_t bias2;
  std::size_t end;
};

struct Activations {
  std::array<double, pixels_per_image> input{};
  std::vector<double> hidden;
  std::array<double, classes> probability{};
};

Activations forward(const Network& network, const Sample& sample) {
  const Layout at(network.hidden);
  const double* const w = network.weights.data();
  Activations a;
  a.hidden.resize(network.hidden);
  for (std::size_t p = 0; p < pixels_per_image; ++p) {
    a.input[p] = static_cast<double>(sample.pixels[p]) / pixel_max;
  }
  for (std::size_t h = 0; h < network.hidden; ++h) {
    const double* const row = w + h * pixels_per_image;
    double sum = w[at.bias1 + h];
    for (std::size_t p = 0; p < pixels_per_image; ++p) sum += row[p] * a.input[p];
    a.hidden[h] = std::max(sum, 0.0);
  }
  for (std::size_t c = 0; c < classes; ++c) {
    const double* const row = w + at.weights2 + c * network.hidden;
    double sum = w[at.bias2 + c];
    for (std::size_t h = 0; h < network.hidden; ++h) sum += row[h] * a.hidden[h];
    a.probability[c] = sum;
  }
  const double highest = *std::max_element(a.probability.begin(), a.probability.end());
  double total = 0;
  for (double& p : a.probability) total += p = std::exp(p - highest);
  for (double& p : a.probability) p /= total;
  return a;
}

Score score_of(const Activations& a, const Sample& sample) {
  const auto best = std::max_element(a.probability.begin(), a.probability.end());
  const auto guess = static_cast<std::size_t>(best - a.probability.begin());
  // A probability that underflows to zero would make the loss infinite.
  return {.loss = -std::log(std::max(a.probability[sample.label], 1e-300)),
          .correct = guess == sample.label ? 1U : 0U,
          .seen = 1};
}

}  // namespace

std::size_t weight_count(std::size_t hidden) { return Layout(hidden).end; }

Network initial_network(std::size_t hidden, std::uint64_t seed) {
  const Layout at(hidden);
  Network network{.hidden = hidden, .weights = std::vector<double>(at.end, 0.0)};
  Random random(seed);
  const auto fill = [&](std::size_t begin, std::size_t end, std::size_t inputs) {
    const double reach = std::sqrt(6.0 / static_cast<double>(inputs));
    for (std::size_t i = begin; i < end; ++i) network.weights[i] = (2 * random.unit() - 1) * reach;
  };
  fill(0, at.bias1, pixels_per_image);
  fill(at.weights2, at.bias2, hidden);
  return network;
}

Score& operator+=(Score& sum, const Score& other) {
  sum.loss += other.loss;
  sum.correct += other.correct;
  sum.seen += other.seen;
  return sum;
}

Score add_gradient(const Network& network, const Sample& sample, std::span<double> gradient) {
  const Layout at(network.hidden);
  const Activations a = forward(network, sample);
  const double* const w = network.weights.data();
  double* const g = gradient.data();
  std::vector<double> blame(network.hidden, 0.0);
  for (std::size_t c = 0; c < classes; ++c) {
    const double error = a.probability[c] - (c == sample.label ? 1.0 : 0.0);
    const std::size_t row = at.weights2 + c * network.hidden;
    g[at.bias2 + c] += error;
    for (std::size_t h = 0; h < network.hidden; ++h) {
      g[row + h] += error * a.hidden[h];
      blame[h] += error * w[row + h];
    }
  }
  for (std::size_t h = 0; h < network.hidden; ++h) {
    if (a.hidden[h] <= 0) continue;
    double* const row = g + h * pixels_per_image;
    g[at.bias1 + h] += blame[h];
    for (std::size_t p = 0; p < pixels_per_image; ++p) row[p] += blame[h] * a.input[p];
  }
  return score_of(a, sample);
}

Score score(const Network& network, std::span<const Sample> samples) {
  Score sum;
  for (const Sample& sample : samples) sum += score_of(forward(network, sample), sample);
  return sum;
}

void descend(Network& network, std::vector<double>& velocity, std::span<const double> gradient,
             double rate) {
  for (std::size_t i = 0; i < network.weights.size(); ++i) {
    velocity[i] = momentum * velocity[i] - rate * gradient[i];
    network.weights[i] += velocity[i];
  }
}

}  // namespace keel::digits
