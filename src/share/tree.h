// What fair shares are computed from: a tree of tenants, what they may have and what they want.
// Tenants and resources are numbers here.
//
// Amounts are whole numbers of each resource's smallest unit (GPUs, millicores, bytes), one for
// each resource in the order of Cluster::resources. A vector that is empty means "nothing said".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/strong.h"

namespace keel::share {

using NodeId = Strong<struct NodeTag>;
using Amounts = std::vector<std::int64_t>;

struct Resource {
  std::int64_t capacity{};  // what no operator has taken out; 0: nobody's share holds any
  bool gpu{};               // a GPU model: counted by plain numbers, and given in whole devices
  bool dominant = true;     // false: left out of dominant shares
};

// For each resource, and for GPUs of any model together. Nothing said: no bound.
struct Bounds {
  std::vector<std::optional<std::int64_t>> of{};
  std::optional<std::int64_t> any_gpu{};
};

// By model and other resources, or as a plain number of GPUs of any model; not both.
struct Guarantee {
  Amounts of{};
  std::int64_t any_gpu{};
};

// Equal units that are wanted, or held, in a leaf's queue.
struct ShapeGroup {
  Amounts each;          // of one unit, which asks for something
  std::int64_t units{};  // 0 or more
};

struct Node {
  NodeId id;
  std::optional<NodeId> parent{};  // none: below the root, whose capacity is the fleet's
  std::int64_t weight = 1;         // only the ratio among siblings counts; 0: the rest of the rest
  // None: a leaf has none; a group is guaranteed the sum of its children's.
  std::optional<Guarantee> guarantee{};
  Bounds cap{};           // of what may be held
  Bounds borrow_limit{};  // of what may be held above the guarantee
  Bounds lend_limit{};    // of the part of the guarantee that others may use while it is idle
  // Of a leaf: what it holds, oldest first, then what it waits for, in the order of its queue.
  std::vector<ShapeGroup> demand{};
  // For ties among whole devices: the lower has waited longer. Of a group, its children's lowest.
  std::int64_t waiting_since{};
};

enum class Surplus : std::uint8_t {
  floor,     // weights divide the whole; a guarantee is a lower bound
  additive,  // guarantees first, and weights divide the rest on top
};

struct Cluster {
  std::vector<Resource> resources{};
  std::vector<Node> nodes{};  // in any order: nothing depends on it
  Surplus surplus = Surplus::floor;
};

inline constexpr std::size_t resources_max = 64;
inline constexpr std::size_t depth_max = 16;
inline constexpr std::int64_t weight_max = 1'000'000'000;  // a ratio of a million in thousandths
inline constexpr std::int64_t amount_max = std::int64_t{1} << 60;  // an exbibyte

// Why a cluster is refused. Each names what is wrong with the input; nothing was computed.
struct ShareError {
  enum class Code : std::uint8_t {
    below_zero,     // the value must be 0 or more
    below_limit,    // the value must be at least `limit`
    above_limit,    // the value must be at most `limit`
    wrong_length,   // neither empty nor one for each resource
    unknown_node,   // the parent is not there
    repeated_node,  // two nodes have this id
    cycle,          // the node is its own ancestor
    too_deep,       // more than depth_max levels
    both_kinds,     // a guarantee by resource and by plain number at once
    group_demands,  // only leaves have demand
    asks_nothing,   // a unit without any resource could be had without end
    still_holds,    // what the leaf holds has to be released first
    too_fine,       // the exact result has more bits than fraction_bits_max
  };
  Code code{};
  std::optional<NodeId> node;  // none: of a resource
  std::string field;           // "weight", "guarantee.of[2]"
  std::int64_t value{};
  std::int64_t limit{};
};

// `value` is not within 0 … `limit`.
ShareError outside(std::optional<NodeId> node, std::string field, std::int64_t value,
                   std::int64_t limit);

// "weight of node 7 is -1; it must be at least 0". For people; never compared.
std::string describe(const ShareError& error);

// Whether fair shares of it are defined; else the first fault, in order of ids.
Result<Done, ShareError> validate(const Cluster& cluster);

}  // namespace keel::share
