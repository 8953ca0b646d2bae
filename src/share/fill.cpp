// How it moves. A group has a clock: the share per weight that its lowest children have reached, and
// these rise in step. Each child knows on that clock when something happens to it next, in itself or
// deeper down, so that a breakpoint costs only the way from the root to it. Children above the clock
// wait in blocks; a block whose level the clock reaches joins. What moves is brought up to date only
// when somebody looks (sync).
#include "share/fill.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"

namespace keel::share {
namespace {

// The order in which siblings rise. `level` is the dominant share per weight. What rises at no cost
// comes first among equals: a shape that asks for nothing dominant (not paid), or one whose own
// dominant resource lies below the leaf's (sub < level); the lowest on what it asks for first.
struct Key {
  bool last{};
  Fraction level;
  bool paid{};
  Fraction sub;  // what rises: the group's clock while this is its front

  friend std::strong_ordering operator<=>(const Key& a, const Key& b) {
    if (a.last != b.last) return a.last <=> b.last;
    if (const auto order = a.level <=> b.level; order != 0) return order;
    if (a.paid != b.paid) return a.paid <=> b.paid;
    return a.sub <=> b.sub;
  }
  friend bool operator==(const Key& a, const Key& b) { return (a <=> b) == 0; }
};

// Children that stand at one key and rise in step.
struct Block {
  std::set<std::pair<Fraction, std::size_t>> due;  // when, on the group's clock; which child
  Vector rates;                                    // of all, per unit of the clock
  std::vector<std::uint32_t> asking;               // for each resource, how many children
};

struct Mover {
  Vector amount;  // as of `synced`
  Vector rates;   // per unit of its own clock: of a leaf, units taken
  Mask asked{};   // by what moves
  // Within the parent:
  bool moving{};
  Key key;
  Fraction synced;  // on the parent's clock
  Fraction due;     // on the parent's clock
  Fraction speed;   // of its own clock, per unit of the parent's
  Vector flow;      // rates * speed
  // Of a leaf:
  std::size_t shape{};
  // Of a group; the front's key is kept here, since it rises:
  Key clock;
  Block front;
  std::map<Key, Block> waiting;
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
      if (root.front.due.empty()) break;
      root.rates = root.front.rates;
      const Fraction step = *horizon(0);
      advance(0, step);
      const std::uint32_t bits = root.clock.sub.bits();
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
    mover.clock.sub += step;
    if (mover.clock.paid) mover.clock.level = std::max(mover.clock.level, mover.clock.sub);
  }

  void sync(std::size_t at, const Fraction& now) {
    Mover& mover = movers_[at];
    if (mover.synced == now) return;
    const Fraction step = (now - mover.synced) * mover.speed;
    mover.synced = now;
    advance(at, step);
  }

  void sync_all(std::size_t at) {
    Mover& mover = movers_[at];
    for (const auto& [due, child] : mover.front.due) sync(child, mover.clock.sub);
    for (const auto& [key, block] : mover.waiting) {
      for (const auto& [due, child] : block.due) sync(child, key.sub);
    }
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
      sooner(soonest, mover.front.due.begin()->first - mover.clock.sub);
      if (const auto joined = next_join(mover)) sooner(soonest, *joined - mover.clock.sub);
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

  // Where the clock reaches the next block that waits.
  static std::optional<Fraction> next_join(const Mover& mover) {
    if (mover.waiting.empty()) return std::nullopt;
    const Key& next = mover.waiting.begin()->first;
    if (next.last != mover.clock.last) return std::nullopt;
    if (next.level == mover.clock.level && next.paid == mover.clock.paid) return next.sub;
    if (mover.clock.paid) return next.level;
    return std::nullopt;  // what costs nothing never leaves its level
  }

  // Says how the node rises within its parent, from its amount and the rates of what moves in it.
  void derive(std::size_t at) {
    Mover& mover = movers_[at];
    if (is_leaf(at)) {
      mover.moving = mover.shape < forest_.places[at].shapes.size();
      if (!mover.moving) return;
      mover.rates = forest_.places[at].shapes[mover.shape].each;
      mover.asked = forest_.places[at].shapes[mover.shape].asked;
    } else {
      mover.moving = !mover.front.due.empty();
      if (!mover.moving) return;
      mover.rates = mover.front.rates;
      mover.asked = 0;
      for (std::size_t r = 0; r < forest_.resources(); ++r) {
        if (mover.front.asking[r] > 0) mover.asked |= bit(r);
      }
    }
    const Mask dominant = mover.asked & forest_.dominant;
    mover.key.last = rules_[at].last;
    mover.key.paid = dominant != 0;
    rise(at, dominant != 0 ? dominant : mover.asked);
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
    mover.key.sub = highest;
    mover.key.level = mover.key.paid ? highest : Fraction();
    if (is_leaf(at)) mover.key.level = whole_level(at);
    mover.synced = mover.key.sub;
    mover.speed = Fraction(1) / steepest;
    mover.flow.assign(shares.size(), {});
    for (std::size_t r = 0; r < shares.size(); ++r) {
      if (!mover.rates[r].is_zero()) mover.flow[r] = mover.rates[r] * mover.speed;
    }
    // In time for what happens in it, and for another resource that overtakes the highest.
    std::optional<Fraction> soonest = *horizon(at) / mover.speed;
    for (std::size_t r = 0; r < shares.size(); ++r) {
      if ((judged & bit(r)) == 0 || !(slopes[r] > steepest) || shares[r] == highest) continue;
      sooner(soonest, (highest - shares[r]) / (slopes[r] * mover.speed - Fraction(1)));
    }
    mover.due = mover.key.sub + *soonest;
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

  void add(Block& block, std::size_t child) {
    const Mover& mover = movers_[child];
    block.rates.resize(forest_.resources());
    block.asking.resize(forest_.resources());
    block.due.emplace(mover.due, child);
    for (std::size_t r = 0; r < forest_.resources(); ++r) {
      if (!mover.flow[r].is_zero()) block.rates[r] += mover.flow[r];
      if ((mover.asked & bit(r)) != 0) block.asking[r] += 1;
    }
  }

  void remove(Block& block, std::size_t child) {
    const Mover& mover = movers_[child];
    block.due.erase({mover.due, child});
    for (std::size_t r = 0; r < forest_.resources(); ++r) {
      if (!mover.flow[r].is_zero()) block.rates[r] -= mover.flow[r];
      if ((mover.asked & bit(r)) != 0) block.asking[r] -= 1;
    }
  }

  static void merge(Block& into, Block from) {
    if (into.due.size() < from.due.size()) std::swap(into, from);
    into.due.merge(from.due);
    for (std::size_t r = 0; r < from.rates.size(); ++r) {
      into.rates[r] += from.rates[r];
      into.asking[r] += from.asking[r];
    }
  }

  void join(std::size_t at, std::size_t child) {
    Mover& group = movers_[at];
    const Key& key = movers_[child].key;
    if (group.front.due.empty()) {
      group.front = {};
      group.clock = key;
    } else if (key < group.clock) {
      pause(group);
      group.clock = key;
    }
    add(key == group.clock ? group.front : group.waiting[key], child);
  }

  static void pause(Mover& group) {
    const auto [place, fresh] = group.waiting.try_emplace(group.clock);
    if (fresh) {
      place->second = std::move(group.front);
    } else {
      merge(place->second, std::move(group.front));
    }
    group.front = {};
  }

  // Makes the lowest block the front. Gives whether the front has changed.
  static bool order(Mover& group) {
    bool changed = false;
    while (!group.waiting.empty() &&
           (group.front.due.empty() || group.waiting.begin()->first <= group.clock)) {
      changed = true;
      auto lowest = group.waiting.extract(group.waiting.begin());
      if (group.front.due.empty()) {
        group.front = std::move(lowest.mapped());
      } else if (lowest.key() == group.clock) {
        merge(group.front, std::move(lowest.mapped()));
      } else {
        pause(group);
        group.front = std::move(lowest.mapped());
      }
      group.clock = lowest.key();
    }
    return changed;
  }

  static std::vector<std::size_t> due_now(const Mover& group) {
    std::vector<std::size_t> due;
    for (const auto& [when, child] : group.front.due) {
      if (when > group.clock.sub) break;
      due.push_back(child);
    }
    return due;
  }

  // Does all that is due at the group's present clock.
  void settle(std::size_t at) {
    Mover& group = movers_[at];
    for (;;) {
      if (newly_reached(at)) {
        sync_all(at);
        close(at);
        rebuild(at);
      }
      const std::vector<std::size_t> due = due_now(group);
      if (due.empty()) {
        if (order(group)) continue;
        return;
      }
      for (const std::size_t child : due) {
        remove(group.front, child);
        sync(child, group.clock.sub);
        if (is_leaf(child)) {
          if (newly_reached(child)) close(child);
          choose(child);
        } else {
          settle(child);
        }
      }
      for (const std::size_t child : due) {
        derive(child);
        if (movers_[child].moving) join(at, child);
      }
    }
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
    Mover& group = movers_[at];
    group.front = {};
    group.waiting.clear();
    for (const std::size_t child : forest_.places[at].children) {
      rebuild(child);
      derive(child);
      if (movers_[child].moving) join(at, child);
    }
    order(group);
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
