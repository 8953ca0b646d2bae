// How it moves. A group has a clock: the share per weight that its lowest children have reached,
// and these rise in step (siblings.h). Each child knows on that clock when something happens to it
// next, in itself or deeper down, so a breakpoint costs only the way from the root to it. What
// rises is brought up to date only when somebody looks (sync).
#include "share/fill.h"

#include <algorithm>

#include "share/siblings.h"

namespace keel::share {
namespace {

struct Mover {
  Vector amount;  // as of `synced`
  Vector rates;   // per unit of its own clock; a leaf's counts units of its shape group
  bool moves{};
  Rising rising;              // within the parent
  Fraction synced;            // on the parent's clock
  Fraction speed;             // of its own clock, per unit of the parent's
  std::size_t shape{};        // of a leaf
  Siblings siblings;          // of a group
  std::vector<bool> reached;  // of its limits
  Mask closed_with_gpus{};
  Mask closed_without_gpus{};
  Mask needs_without_gpus{};
};

// The sooner of two, where nothing is never.
void sooner(std::optional<Fraction>& soonest, const Fraction& other) {
  if (!soonest || other < *soonest) soonest = other;
}

class Filling {
 public:
  Filling(Forest& forest, const std::vector<FillRules>& rules)
      : forest_(forest), rules_(rules), movers_(forest.places.size()) {
    const std::vector<Vector> amounts = amounts_of(forest);
    for (std::size_t at = 0; at < movers_.size(); ++at) {
      movers_[at].amount = amounts[at];
      movers_[at].reached.resize(rules[at].limits.size());
      movers_[at].closed_with_gpus = rules[at].closed_with_gpus;
      movers_[at].closed_without_gpus = rules[at].closed_without_gpus;
      movers_[at].needs_without_gpus = rules[at].needs_without_gpus;
      for (std::size_t r = 0; r < forest.resources(); ++r) {
        units_.push_back(rules[at].weight * forest.capacity(r));
      }
    }
  }

  std::optional<std::uint32_t> run() {
    Mover& root = movers_[0];
    close(0);
    rebuild(0);
    for (;;) {
      settle(0);
      if (root.siblings.empty()) break;
      root.rates = root.siblings.rates();
      const Fraction step = *horizon(0);
      advance(0, step);
      const std::uint32_t bits = root.siblings.clock().sub.bits();
      if (bits > fraction_bits_max) return bits;
    }
    return std::nullopt;
  }

 private:
  bool is_leaf(std::size_t at) const { return forest_.places[at].children.empty(); }

  // Share per weight of one resource. A resource without capacity is full, so nobody rises in it.
  Fraction share(std::size_t at, std::size_t r) const {
    const Fraction& unit = units_[at * forest_.resources() + r];
    const Fraction& amount = movers_[at].amount[r];
    if (unit.is_zero()) return {};
    const Vector& base = rules_[at].base;
    return (base.empty() ? amount : amount - base[r]) / unit;
  }

  Fraction sum(const Vector& of, Mask resources) const {
    Fraction total;
    for (std::size_t r = 0; r < of.size(); ++r) {
      if ((resources & bit(r)) != 0 && !of[r].is_zero()) total += of[r];
    }
    return total;
  }

  // Moves the node's own clock by `step`, with all that moves in it.
  void advance(std::size_t at, const Fraction& step) {
    Mover& mover = movers_[at];
    for (std::size_t r = 0; r < mover.amount.size(); ++r) {
      if (!mover.rates[r].is_zero()) mover.amount[r] += mover.rates[r] * step;
    }
    if (is_leaf(at)) {
      forest_.places[at].shapes[mover.shape].taken += step;
      return;
    }
    mover.siblings.advance(step);
  }

  void sync(std::size_t at, const Fraction& now) {
    Mover& mover = movers_[at];
    if (mover.synced == now) return;
    const Fraction step = (now - mover.synced) * mover.speed;
    mover.synced = now;
    advance(at, step);
  }

  void sync_all(std::size_t at) {
    for (const auto& [child, now] : movers_[at].siblings.everybody()) sync(child, now);
    for (const std::size_t child : forest_.places[at].children) sync_all(child);
  }

  // When something happens next on the node's own clock, counted from now.
  std::optional<Fraction> horizon(std::size_t at) const {
    const Mover& mover = movers_[at];
    std::optional<Fraction> soonest;
    if (is_leaf(at)) {
      const ForestShape& shape = forest_.places[at].shapes[mover.shape];
      sooner(soonest, shape.units - shape.taken);
    } else {
      const Siblings& siblings = mover.siblings;
      sooner(soonest, siblings.next_due() - siblings.clock().sub);
      if (const auto next = siblings.next_join()) sooner(soonest, *next - siblings.clock().sub);
    }
    for (std::size_t i = 0; i < mover.reached.size(); ++i) {
      const FillLimit& limit = rules_[at].limits[i];
      if (mover.reached[i]) continue;
      const Fraction rate = sum(mover.rates, limit.resources);
      if (rate.is_zero()) continue;
      sooner(soonest, (limit.amount - sum(mover.amount, limit.resources)) / rate);
    }
    return soonest;
  }

  // Says how the node rises within its parent, from its amount and the rates of what moves in it.
  void derive(std::size_t at) {
    Mover& mover = movers_[at];
    if (is_leaf(at)) {
      mover.moves = mover.shape < forest_.places[at].shapes.size();
      if (!mover.moves) return;
      mover.rates = forest_.places[at].shapes[mover.shape].each;
      mover.rising.asked = forest_.places[at].shapes[mover.shape].asked;
    } else {
      mover.moves = !mover.siblings.empty();
      if (!mover.moves) return;
      mover.rates = mover.siblings.rates();
      mover.rising.asked = mover.siblings.asked();
    }
    const Mask dominant = mover.rising.asked & forest_.dominant;
    mover.rising.key.last = rules_[at].last;
    mover.rising.key.paid = dominant != 0;
    rise(at, dominant != 0 ? dominant : mover.rising.asked);
  }

  // Of `judged`, the resource with the highest share sets the pace.
  void rise(std::size_t at, Mask judged) {
    Mover& mover = movers_[at];
    Vector shares(forest_.resources());
    Vector slopes(forest_.resources());
    Fraction highest;
    Fraction steepest;
    bool found = false;
    for (std::size_t r = 0; r < shares.size(); ++r) {
      if ((judged & bit(r)) == 0) continue;
      shares[r] = share(at, r);
      slopes[r] = mover.rates[r] / units_[at * shares.size() + r];
      if (!found || shares[r] > highest) {
        highest = shares[r];
        steepest = slopes[r];
      } else if (shares[r] == highest) {
        steepest = std::max(steepest, slopes[r]);
      }
      found = true;
    }
    Rising& rising = mover.rising;
    rising.key.sub = highest;
    rising.key.level = rising.key.paid ? highest : Fraction();
    if (is_leaf(at)) rising.key.level = whole_level(at);
    mover.synced = highest;
    mover.speed = Fraction(1) / steepest;
    rising.flow.assign(shares.size(), {});
    for (std::size_t r = 0; r < shares.size(); ++r) {
      if (!mover.rates[r].is_zero()) rising.flow[r] = mover.rates[r] * mover.speed;
    }
    // In time for what happens in it, and for another resource that overtakes the highest.
    std::optional<Fraction> soonest = *horizon(at) / mover.speed;
    for (std::size_t r = 0; r < shares.size(); ++r) {
      if ((judged & bit(r)) == 0 || !(slopes[r] > steepest) || shares[r] == highest) continue;
      sooner(soonest, (highest - shares[r]) / (slopes[r] * mover.speed - Fraction(1)));
    }
    rising.due = highest + *soonest;
  }

  // A leaf is judged by all that it uses.
  Fraction whole_level(std::size_t at) const {
    Fraction level;
    for (std::size_t r = 0; r < forest_.resources(); ++r) {
      if ((forest_.dominant & bit(r)) != 0 && !movers_[at].amount[r].is_zero()) {
        level = std::max(level, share(at, r));
      }
    }
    return level;
  }

  // Does all that is due at the group's present clock.
  void settle(std::size_t at) {
    Siblings& siblings = movers_[at].siblings;
    for (;;) {
      if (newly_reached(at)) {
        sync_all(at);
        close(at);
        rebuild(at);
      }
      const std::vector<std::size_t> due = siblings.due_now();
      if (due.empty()) {
        if (siblings.order()) continue;
        return;
      }
      for (const std::size_t child : due) {
        siblings.leave(child, movers_[child].rising);
        sync(child, siblings.clock().sub);
        if (is_leaf(child)) {
          if (newly_reached(child)) close(child);
          choose(child);
        } else {
          settle(child);
        }
      }
      // Only now, as those that are due at one instant have no order among them.
      for (const std::size_t child : due) enter(at, child);
    }
  }

  void enter(std::size_t at, std::size_t child) {
    derive(child);
    if (movers_[child].moves) movers_[at].siblings.join(child, movers_[child].rising);
  }

  bool newly_reached(std::size_t at) const {
    const Mover& mover = movers_[at];
    for (std::size_t i = 0; i < mover.reached.size(); ++i) {
      const FillLimit& limit = rules_[at].limits[i];
      if (!mover.reached[i] && sum(mover.amount, limit.resources) >= limit.amount) return true;
    }
    return false;
  }

  // Hands what is closed down the subtree, whose amounts are up to date.
  void close(std::size_t at) {
    Mover& mover = movers_[at];
    if (at != 0) {
      const Mover& parent = movers_[forest_.places[at].parent];
      mover.closed_with_gpus |= parent.closed_with_gpus;
      mover.closed_without_gpus |= parent.closed_without_gpus;
      if (mover.needs_without_gpus == 0) mover.needs_without_gpus = parent.needs_without_gpus;
    }
    for (std::size_t i = 0; i < mover.reached.size(); ++i) {
      const FillLimit& limit = rules_[at].limits[i];
      if (!mover.reached[i] && sum(mover.amount, limit.resources) < limit.amount) continue;
      mover.reached[i] = true;
      if (limit.scope != Scope::without_gpus) mover.closed_with_gpus |= limit.resources;
      if (limit.scope != Scope::with_gpus) mover.closed_without_gpus |= limit.resources;
    }
    for (const std::size_t child : forest_.places[at].children) close(child);
  }

  // The leaf's first shape group that can rise.
  void choose(std::size_t at) {
    Mover& mover = movers_[at];
    const std::vector<ForestShape>& shapes = forest_.places[at].shapes;
    for (mover.shape = 0; mover.shape < shapes.size(); ++mover.shape) {
      const ForestShape& shape = shapes[mover.shape];
      const Mask closed = shape.with_gpus ? mover.closed_with_gpus : mover.closed_without_gpus;
      if ((shape.asked & closed) != 0 || shape.taken == shape.units) continue;
      const bool needed = shape.with_gpus || mover.needs_without_gpus == 0 ||
                          (shape.asked & mover.needs_without_gpus) != 0;
      if (needed) return;
    }
  }

  void rebuild(std::size_t at) {
    if (is_leaf(at)) return choose(at);
    movers_[at].siblings.clear();
    for (const std::size_t child : forest_.places[at].children) {
      rebuild(child);
      enter(at, child);
    }
    movers_[at].siblings.order();
  }

  Forest& forest_;
  const std::vector<FillRules>& rules_;
  std::vector<Mover> movers_;
  Vector units_;  // by place and resource: the amount that is a share of 1 per weight
};

}  // namespace

std::optional<std::uint32_t> fill(Forest& forest, const std::vector<FillRules>& rules) {
  return Filling(forest, rules).run();
}

}  // namespace keel::share
