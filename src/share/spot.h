// One node of the tree as selection sees it, and the key by which siblings are ordered. Used within
// share/ only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "share/forest.h"
#include "share/fraction.h"
#include "share/power.h"
#include "share/standing.h"
#include "share/tree.h"
#include "share/usage.h"

namespace keel::share {

// What shares are measured by.
struct Scale {
  std::vector<Resource> resources;
  Mask gpus{};
  Mask judged{};  // dominant resources of which there are any
  Surplus surplus = Surplus::floor;
  std::int64_t lambda_thousandths{};
};

// s lies at or above `low` and below `high`, in steps of 2^-77 of a thousandth. Most comparisons
// end here; only brackets that overlap need the exact figure.
struct Bracket {
  Unsigned128 low{};
  Unsigned128 high{};
};

struct SelectionKey {
  bool within{};
  Fraction ratio;  // where within: held / guarantee after the start
  Bracket after;   // around s after the start; s before it matters to equal ones only
  // Exact, once somebody had to know.
  mutable std::optional<Fraction> exact_after;
  mutable std::optional<Fraction> exact_before;
};

struct Spot {
  NodeId id;
  std::size_t parent{};
  std::size_t depth{};  // the root's is 0
  std::size_t slot{};   // among the parent's children, which stand by id
  std::vector<std::size_t> children{};
  std::int64_t weight{};
  Amounts guaranteed{};  // after cuts, in whole units
  std::int64_t any_gpu{};

  Account account{};
  std::uint64_t frozen_in{};              // the cycle for which the two below are read
  std::vector<Decayed> frozen{};          // decayed usage, by resource
  std::vector<Unsigned128> used{};        // the share it is, in steps of 2^-47, rounded down
  std::vector<Fraction> fair{};           // empty: nothing said, no bound
  std::vector<Unsigned128> fair_fixed{};  // in steps of 2^-47, rounded down

  std::optional<Head> head{};           // of a leaf
  std::optional<std::size_t> offers{};  // the leaf whose head it offers
  SelectionKey key{};                   // where it offers something
  bool stale{};                         // what `offers` and `key` follow from has changed
  // A tournament of the children: entry k holds the better of entries 2k and 2k + 1, the last half
  // the slots themselves; entry 1 is the best.
  std::vector<std::uint32_t> winners{};

  bool is_leaf() const { return children.empty(); }
};

// Reads `used` off `frozen`.
void measure_usage(const Scale& scale, Spot& spot);

SelectionKey key_of(const Scale& scale, const Spot& spot, const Amounts& shape);

// A node and the head that it offers.
struct Offer {
  const Spot& spot;
  const Head& head;
};

// Whether `a` comes before its sibling `b`: a strict total order. Counts in `effort`.
bool precedes(const Scale& scale, const Offer& a, const Offer& b, Effort& effort);

// The read-out; `shape` is null where nothing is offered.
Standing standing_of(const Scale& scale, const Spot& spot, const Amounts* shape);

}  // namespace keel::share
