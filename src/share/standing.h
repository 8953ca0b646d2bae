// What selection is told of leaves, and what it tells of a node.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "share/fraction.h"
#include "share/tree.h"
#include "share/usage.h"

namespace keel::share {

// A leaf's first job that nothing but its turn keeps from starting.
struct Head {
  Amounts shape;                 // of the whole job, one for each resource; asks for something
  std::int64_t waiting_since{};  // the lower has waited longer
};

// What one job takes, and the price of its class.
struct Holding {
  Amounts amounts;  // one for each resource
  std::int64_t price_thousandths = 1000;
};

// What is held and remembered of a node.
struct Account {
  Amounts held{};
  std::vector<Usage> usage{};
};

// Of one resource, in its unit.
struct Counted {
  bool judged{};   // whether it is among those that the dominant share is the largest of
  Fraction now;    // held; with Surplus::additive, above the guarantee; so are the others
  Fraction after;  // and what the offered job adds, at most up to the fair share
  Fraction usage;  // decayed
  friend bool operator==(const Counted&, const Counted&) = default;
};

// Where a node stands among its siblings, and why.
struct Standing {
  std::optional<NodeId> offers{};  // the leaf whose head it offers; none: it is not in line
  bool within{};                   // that job keeps it within its guarantee
  Fraction ratio{};                // then: held / guarantee after the start
  bool last{};                     // weight 0: above its guarantee it comes after all others
  Fraction before{};               // s as it is; for weight 0, as for weight 1
  Fraction after{};                // and if the offered job started
  std::vector<Counted> counted{};  // by resource
  friend bool operator==(const Standing&, const Standing&) = default;
};

// How much work it was so far.
struct Effort {
  std::uint64_t keys{};         // computed
  std::uint64_t comparisons{};  // of two siblings
  std::uint64_t exact{};        // of those, for which brackets were not enough
};

}  // namespace keel::share
