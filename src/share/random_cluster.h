// Small clusters drawn by chance, for tests.
#pragma once

#include <string>

#include "base/random.h"
#include "share/tree.h"

namespace keel::share {

// What may occur in a drawn cluster.
struct Variety {
  bool bounds = true;  // guarantees, caps, limits
  bool groups = true;  // more than one level
  bool zero_weights = true;
};

inline Bounds draw_bounds(Random& random, const Cluster& cluster, bool plain) {
  Bounds bounds;
  if (plain && random.one_in(3)) {
    bounds.any_gpu = random.between(0, 8);
    return bounds;
  }
  for (const Resource& resource : cluster.resources) {
    const bool said = random.one_in(2);
    bounds.of.push_back(said ? std::optional(random.between(0, resource.capacity)) : std::nullopt);
  }
  return bounds;
}

inline Guarantee draw_guarantee(Random& random, const Cluster& cluster) {
  Guarantee guarantee;
  if (random.one_in(3)) {
    guarantee.any_gpu = random.between(0, 6);
    return guarantee;
  }
  for (const Resource& resource : cluster.resources) {
    const bool said = resource.gpu || random.one_in(3);
    guarantee.of.push_back(said ? random.between(0, resource.capacity / 2) : 0);
  }
  return guarantee;
}

inline std::vector<ShapeGroup> draw_demand(Random& random, const Cluster& cluster) {
  std::vector<ShapeGroup> demand;
  for (std::int64_t n = random.between(0, 3); n > 0; --n) {
    ShapeGroup group{.each = Amounts(cluster.resources.size()), .units = random.between(0, 12)};
    while (group.each == Amounts(cluster.resources.size())) {
      for (std::int64_t& amount : group.each) {
        amount = random.one_in(2) ? random.between(1, 4) : 0;
      }
    }
    demand.push_back(std::move(group));
  }
  return demand;
}

inline Cluster draw_cluster(Random& random, Variety variety = {}) {
  Cluster cluster{.resources = {}, .nodes = {}};
  cluster.surplus = random.one_in(2) ? Surplus::floor : Surplus::additive;
  const std::int64_t resources = random.between(1, 4);
  for (std::int64_t r = 0; r < resources; ++r) {
    cluster.resources.push_back({.capacity = random.one_in(20) ? 0 : random.between(1, 24),
                                 .gpu = r < 2 && !random.one_in(5),
                                 .dominant = !variety.bounds || !random.one_in(8)});
  }
  const std::int64_t count = random.between(1, 8);
  for (std::int64_t i = 1; i <= count; ++i) {
    Node node{.id = {static_cast<std::uint64_t>(i)},
              .weight = random.between(variety.zero_weights && random.one_in(4) ? 0 : 1, 4)};
    if (variety.groups && i > 1 && !random.one_in(3)) {
      node.parent = NodeId{static_cast<std::uint64_t>(random.between(1, i - 1))};
      cluster.nodes[node.parent->value - 1].demand.clear();
    }
    node.demand = draw_demand(random, cluster);
    if (variety.bounds && random.one_in(3)) node.guarantee = draw_guarantee(random, cluster);
    if (variety.bounds && random.one_in(5)) node.cap = draw_bounds(random, cluster, true);
    if (variety.bounds && random.one_in(6)) node.borrow_limit = draw_bounds(random, cluster, true);
    node.waiting_since = random.between(0, 3);
    cluster.nodes.push_back(std::move(node));
  }
  // The oracle knows lend limits of leaves only.
  for (Node& node : cluster.nodes) {
    const bool leaf = !node.demand.empty();
    if (variety.bounds && leaf && random.one_in(5)) {
      node.lend_limit = draw_bounds(random, cluster, false);
    }
  }
  return cluster;
}

inline std::string text_of(const Bounds& bounds) {
  std::string text;
  for (const auto& bound : bounds.of) text += bound ? std::to_string(*bound) + " " : "- ";
  return text + (bounds.any_gpu ? "any " + std::to_string(*bounds.any_gpu) : "");
}

// All of it, for people who look for what went wrong.
inline std::string text_of(const Cluster& cluster) {
  std::string text = cluster.surplus == Surplus::floor ? "floor" : "additive";
  for (const Resource& resource : cluster.resources) {
    text += "; " + std::to_string(resource.capacity) + (resource.gpu ? " gpu" : "") +
            (resource.dominant ? "" : " not dominant");
  }
  for (const Node& node : cluster.nodes) {
    text += "\n" + std::to_string(node.id.value) + " below " +
            (node.parent ? std::to_string(node.parent->value) : "none") + ", weight " +
            std::to_string(node.weight);
    if (node.guarantee) {
      text += ", guarantee any " + std::to_string(node.guarantee->any_gpu) + " of";
      for (const std::int64_t amount : node.guarantee->of) text += " " + std::to_string(amount);
    }
    text += ", cap " + text_of(node.cap) + ", borrow " + text_of(node.borrow_limit) + ", lend " +
            text_of(node.lend_limit) + ", wants";
    for (const ShapeGroup& group : node.demand) {
      text += " " + std::to_string(group.units) + "x(";
      for (const std::int64_t amount : group.each) text += " " + std::to_string(amount);
      text += " )";
    }
  }
  return text + "\n";
}

}  // namespace keel::share
