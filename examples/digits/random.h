// A small generator with one outcome per seed on every compiler, which std::shuffle and the
// distributions of <random> do not promise. (SplitMix64, by Steele, Lea and Flood, 2014.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace keel::digits {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  // Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

// The order in which an epoch visits the samples 0 .. count-1. Every rank computes the same one.
struct EpochOrder {
  std::uint64_t seed;
  std::uint64_t epoch;
};

inline std::vector<std::size_t> shuffled(std::size_t count, EpochOrder order) {
  Random random(Random(order.seed).next() + order.epoch);
  std::vector<std::size_t> indexes(count);
  std::iota(indexes.begin(), indexes.end(), std::size_t{0});
  for (std::size_t left = count; left > 1; --left) {
    // The bias of the remainder is below 2^-40 here.
    std::swap(indexes[left - 1], indexes[static_cast<std::size_t>(random.next() % left)]);
  }
  return indexes;
}

}  // namespace keel::digits
