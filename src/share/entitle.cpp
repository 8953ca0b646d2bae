#include "share/entitle.h"

#include <algorithm>

namespace keel::share {
namespace {

const Fraction one = 1;

std::optional<Fraction> bound_of(const Forest& forest, const Bounds& bounds, std::size_t r) {
  if (r >= bounds.of.size() || !bounds.of[r]) return std::nullopt;
  return forest.in_units(r, *bounds.of[r]);
}

// The sum of what a place's children are promised.
Entitlement promised_below(const Forest& forest, const Place& place,
                           const std::vector<Entitlement>& entitlements) {
  Entitlement sum{.of = Vector(forest.resources()), .any_gpu = {}};
  for (const std::size_t child : place.children) {
    for (std::size_t r = 0; r < forest.resources(); ++r) {
      const Fraction& promised = entitlements[child].of[r];
      if (!promised.is_zero()) sum.of[r] += promised;
    }
    sum.any_gpu += entitlements[child].any_gpu;
  }
  return sum;
}

Entitlement promised(const Forest& forest, const Place& place,
                     const std::vector<Entitlement>& entitlements) {
  Entitlement promised = promised_below(forest, place, entitlements);
  if (!place.node || !place.node->guarantee) return promised;
  const Guarantee& own = *place.node->guarantee;
  promised.own = true;
  promised.any_gpu = own.any_gpu;
  for (std::size_t r = 0; r < forest.resources(); ++r) {
    // A plain number says nothing of CPU and memory, which stay the sum of the children's.
    const bool said = !own.of.empty() || (forest.gpus & bit(r)) != 0;
    if (said) promised.of[r] = own.of.empty() ? Fraction() : forest.in_units(r, own.of[r]);
  }
  return promised;
}

// The part of each kind of promise to the children of one place that it can keep.
struct KeptParts {
  Vector of;
  Fraction any_gpu;
};

Fraction part(const Fraction& there, const Fraction& wanted) {
  return wanted > there ? there / wanted : one;
}

// Promises by model come first; plain numbers share the GPUs that they leave.
KeptParts kept_parts(const Forest& forest, const Entitlement& has, const Entitlement& wanted) {
  KeptParts parts{.of = Vector(forest.resources(), one), .any_gpu = {}};
  // A plain number covers what is promised below by model, whatever the model.
  const bool plain = has.own && !has.any_gpu.is_zero();
  const Fraction by_model = wanted.gpus(forest.gpus) - wanted.any_gpu;
  Fraction left = has.gpus(forest.gpus);
  for (std::size_t r = 0; r < forest.resources(); ++r) {
    const bool gpu = (forest.gpus & bit(r)) != 0;
    parts.of[r] = gpu && plain ? part(has.any_gpu, by_model) : part(has.of[r], wanted.of[r]);
    if (gpu) left -= wanted.of[r] * parts.of[r];
  }
  parts.any_gpu = part(left, wanted.any_gpu);
  return parts;
}

void cut(const Forest& forest, const Place& place, const Entitlement& has,
         std::vector<Entitlement>& entitlements) {
  const KeptParts parts = kept_parts(forest, has, promised_below(forest, place, entitlements));
  for (const std::size_t child : place.children) {
    Entitlement& entitlement = entitlements[child];
    const auto keep = [&](Fraction& promise, const Fraction& kept) {
      if (kept == one || promise.is_zero()) return;
      promise = promise * kept;
      entitlement.scaled = true;
    };
    for (std::size_t r = 0; r < forest.resources(); ++r) keep(entitlement.of[r], parts.of[r]);
    keep(entitlement.any_gpu, parts.any_gpu);
  }
}

// Leaves use what they want; groups the sum; nobody more than the ceiling.
struct Use {
  Vector of;
  Fraction any_gpu;
};

Use wanted_by(const Forest& forest, const Place& place) {
  Use use{.of = Vector(forest.resources()), .any_gpu = {}};
  for (const ForestShape& shape : place.shapes) {
    for (std::size_t r = 0; r < shape.each.size(); ++r) {
      if (shape.each[r].is_zero()) continue;
      const Fraction amount = shape.each[r] * shape.units;
      use.of[r] += amount;
      if ((forest.gpus & bit(r)) != 0) use.any_gpu += amount;
    }
  }
  return use;
}

Fraction held_back(const Fraction& guaranteed, const std::optional<Fraction>& lent) {
  if (!lent || *lent >= guaranteed) return {};
  return guaranteed - *lent;
}

}  // namespace

Fraction Entitlement::gpus(Mask models) const {
  Fraction total = any_gpu;
  for (std::size_t r = 0; r < of.size(); ++r) {
    if ((models & bit(r)) != 0) total += of[r];
  }
  return total;
}

std::vector<Entitlement> entitle(const Forest& forest) {
  std::vector<Entitlement> entitlements(forest.places.size());
  for (std::size_t i = forest.places.size(); i-- > 0;) {
    entitlements[i] = promised(forest, forest.places[i], entitlements);
  }
  for (std::size_t r = 0; r < forest.resources(); ++r) {
    entitlements[0].of[r] = forest.capacity(r);
  }
  entitlements[0].any_gpu = {};
  for (std::size_t i = 0; i < forest.places.size(); ++i) {
    cut(forest, forest.places[i], entitlements[i], entitlements);
  }
  return entitlements;
}

Ceiling ceiling_of(const Forest& forest, const Place& place, const Entitlement& entitlement) {
  const auto lower = [](std::optional<Fraction> cap, std::optional<Fraction> borrowed,
                        const Fraction& guaranteed) {
    if (!borrowed) return cap;
    const Fraction sum = guaranteed + *borrowed;
    return cap && *cap < sum ? cap : std::optional(sum);
  };
  Ceiling ceiling;
  for (std::size_t r = 0; r < forest.resources(); ++r) {
    ceiling.of.push_back(lower(bound_of(forest, place.node->cap, r),
                               bound_of(forest, place.node->borrow_limit, r), entitlement.of[r]));
  }
  const auto plain = [](std::optional<std::int64_t> bound) {
    return bound ? std::optional<Fraction>(*bound) : std::nullopt;
  };
  ceiling.any_gpu = lower(plain(place.node->cap.any_gpu), plain(place.node->borrow_limit.any_gpu),
                          entitlement.gpus(forest.gpus));
  return ceiling;
}

KeptBack kept_back(const Forest& forest, const std::vector<Entitlement>& entitlements) {
  std::vector<Use> uses(forest.places.size());
  KeptBack kept{.of = Vector(forest.resources()), .any_gpu = {}};
  for (std::size_t i = forest.places.size(); i-- > 1;) {
    const Place& place = forest.places[i];
    Use& use = uses[i];
    if (place.children.empty()) use = wanted_by(forest, place);
    use.of.resize(forest.resources());
    const Ceiling ceiling = ceiling_of(forest, place, entitlements[i]);
    const auto reserve = [](Fraction& used, const std::optional<Fraction>& most,
                            const Fraction& back, Fraction& total) {
      if (most) used = std::min(used, *most);
      if (back <= used) return;
      total += back - used;
      used = back;
    };
    const Bounds& lent = place.node->lend_limit;
    for (std::size_t r = 0; r < forest.resources(); ++r) {
      const Fraction back = held_back(entitlements[i].of[r], bound_of(forest, lent, r));
      reserve(use.of[r], ceiling.of[r], back, kept.of[r]);
    }
    const auto plain =
        lent.any_gpu ? std::optional<Fraction>(*lent.any_gpu) : std::optional<Fraction>();
    reserve(use.any_gpu, ceiling.any_gpu, held_back(entitlements[i].gpus(forest.gpus), plain),
            kept.any_gpu);
    if (place.parent == 0) continue;
    Use& above = uses[place.parent];
    above.of.resize(forest.resources());
    for (std::size_t r = 0; r < forest.resources(); ++r) above.of[r] += use.of[r];
    above.any_gpu += use.any_gpu;
  }
  return kept;
}

}  // namespace keel::share
