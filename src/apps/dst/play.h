// Plays worlds on all cores and adds up what they did.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "model/units.h"
#include "sim/faults.h"

namespace keel::dst {

struct Range {
  std::uint64_t first{};
  std::uint64_t last{};
};

struct Sums {
  std::uint64_t seeds{};
  std::map<std::uint64_t, std::string> violations{};  // by seed
  Duration simulated{};
  std::array<std::uint64_t, sim::fault_count> faults{};
  std::map<std::string, std::uint64_t> transitions{};  // "queued reserved", how often

  void add(const Sums& other);
};

struct How {
  bool trace{};        // told step by step
  bool drop_caches{};  // at random; it must change nothing
};

// One world. The digest of what happened; nothing where a promise was broken.
std::optional<std::uint64_t> play(std::uint64_t seed, const How& how, Sums& sums);

// All worlds of a range on `threads` threads. Each tenth seed is played twice more, the second time
// with all caches dropped at random: that must give one digest.
// `progress` hears, on any thread, how many are done.
Sums play_all(const Range& seeds, unsigned threads,
              const std::function<void(std::uint64_t)>& progress);

// The seed that this thread plays, 0 for none: for the last words of a process that aborts.
std::uint64_t seed_under_way();

}  // namespace keel::dst
