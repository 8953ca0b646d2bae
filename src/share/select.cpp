#include "share/select.h"

#include <algorithm>

#include "base/check.h"

namespace keel::share {
namespace {

Charge charge_for(std::int64_t amount, std::int64_t price_thousandths) {
  const auto charge = charge_of(amount, price_thousandths);
  check(charge.has_value(), "what a job holds, and its price, are within their limits");
  return *charge;
}

bool is_amount(std::int64_t amount) { return amount >= 0 && amount <= amount_max; }

}  // namespace

std::size_t Selector::index_of(NodeId id) const {
  const auto found = index_.find(id);
  check(found != index_.end(), "the node is in the tree");
  return found->second;
}

void Selector::freeze(std::int64_t at_us) {
  check(at_us >= now_us_, "time goes forwards");
  now_us_ = frozen_at_us_ = at_us;
  ++cycle_;
  for (std::size_t i = 1; i < spots_.size(); ++i) {
    if (spots_[i].offers) mark(i);
  }
}

void Selector::set_fair(NodeId node, std::vector<Fraction> fair) {
  check(fair.empty() || fair.size() == scale_.resources.size(), "one for each resource");
  Spot& spot = spots_[index_of(node)];
  spot.fair_fixed.clear();
  const Fraction steps(std::int64_t{1} << decayed_digits);
  for (const Fraction& share : fair) {
    check(share.sign() >= 0 && share <= Fraction(amount_max), "a fair share is an amount");
    const std::int64_t whole = share.floor();
    const std::int64_t rest = ((share - Fraction(whole)) * steps).floor();
    spot.fair_fixed.push_back((static_cast<Unsigned128>(whole) << decayed_digits) +
                              static_cast<Unsigned128>(rest));
  }
  spot.fair = std::move(fair);
  mark(index_of(node));
}

void Selector::hold(NodeId leaf, const Holding& holding, std::int64_t at_us) {
  change(leaf, holding, at_us, true);
}

void Selector::release(NodeId leaf, const Holding& holding, std::int64_t at_us) {
  change(leaf, holding, at_us, false);
}

void Selector::change(NodeId leaf, const Holding& holding, std::int64_t at_us, bool more) {
  check(at_us >= now_us_, "time goes forwards");
  check(holding.amounts.size() == scale_.resources.size(), "one for each resource");
  now_us_ = at_us;
  const std::size_t index = index_of(leaf);
  check(spots_[index].is_leaf(), "only leaves hold something themselves");
  for (std::size_t i = index; i != 0; i = spots_[i].parent) {
    Spot& spot = spots_[i];
    refresh(spot);  // afterwards the frozen instant lies before the last change
    for (std::size_t r = 0; r < holding.amounts.size(); ++r) {
      const std::int64_t amount = holding.amounts[r];
      if (amount == 0) continue;
      const Charge charge = charge_for(amount, holding.price_thousandths);
      std::int64_t& held = spot.account.held[r];
      Usage& usage = spot.account.usage[r];
      usage = more ? share::hold(usage, terms_.half_life, at_us, charge)
                   : share::release(usage, terms_.half_life, at_us, charge);
      held += more ? amount : -amount;
      check(is_amount(held), "what is held is an amount, and only that is released");
    }
    mark(i);
  }
}

void Selector::set_head(NodeId leaf, std::optional<Head> head) {
  const std::size_t index = index_of(leaf);
  check(spots_[index].is_leaf(), "only leaves have a queue");
  if (head) {
    check(head->shape.size() == scale_.resources.size(), "one for each resource");
    check(std::ranges::all_of(head->shape, is_amount), "a job asks for amounts");
    check(std::ranges::any_of(head->shape, [](std::int64_t a) { return a > 0; }),
          "a job asks for something");
  }
  spots_[index].head = std::move(head);
  mark(index);
}

void Selector::refresh(Spot& spot) {
  if (spot.frozen_in == cycle_) return;
  spot.frozen_in = cycle_;
  spot.frozen.clear();
  for (const Usage& usage : spot.account.usage) {
    spot.frozen.push_back(read(usage, terms_.half_life, frozen_at_us_));
  }
  measure_usage(scale_, spot);
}

void Selector::mark(std::size_t index) {
  Spot& spot = spots_[index];
  if (spot.stale) return;
  spot.stale = true;
  stale_[spot.depth].push_back(index);
}

// From the deepest up, so that each group is looked at once, after all its children.
void Selector::settle() {
  for (std::size_t depth = stale_.size(); depth-- > 1;) {
    for (const std::size_t i : stale_[depth]) rekey(i);
    for (const std::size_t i : stale_[depth]) replay(i);
    stale_[depth].clear();
  }
  if (stale_.empty()) return;
  for (const std::size_t root : stale_[0]) spots_[root].stale = false;
  stale_[0].clear();
}

void Selector::rekey(std::size_t index) {
  Spot& spot = spots_[index];
  spot.stale = false;
  if (spot.is_leaf()) {
    spot.offers = spot.head ? std::optional(index) : std::nullopt;
  } else {
    spot.offers = spots_[spot.children[spot.winners[1]]].offers;
  }
  if (!spot.offers) return;
  refresh(spot);
  spot.key = key_of(scale_, spot, spots_[*spot.offers].head->shape);
  ++effort_.keys;
}

// Plays the child's matches again. Its parent offers something else only where another child is the
// best now, or this one is. (Who was the best may be any that was marked as well.)
void Selector::replay(std::size_t index) {
  const std::size_t parent = spots_[index].parent;
  const std::size_t slot = spots_[index].slot;
  std::vector<std::uint32_t>& winners = spots_[parent].winners;
  const std::uint32_t before = winners[1];
  for (std::size_t k = (spots_[parent].children.size() + slot) / 2; k > 0; k /= 2) {
    winners[k] = better(parent, winners[2 * k], winners[2 * k + 1]);
  }
  if (winners[1] != before || winners[1] == slot) mark(parent);
}

bool Selector::precedes(std::size_t a, std::size_t b) {
  const Spot& x = spots_[a];
  const Spot& y = spots_[b];
  return share::precedes(scale_, {x, *spots_[*x.offers].head}, {y, *spots_[*y.offers].head},
                         effort_);
}

std::uint32_t Selector::better(std::size_t parent, std::uint32_t a, std::uint32_t b) {
  const std::size_t x = spots_[parent].children[a];
  const std::size_t y = spots_[parent].children[b];
  if (!spots_[y].offers) return a;
  if (!spots_[x].offers) return b;
  return precedes(x, y) ? a : b;
}

std::optional<NodeId> Selector::pick() {
  settle();
  if (spots_.empty() || spots_[0].is_leaf()) return std::nullopt;
  const auto& leaf = spots_[spots_[0].children[spots_[0].winners[1]]].offers;
  return leaf ? std::optional(spots_[*leaf].id) : std::nullopt;
}

Standing Selector::standing(NodeId node) {
  settle();
  Spot& spot = spots_[index_of(node)];
  refresh(spot);
  Standing standing =
      standing_of(scale_, spot, spot.offers ? &spots_[*spot.offers].head->shape : nullptr);
  if (spot.offers) standing.offers = spots_[*spot.offers].id;
  return standing;
}

std::vector<NodeId> Selector::in_line(std::optional<NodeId> parent) {
  settle();
  if (spots_.empty()) return {};
  std::vector<std::size_t> line;
  for (const std::size_t child : spots_[parent ? index_of(*parent) : 0].children) {
    if (spots_[child].offers) line.push_back(child);
  }
  std::ranges::sort(line, [&](std::size_t a, std::size_t b) { return precedes(a, b); });
  std::vector<NodeId> ids;
  for (const std::size_t child : line) ids.push_back(spots_[child].id);
  return ids;
}

const Account& Selector::account(NodeId node) const { return spots_[index_of(node)].account; }

void Selector::remember(NodeId id, Account account) { remembered_[id] = std::move(account); }

bool Selector::inherit(NodeId leaf, NodeId gone, std::int64_t at_us) {
  check(at_us >= now_us_, "time goes forwards");
  const auto found = remembered_.find(gone);
  if (found == remembered_.end()) return false;
  now_us_ = at_us;
  Spot& spot = spots_[index_of(leaf)];
  refresh(spot);
  std::vector<Usage>& usage = spot.account.usage;
  for (std::size_t r = 0; r < found->second.usage.size(); ++r) {
    usage[r] = merge(usage[r], found->second.usage[r], terms_.half_life, at_us);
  }
  remembered_.erase(found);
  return true;
}

}  // namespace keel::share
