// How much is said.
#pragma once

#include <cstdint>

#include "model/units.h"

namespace keel::sim {

// L6: nobody talks without end. What is said is bounded by the heartbeats, and by what happens.
class TrafficChecker {
 public:
  void said() { ++messages_; }
  void stored(std::uint64_t events) { events_ += events; }

  // Over a whole world: of so many hosts, for so long.
  void judge(std::uint64_t hosts, Duration length, Duration heartbeat) const;

 private:
  std::uint64_t messages_{};
  std::uint64_t events_{};
};

}  // namespace keel::sim
