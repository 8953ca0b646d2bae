#include "share/tree.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace keel::share {
namespace {

using Code = ShareError::Code;
using Verdict = Result<Done, ShareError>;

ShareError fault(const Node& node, Code code, const std::string& field) {
  return {.code = code, .node = node.id, .field = field, .value = 0, .limit = 0};
}

struct Measured {
  std::string field;
  std::int64_t value{};
  std::int64_t limit{};
};

Verdict within(std::optional<NodeId> node, const Measured& measured) {
  if (measured.value >= 0 && measured.value <= measured.limit) return Done{};
  return outside(node, measured.field, measured.value, measured.limit);
}

std::string indexed(const std::string& field, std::size_t index) {
  return field + "[" + std::to_string(index) + "]";
}

std::int64_t said(std::int64_t value) { return value; }
std::int64_t said(std::optional<std::int64_t> value) { return value.value_or(0); }

// Looks at one node's own numbers.
class NodeCheck {
 public:
  NodeCheck(const Cluster& cluster, const Node& node) : cluster_(cluster), node_(node) {}

  Verdict run() const {
    TRY(weight, within(node_.id, {"weight", node_.weight, weight_max}));
    if (node_.guarantee) {
      const Guarantee& guarantee = *node_.guarantee;
      TRY(typed, vector("guarantee.of", guarantee.of));
      TRY(plain, within(node_.id, {"guarantee.any_gpu", guarantee.any_gpu, amount_max}));
      if (guarantee.any_gpu > 0 && !guarantee.of.empty()) {
        return fault(node_, Code::both_kinds, "guarantee");
      }
    }
    TRY(cap, bounds("cap", node_.cap));
    TRY(borrow, bounds("borrow_limit", node_.borrow_limit));
    TRY(lend, bounds("lend_limit", node_.lend_limit));
    return demand();
  }

 private:
  template <class T>
  Verdict vector(const std::string& field, const std::vector<T>& values) const {
    if (!values.empty() && values.size() != cluster_.resources.size()) {
      ShareError error = fault(node_, Code::wrong_length, field);
      error.value = static_cast<std::int64_t>(values.size());
      error.limit = static_cast<std::int64_t>(cluster_.resources.size());
      return error;
    }
    for (std::size_t r = 0; r < values.size(); ++r) {
      TRY(value, within(node_.id, {indexed(field, r), said(values[r]), amount_max}));
    }
    return Done{};
  }

  Verdict bounds(const std::string& field, const Bounds& bounds) const {
    TRY(typed, vector(field + ".of", bounds.of));
    return within(node_.id, {field + ".any_gpu", bounds.any_gpu.value_or(0), amount_max});
  }

  Verdict demand() const {
    for (std::size_t i = 0; i < node_.demand.size(); ++i) {
      const ShapeGroup& group = node_.demand[i];
      const std::string field = indexed("demand", i);
      TRY(each, vector(field + ".each", group.each));
      TRY(units, within(node_.id, {field + ".units", group.units, amount_max}));
      if (std::ranges::all_of(group.each, [](std::int64_t amount) { return amount == 0; })) {
        return fault(node_, Code::asks_nothing, field);
      }
    }
    return Done{};
  }

  const Cluster& cluster_;
  const Node& node_;
};

using ById = std::map<NodeId, const Node*>;

Verdict check_place(const Node& node, const ById& by_id) {
  std::size_t depth = 1;
  for (const Node* above = &node; above->parent; ++depth) {
    const auto parent = by_id.find(*above->parent);
    if (parent == by_id.end()) return fault(*above, Code::unknown_node, "parent");
    above = parent->second;
    if (above == &node) return fault(node, Code::cycle, "parent");
    if (depth > by_id.size()) break;  // it enters a cycle of others, who are told
    if (!above->demand.empty()) return fault(*above, Code::group_demands, "demand");
  }
  if (depth <= depth_max) return Done{};
  ShareError error = fault(node, Code::too_deep, "parent");
  error.value = static_cast<std::int64_t>(depth);
  error.limit = static_cast<std::int64_t>(depth_max);
  return error;
}

std::string named(const ShareError& error) {
  const std::string of = error.node ? " of node " + std::to_string(error.node->value) : "";
  return error.field + of;
}

}  // namespace

ShareError outside(std::optional<NodeId> node, std::string field, std::int64_t value,
                   std::int64_t limit) {
  const bool below = value < 0;
  return {.code = below ? Code::below_zero : Code::above_limit,
          .node = node,
          .field = std::move(field),
          .value = value,
          .limit = below ? 0 : limit};
}

std::string describe(const ShareError& error) {
  const std::string value = std::to_string(error.value);
  const std::string limit = std::to_string(error.limit);
  switch (error.code) {
    case Code::below_zero: return named(error) + " is " + value + "; it must be at least 0";
    case Code::below_limit: return named(error) + " is " + value + "; it must be at least " + limit;
    case Code::above_limit: return named(error) + " is " + value + "; it must be at most " + limit;
    case Code::wrong_length:
      return named(error) + " has " + value + " amounts; there are " + limit + " resources";
    case Code::unknown_node: return named(error) + " is not there";
    case Code::repeated_node: return named(error) + " is the id of two nodes";
    case Code::cycle: return named(error) + " leads back to the node itself";
    case Code::too_deep: return named(error) + " is at level " + value + "; " + limit + " may be";
    case Code::both_kinds: return named(error) + " is by resource and a plain number at once";
    case Code::group_demands: return named(error) + " is said, but only leaves have demand";
    case Code::asks_nothing: return named(error) + " asks for no resource";
    case Code::still_holds: return named(error) + " has to be released first";
    case Code::too_fine:
      return named(error) + " would need " + value + " bits; at most " + limit + " are kept";
  }
  check(false, "every share error has words");
  return {};
}

Result<Done, ShareError> validate(const Cluster& cluster) {
  TRY(count, within(std::nullopt, {"resources", static_cast<std::int64_t>(cluster.resources.size()),
                                   static_cast<std::int64_t>(resources_max)}));
  for (std::size_t r = 0; r < cluster.resources.size(); ++r) {
    TRY(capacity, within(std::nullopt, {indexed("resources", r) + ".capacity",
                                        cluster.resources[r].capacity, amount_max}));
  }
  ById by_id;
  for (const Node& node : cluster.nodes) {
    if (!by_id.emplace(node.id, &node).second) return fault(node, Code::repeated_node, "id");
  }
  for (const auto& [id, node] : by_id) {
    TRY(numbers, NodeCheck(cluster, *node).run());
  }
  for (const auto& [id, node] : by_id) {
    TRY(place, check_place(*node, by_id));
  }
  return Done{};
}

}  // namespace keel::share
