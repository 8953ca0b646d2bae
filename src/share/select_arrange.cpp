// The tree as selection needs it, and what moves with a node that is put elsewhere.
#include <algorithm>
#include <set>

#include "share/entitle.h"
#include "share/forest.h"
#include "share/select.h"

namespace keel::share {
namespace {

bool holds(const Account& account) {
  return std::ranges::any_of(account.held, [](std::int64_t amount) { return amount > 0; });
}

bool is_forgotten(const Account& account, HalfLife half_life, std::int64_t at_us) {
  return !holds(account) && std::ranges::all_of(account.usage, [&](const Usage& usage) {
    return read(usage, half_life, at_us).ulps == 0;
  });
}

// Each change may round once, so there is none where nothing changes.
Usage charged(const Usage& usage, HalfLife half_life, std::int64_t at_us, Charge target) {
  const Unsigned128 now = usage.held.thousandths;
  if (target == usage.held) return usage;
  if (target.thousandths > now) return hold(usage, half_life, at_us, {target.thousandths - now});
  return release(usage, half_life, at_us, {now - target.thousandths});
}

Scale scale_for(const Cluster& cluster, const Terms& terms) {
  Scale scale{.resources = cluster.resources,
              .surplus = cluster.surplus,
              .lambda_thousandths = terms.lambda_thousandths};
  for (std::size_t r = 0; r < cluster.resources.size(); ++r) {
    const Resource& resource = cluster.resources[r];
    if (resource.gpu) scale.gpus |= bit(r);
    if (resource.dominant && resource.capacity > 0) scale.judged |= bit(r);
  }
  return scale;
}

Cluster without_demand(Cluster cluster) {
  for (Node& node : cluster.nodes) node.demand.clear();
  return cluster;
}

}  // namespace

Result<Done, ShareError> Selector::may_arrange(const Cluster& cluster, const Terms& terms) const {
  using Code = ShareError::Code;
  TRY(valid, validate(cluster));
  if (terms.lambda_thousandths < 0 || terms.lambda_thousandths > 1000) {
    return outside(std::nullopt, "lambda_thousandths", terms.lambda_thousandths, 1000);
  }
  if (cluster.resources.size() < scale_.resources.size()) {
    return ShareError{.code = Code::wrong_length,
                      .node = std::nullopt,
                      .field = "resources",
                      .value = static_cast<std::int64_t>(cluster.resources.size()),
                      .limit = static_cast<std::int64_t>(scale_.resources.size())};
  }
  std::set<NodeId> ids;
  std::set<NodeId> groups;
  for (const Node& node : cluster.nodes) {
    ids.insert(node.id);
    if (node.parent) groups.insert(*node.parent);
  }
  for (const auto& [id, index] : index_) {
    const bool stays = ids.contains(id) && !groups.contains(id);
    if (stays || !spots_[index].is_leaf() || !holds(spots_[index].account)) continue;
    return ShareError{
        .code = Code::still_holds, .node = id, .field = "what is held", .value = 0, .limit = 0};
  }
  return Done{};
}

Result<Done, ShareError> Selector::arrange(const Cluster& cluster, Terms terms,
                                           std::int64_t at_us) {
  TRY(allowed, may_arrange(cluster, terms));
  if (terms.half_life.us() != terms_.half_life.us()) step_usage(at_us);
  terms_ = terms;
  part_with(cluster, at_us);
  scale_ = scale_for(cluster, terms);
  plant_spots(without_demand(cluster));
  sum_up(at_us);
  freeze(at_us);
  for (std::size_t i = 1; i < spots_.size(); ++i) mark(i);
  std::erase_if(remembered_, [&](const auto& entry) {
    return is_forgotten(entry.second, terms_.half_life, at_us);
  });
  return Done{};
}

// What was decayed with one half-life so far goes on with another.
void Selector::step_usage(std::int64_t at_us) {
  const auto step = [&](Account& account) {
    for (Usage& usage : account.usage) {
      usage = share::hold(usage, terms_.half_life, at_us, Charge{});
    }
  };
  for (Spot& spot : spots_) step(spot.account);
  for (auto& [id, account] : remembered_) step(account);
}

// Of nodes that are gone the past is remembered; so is that of a group that becomes a leaf, which
// holds nothing itself.
void Selector::part_with(const Cluster& cluster, std::int64_t at_us) {
  std::set<NodeId> ids;
  for (const Node& node : cluster.nodes) ids.insert(node.id);
  for (const auto& [id, index] : index_) {
    Spot& spot = spots_[index];
    if (!spot.is_leaf()) std::ranges::fill(spot.account.held, 0);
    if (ids.contains(id)) continue;
    for (Usage& usage : spot.account.usage) usage = charged(usage, terms_.half_life, at_us, {});
    remembered_[id] = std::move(spot.account);
  }
}

void Selector::plant_spots(const Cluster& cluster) {
  const Forest forest = plant(cluster);
  const std::vector<Entitlement> entitled = entitle(forest);
  std::vector<Spot> old = std::move(spots_);
  std::map<NodeId, std::size_t> old_index = std::move(index_);
  spots_.clear();
  index_.clear();
  stale_.assign(depth_max + 1, {});
  for (std::size_t i = 0; i < forest.places.size(); ++i) {
    const Place& place = forest.places[i];
    Spot spot{.id = place.node ? place.node->id : NodeId{}};
    spot.parent = place.parent;
    spot.depth = place.depth;
    spot.children = place.children;
    spot.weight = place.node ? place.node->weight : 1;
    spot.any_gpu = entitled[i].any_gpu.floor();
    for (std::size_t r = 0; r < forest.resources(); ++r) {
      spot.guaranteed.push_back((entitled[i].of[r] * Fraction(forest.units[r])).floor());
    }
    const std::size_t count = place.children.size();
    spot.winners.resize(2 * count);
    for (std::size_t slot = 0; slot < count; ++slot) {
      spot.winners[count + slot] = static_cast<std::uint32_t>(slot);
    }
    const auto known = place.node ? old_index.find(place.node->id) : old_index.end();
    adopt(spot,
          known == old_index.end() ? std::nullopt : std::optional(std::move(old[known->second])));
    if (place.node) index_.emplace(spot.id, i);
    spots_.push_back(std::move(spot));
  }
  for (Spot& spot : spots_) {
    for (std::size_t slot = 0; slot < spot.children.size(); ++slot) {
      spots_[spot.children[slot]].slot = slot;
    }
  }
}

// Takes over what is known of the node.
void Selector::adopt(Spot& spot, std::optional<Spot> old) {
  const std::size_t count = scale_.resources.size();
  if (old) {
    spot.account = std::move(old->account);
    if (spot.is_leaf()) spot.head = std::move(old->head);
    if (spot.head) spot.head->shape.resize(count);
    if (old->fair.size() == count) {
      spot.fair = std::move(old->fair);
      spot.fair_fixed = std::move(old->fair_fixed);
    }
  } else if (const auto found = remembered_.find(spot.id); found != remembered_.end()) {
    spot.account = std::move(found->second);
    remembered_.erase(found);
  }
  spot.account.held.resize(count);
  spot.account.usage.resize(count);
}

// What groups hold is what their leaves hold; where that has changed, they are charged otherwise
// from now on and keep their past.
void Selector::sum_up(std::int64_t at_us) {
  const std::size_t count = scale_.resources.size();
  std::vector<std::vector<Charge>> charges(spots_.size(), std::vector<Charge>(count));
  for (Spot& spot : spots_) {
    if (!spot.is_leaf()) spot.account.held.assign(count, 0);
  }
  for (std::size_t i = spots_.size(); i-- > 1;) {
    Spot& spot = spots_[i];
    Spot& above = spots_[spot.parent];
    const bool holding = !spot.is_leaf() || holds(spot.account);
    for (std::size_t r = 0; r < count; ++r) {
      Usage& usage = spot.account.usage[r];
      if (spot.is_leaf()) charges[i][r] = holding ? usage.held : Charge{};
      usage = charged(usage, terms_.half_life, at_us, charges[i][r]);
      above.account.held[r] += spot.account.held[r];
      charges[spot.parent][r].thousandths += charges[i][r].thousandths;
    }
  }
}

}  // namespace keel::share
