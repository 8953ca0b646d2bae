// A cluster made ready for computing: nodes by index instead of by id, exact numbers, and what each
// leaf has taken so far. Used within share/ only.
#pragma once

#include <cstdint>
#include <vector>

#include "share/fraction.h"
#include "share/tree.h"

namespace keel::share {

using Mask = std::uint64_t;            // of resources
using Vector = std::vector<Fraction>;  // one for each resource

constexpr Mask bit(std::size_t resource) { return Mask{1} << resource; }

struct ForestShape {
  Vector each;
  Mask asked{};
  bool with_gpus{};
  Fraction units;
  Fraction taken;  // of the units
};

struct Place {
  const Node* node{};  // null: the root above all, which has no node
  std::size_t parent{};
  std::size_t depth{};  // the root's is 0
  std::vector<std::size_t> children;
  std::vector<ForestShape> shapes;
};

struct Forest {
  const Cluster* cluster{};
  Mask gpus{};
  Mask dominant{};
  std::vector<std::int64_t> units;  // by resource: what divides capacity and every demand
  std::vector<Place> places;        // the root first, parents before children, siblings by id

  std::size_t resources() const { return cluster->resources.size(); }
  // An amount of the cluster in units: numbers stay short where bytes come in gibibytes. GPUs count
  // one by one, since models are added up.
  Fraction in_units(std::size_t r, std::int64_t amount) const { return {amount, units[r]}; }
  Fraction capacity(std::size_t r) const { return in_units(r, cluster->resources[r].capacity); }
};

// `cluster` is valid and outlives the forest.
Forest plant(const Cluster& cluster);

// What is taken below each place, in units, by place and resource.
std::vector<Vector> amounts_of(const Forest& forest);

}  // namespace keel::share
