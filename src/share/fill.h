// Progressive filling: from what is taken already, all leaves that may rise do so together, in
// dominant share per weight, until nobody can. Exact: time jumps from one breakpoint to the next.
// Used within share/ only; ARCHITECTURE.md defines what is computed.
#pragma once

#include <optional>
#include <vector>

#include "share/forest.h"

namespace keel::share {

// Which shape groups a limit stops.
enum class Scope : std::uint8_t { every, with_gpus, without_gpus };

// Of the sum of `resources` that is taken below a place. Reached or passed, no shape group of its
// scope below that asks for one of them rises any more.
struct FillLimit {
  Mask resources{};
  Fraction amount;
  Scope scope{};
};

struct FillRules {
  Fraction weight = 1;  // above 0
  bool last = false;    // rises once no sibling does that is not last
  std::vector<FillLimit> limits;
  Vector base;  // taken, but not counted in shares; empty: none
  // Shape groups that ask for any of these do not rise below, from the start.
  Mask closed_with_gpus{};
  Mask closed_without_gpus{};
  Mask
      needs_without_gpus{};  // where set, shape groups without GPUs below must ask for one of these
};

inline constexpr std::uint32_t fraction_bits_max = 1U << 15U;

// Raises what is taken in `forest`. `rules` holds one entry for each place.
// Gives the bits of the first breakpoint beyond fraction_bits_max, after which it gave up.
std::optional<std::uint32_t> fill(Forest& forest, const std::vector<FillRules>& rules);

}  // namespace keel::share
