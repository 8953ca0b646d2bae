// Fair shares: what each tenant is entitled to now, exactly, and why that much.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "share/fraction.h"
#include "share/tree.h"

namespace keel::share {

// One node's fair share of one resource, split by origin; the parts add up.
struct Part {
  Fraction guarantee;  // within its own guarantee, or one of a group above it that was left over
  Fraction weight;     // beyond that, up to its weighted part of the whole
  Fraction borrowed;   // beyond that: what others leave idle

  Fraction total() const { return guarantee + weight + borrowed; }
  friend bool operator==(const Part&, const Part&) = default;
};

struct FairShare {
  NodeId id;
  std::vector<Part> parts;  // by resource
  // In whole units by largest remainder: what a group has is what its children have. At most one
  // unit from the exact share, and never beyond a demand or cap that the exact one keeps.
  std::vector<std::int64_t> whole;
  bool scaled = false;  // its guarantee, or one above it, exceeds what there is and was cut
};

struct FairShares {
  std::vector<FairShare> nodes;  // by id

  const FairShare& of(NodeId id) const;  // must be there
};

// The fair shares of every node. Deterministic; depends on no order but that of demand. On an
// error nothing was computed: the cluster has to be corrected, or for `too_fine` made coarser
// (weights and shapes with common divisors).
Result<FairShares, ShareError> fair_shares(const Cluster& cluster);

}  // namespace keel::share
