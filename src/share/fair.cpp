#include "share/fair.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "share/entitle.h"
#include "share/fill.h"
#include "share/whole.h"

namespace keel::share {
namespace {

using Rules = std::vector<FillRules>;

constexpr Mask every_resource = ~Mask{0};

// The part of the fleet that a guarantee is: how guarantees share what is too little for all.
Fraction size_of(const Forest& forest, const Entitlement& entitlement) {
  Fraction size;
  Fraction gpus;
  for (std::size_t r = 0; r < forest.resources(); ++r) {
    const Fraction capacity = forest.capacity(r);
    if (!capacity.is_zero()) size = std::max(size, entitlement.of[r] / capacity);
    if ((forest.gpus & bit(r)) != 0) gpus += capacity;
  }
  if (!gpus.is_zero()) size = std::max(size, entitlement.any_gpu / gpus);
  return size;
}

void limit_to(FillRules& rules, Mask resources, const Fraction& amount, Scope scope) {
  rules.limits.push_back({.resources = resources, .amount = amount, .scope = scope});
}

// By place. Only ratios among siblings count, so a common divisor goes.
std::vector<std::int64_t> weights_of(const Forest& forest) {
  std::vector<std::int64_t> weights(forest.places.size(), 1);
  for (const Place& place : forest.places) {
    std::int64_t divisor = 0;
    for (const std::size_t child : place.children) {
      weights[child] = forest.places[child].node->weight;
      divisor = std::gcd(divisor, weights[child]);
    }
    for (const std::size_t child : place.children) {
      if (divisor > 0) weights[child] /= divisor;
    }
  }
  return weights;
}

// The steps from promises to shares. All raise the same amounts, each under rules of its own.
class Shares {
 public:
  explicit Shares(const Cluster& cluster)
      : forest_(plant(cluster)),
        entitlements_(entitle(forest_)),
        kept_back_(kept_back(forest_, entitlements_)),
        weights_(weights_of(forest_)) {
    for (const Place& place : forest_.places) depth_ = std::max(depth_, place.depth);
  }

  // Gives bits where fill() does.
  std::optional<std::uint32_t> run() {
    // By model before plain numbers, so that who was promised a model is not crowded out of it.
    if (const auto bits = fill_guarantees(depth_ + 1, Kind::typed)) return bits;
    if (const auto bits = fill_guarantees(depth_ + 1, Kind::plain)) return bits;
    // What a group is guaranteed beyond its children's, the deepest first.
    for (std::size_t depth = depth_; depth > 0; --depth) {
      if (const auto bits = fill_guarantees(depth, Kind::group)) return bits;
    }
    guaranteed_ = amounts_of(forest_);
    Rules rules = rules_of_all();
    for (std::size_t i = 1; i < rules.size(); ++i) {
      weigh(rules[i], i);
      if (forest_.cluster->surplus == Surplus::additive) rules[i].base = guaranteed_[i];
    }
    return fill(forest_, rules);
  }

  FairShares result() const {
    const std::vector<Vector> amounts = amounts_of(forest_);
    const std::vector<Amounts> whole = whole_amounts(forest_, amounts);
    const Vector weighted = parts_by_weight();
    FairShares shares;
    for (std::size_t i = 1; i < forest_.places.size(); ++i) {
      FairShare share{.id = forest_.places[i].node->id,
                      .parts = {},
                      .whole = whole[i],
                      .scaled = entitlements_[i].scaled};
      for (std::size_t r = 0; r < forest_.resources(); ++r) {
        share.parts.push_back(split(amounts[i][r], i, r, weighted[i]));
      }
      shares.nodes.push_back(std::move(share));
    }
    std::ranges::sort(shares.nodes, {}, &FairShare::id);
    return shares;
  }

 private:
  enum class Kind { typed, plain, group };

  void weigh(FillRules& rules, std::size_t at) const {
    rules.last = weights_[at] == 0;
    rules.weight = rules.last ? 1 : weights_[at];
  }

  // What binds in every step: capacity, ceilings, and what is kept back.
  Rules rules_of_all() const {
    Rules rules(forest_.places.size());
    Fraction gpus;
    for (std::size_t r = 0; r < forest_.resources(); ++r) {
      const Fraction capacity = forest_.capacity(r);
      if ((forest_.gpus & bit(r)) != 0) gpus += capacity;
      limit_to(rules[0], bit(r), capacity - std::min(capacity, kept_back_.of[r]), Scope::every);
    }
    if (!kept_back_.any_gpu.is_zero()) {
      limit_to(rules[0], forest_.gpus, gpus - std::min(gpus, kept_back_.any_gpu), Scope::every);
    }
    for (std::size_t i = 1; i < rules.size(); ++i) {
      const Ceiling ceiling = ceiling_of(forest_, forest_.places[i], entitlements_[i]);
      for (std::size_t r = 0; r < forest_.resources(); ++r) {
        if (ceiling.of[r]) limit_to(rules[i], bit(r), *ceiling.of[r], Scope::every);
      }
      if (ceiling.any_gpu) limit_to(rules[i], forest_.gpus, *ceiling.any_gpu, Scope::every);
    }
    return rules;
  }

  bool takes_part(std::size_t at, std::size_t depth, Kind kind) const {
    const Place& place = forest_.places[at];
    if (kind == Kind::group) {
      return place.depth == depth && !place.children.empty() && entitlements_[at].own;
    }
    if (!place.children.empty()) return false;
    const bool plain = !entitlements_[at].any_gpu.is_zero();
    return plain ? kind == Kind::plain
                 : kind == Kind::typed && !size_of(forest_, entitlements_[at]).is_zero();
  }

  // A job with GPUs is within the guarantee when all its models are; what else it asks for comes
  // along. One without GPUs is when all that it asks for and is guaranteed is, and some of it is.
  void restrict(FillRules& rules, const Entitlement& entitlement) const {
    const bool plain = !entitlement.any_gpu.is_zero();
    if (plain) limit_to(rules, forest_.gpus, entitlement.gpus(forest_.gpus), Scope::with_gpus);
    Mask guaranteed = 0;
    for (std::size_t r = 0; r < forest_.resources(); ++r) {
      const bool gpu = (forest_.gpus & bit(r)) != 0;
      if (gpu && !plain) limit_to(rules, bit(r), entitlement.of[r], Scope::with_gpus);
      if (gpu || entitlement.of[r].is_zero()) continue;
      limit_to(rules, bit(r), entitlement.of[r], Scope::without_gpus);
      guaranteed |= bit(r);
    }
    if (guaranteed == 0) rules.closed_without_gpus = every_resource;
    rules.needs_without_gpus = guaranteed;
  }

  std::optional<std::uint32_t> fill_guarantees(std::size_t depth, Kind kind) {
    std::vector<bool> part(forest_.places.size());
    bool any = false;
    for (std::size_t i = 1; i < part.size(); ++i) {
      part[i] = takes_part(i, depth, kind);
      any = any || part[i];
    }
    if (!any) return std::nullopt;
    Rules rules = rules_of_all();
    std::vector<bool> below(part.size());
    for (std::size_t i = 1; i < rules.size(); ++i) {
      const Place& place = forest_.places[i];
      below[i] = part[i] || below[place.parent];
      const Fraction size = size_of(forest_, entitlements_[i]);
      if (place.depth > depth) {
        weigh(rules[i], i);
      } else if (!size.is_zero()) {
        rules[i].weight = size;
      }
      if (part[i]) restrict(rules[i], entitlements_[i]);
      if (place.children.empty() && !below[i]) {
        rules[i].closed_with_gpus = rules[i].closed_without_gpus = every_resource;
      }
    }
    return fill(forest_, rules);
  }

  // For each place, its part of the whole if everybody wanted everything.
  Vector parts_by_weight() const {
    Vector parts(forest_.places.size(), 1);
    for (std::size_t i = 0; i < forest_.places.size(); ++i) {
      std::int64_t sum = 0;
      for (const std::size_t child : forest_.places[i].children) sum += weights_[child];
      for (const std::size_t child : forest_.places[i].children) {
        parts[child] = sum == 0 ? Fraction() : parts[i] * Fraction(weights_[child], sum);
      }
    }
    return parts;
  }

  Part split(const Fraction& amount, std::size_t at, std::size_t r, const Fraction& part) const {
    const bool additive = forest_.cluster->surplus == Surplus::additive;
    const Fraction& guaranteed = guaranteed_[at][r];
    const Fraction capacity = forest_.capacity(r);
    const Fraction entitled = additive ? (capacity - guaranteed_[0][r]) * part
                                       : std::max(capacity * part - guaranteed, Fraction());
    const Fraction above = amount - guaranteed;
    const Fraction weighted = std::min(above, entitled);
    const Fraction unit = forest_.units[r];
    return {.guarantee = guaranteed * unit,
            .weight = weighted * unit,
            .borrowed = (above - weighted) * unit};
  }

  Forest forest_;
  std::vector<Entitlement> entitlements_;
  KeptBack kept_back_;
  std::vector<std::int64_t> weights_;
  std::size_t depth_ = 0;
  std::vector<Vector> guaranteed_;
};

}  // namespace

const FairShare& FairShares::of(NodeId id) const {
  const auto found = std::ranges::lower_bound(nodes, id, {}, &FairShare::id);
  check(found != nodes.end() && found->id == id, "the node has a fair share");
  return *found;
}

Result<FairShares, ShareError> fair_shares(const Cluster& cluster) {
  TRY(valid, validate(cluster));
  Shares shares(cluster);
  if (const auto bits = shares.run()) {
    return ShareError{.code = ShareError::Code::too_fine,
                      .node = std::nullopt,
                      .field = "breakpoint",
                      .value = *bits,
                      .limit = fraction_bits_max};
  }
  return shares.result();
}

}  // namespace keel::share
