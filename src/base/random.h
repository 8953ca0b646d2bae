// Seeded chance, the same on every machine: SplitMix64 (Steele, Lea, Flood, "Fast Splittable
// Pseudorandom Number Generators", OOPSLA 2014).
#pragma once

#include <cstdint>

#include "base/check.h"

namespace keel {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31U);
  }

  // In [first, last]. The bias of the remainder is below 2^-32 for the ranges that are asked for.
  std::int64_t between(std::int64_t first, std::int64_t last) {
    check(first <= last, "a range has a first number");
    // Without a sign, in which the widest ranges have room; modulo 2^64 as the conversions are.
    const auto from = static_cast<std::uint64_t>(first);
    const std::uint64_t width = static_cast<std::uint64_t>(last) - from + 1;
    return static_cast<std::int64_t>(from + (width == 0 ? next() : next() % width));
  }

  bool one_in(std::int64_t n) { return between(1, n) == 1; }

  // True with a chance of `ppm` in a million.
  bool chance(std::uint32_t ppm) { return next() % 1'000'000 < ppm; }

  // A generator of its own, which draws nothing from this one afterwards.
  Random split() { return Random(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace keel
