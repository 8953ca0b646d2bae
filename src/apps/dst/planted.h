// Planted mistakes live in a program of their own, keel-dst-planted: the same worlds, with the
// files that hold a plant compiled a second time. What keel-dst plays is what ships.
#pragma once

#include <optional>
#include <string>

#include "apps/dst/play.h"

namespace keel::dst {

struct PlantedRun {
  std::string plant{};  // empty: all of them, as a table
  Range seeds{};
  std::optional<std::uint64_t> one{};  // a single seed, told step by step
  bool json{};
};

// Never returns in keel-dst, which becomes keel-dst-planted. There: plays, prints, and gives the
// exit status: 0 where every plant was caught.
int run_planted(const PlantedRun& run, char** argv);

}  // namespace keel::dst
