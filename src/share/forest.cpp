#include "share/forest.h"

#include <map>
#include <numeric>

namespace keel::share {
namespace {

std::vector<ForestShape> shapes_of(const Forest& forest, const Node& node) {
  std::vector<ForestShape> shapes;
  for (const ShapeGroup& group : node.demand) {
    ForestShape shape{.each = {}, .units = group.units, .taken = {}};
    for (std::size_t r = 0; r < group.each.size(); ++r) {
      shape.each.push_back(forest.in_units(r, group.each[r]));
      if (group.each[r] > 0) shape.asked |= bit(r);
    }
    shape.with_gpus = (shape.asked & forest.gpus) != 0;
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

std::vector<std::int64_t> units_of(const Cluster& cluster) {
  std::vector<std::int64_t> units;
  units.reserve(cluster.resources.size());
  for (const Resource& resource : cluster.resources) {
    units.push_back(resource.gpu ? 1 : resource.capacity);
  }
  for (const Node& node : cluster.nodes) {
    for (const ShapeGroup& group : node.demand) {
      for (std::size_t r = 0; r < group.each.size(); ++r) {
        units[r] = std::gcd(units[r], group.each[r]);
      }
    }
  }
  for (std::int64_t& unit : units) unit = unit == 0 ? 1 : unit;
  return units;
}

}  // namespace

Forest plant(const Cluster& cluster) {
  Forest forest{.cluster = &cluster, .units = units_of(cluster), .places = {}};
  for (std::size_t r = 0; r < cluster.resources.size(); ++r) {
    if (cluster.resources[r].gpu) forest.gpus |= bit(r);
    if (cluster.resources[r].dominant) forest.dominant |= bit(r);
  }
  std::map<NodeId, std::map<NodeId, const Node*>> below;
  std::map<NodeId, const Node*> top;
  for (const Node& node : cluster.nodes) {
    (node.parent ? below[*node.parent] : top).emplace(node.id, &node);
  }
  forest.places.push_back({.children = {}, .shapes = {}});
  for (std::size_t at = 0; at < forest.places.size(); ++at) {
    const Node* node = forest.places[at].node;
    const auto found = node ? below.find(node->id) : below.end();
    if (node && found == below.end()) continue;
    for (const auto& [id, child] : node ? found->second : top) {
      forest.places[at].children.push_back(forest.places.size());
      forest.places.push_back({.node = child,
                               .parent = at,
                               .depth = forest.places[at].depth + 1,
                               .children = {},
                               .shapes = shapes_of(forest, *child)});
    }
  }
  return forest;
}

std::vector<Vector> amounts_of(const Forest& forest) {
  std::vector<Vector> amounts(forest.places.size(), Vector(forest.resources()));
  for (std::size_t at = forest.places.size(); at-- > 0;) {
    const Place& place = forest.places[at];
    for (const ForestShape& shape : place.shapes) {
      if (shape.taken.is_zero()) continue;
      for (std::size_t r = 0; r < shape.each.size(); ++r) {
        amounts[at][r] += shape.each[r] * shape.taken;
      }
    }
    if (at == 0) continue;
    for (std::size_t r = 0; r < forest.resources(); ++r) {
      if (!amounts[at][r].is_zero()) amounts[place.parent][r] += amounts[at][r];
    }
  }
  return amounts;
}

}  // namespace keel::share
