#include "share/siblings.h"

#include <algorithm>

namespace keel::share {

std::strong_ordering operator<=>(const Key& a, const Key& b) {
  if (a.last != b.last) return a.last <=> b.last;
  if (const auto order = a.level <=> b.level; order != 0) return order;
  if (a.paid != b.paid) return a.paid <=> b.paid;
  return a.sub <=> b.sub;
}

Mask Siblings::asked() const {
  Mask asked = 0;
  for (std::size_t r = 0; r < front_.asking.size(); ++r) {
    if (front_.asking[r] > 0) asked |= bit(r);
  }
  return asked;
}

std::optional<Fraction> Siblings::next_join() const {
  if (waiting_.empty()) return std::nullopt;
  const Key& next = waiting_.begin()->first;
  if (next.last != clock_.last) return std::nullopt;
  if (next.level == clock_.level && next.paid == clock_.paid) return next.sub;
  if (clock_.paid) return next.level;
  return std::nullopt;  // what costs nothing never leaves its level
}

void Siblings::clear() {
  front_ = {};
  waiting_.clear();
}

void Siblings::join(std::size_t child, const Rising& rising) {
  if (front_.due.empty()) {
    front_ = {};
    clock_ = rising.key;
  } else if (rising.key < clock_) {
    pause();
    clock_ = rising.key;
  }
  Block& block = rising.key == clock_ ? front_ : waiting_[rising.key];
  block.rates.resize(rising.flow.size());
  block.asking.resize(rising.flow.size());
  block.due.emplace(rising.due, child);
  for (std::size_t r = 0; r < rising.flow.size(); ++r) {
    if (!rising.flow[r].is_zero()) block.rates[r] += rising.flow[r];
    if ((rising.asked & bit(r)) != 0) block.asking[r] += 1;
  }
}

void Siblings::leave(std::size_t child, const Rising& rising) {
  front_.due.erase({rising.due, child});
  for (std::size_t r = 0; r < rising.flow.size(); ++r) {
    if (!rising.flow[r].is_zero()) front_.rates[r] -= rising.flow[r];
    if ((rising.asked & bit(r)) != 0) front_.asking[r] -= 1;
  }
}

void Siblings::advance(const Fraction& step) {
  clock_.sub += step;
  if (clock_.paid) clock_.level = std::max(clock_.level, clock_.sub);
}

bool Siblings::order() {
  bool changed = false;
  while (!waiting_.empty() && (front_.due.empty() || waiting_.begin()->first <= clock_)) {
    changed = true;
    auto lowest = waiting_.extract(waiting_.begin());
    if (front_.due.empty()) {
      front_ = std::move(lowest.mapped());
    } else if (lowest.key() == clock_) {
      merge(front_, std::move(lowest.mapped()));
    } else {
      pause();
      front_ = std::move(lowest.mapped());
    }
    clock_ = lowest.key();
  }
  return changed;
}

std::vector<std::size_t> Siblings::due_now() const {
  std::vector<std::size_t> due;
  for (const auto& [when, child] : front_.due) {
    if (when > clock_.sub) break;
    due.push_back(child);
  }
  return due;
}

std::vector<std::pair<std::size_t, Fraction>> Siblings::everybody() const {
  std::vector<std::pair<std::size_t, Fraction>> all;
  all.reserve(front_.due.size());
  for (const auto& [when, child] : front_.due) all.emplace_back(child, clock_.sub);
  for (const auto& [key, block] : waiting_) {
    for (const auto& [when, child] : block.due) all.emplace_back(child, key.sub);
  }
  return all;
}

// The smaller moves into the larger, so that a child moves rarely.
void Siblings::merge(Block& into, Block from) {
  if (into.due.size() < from.due.size()) std::swap(into, from);
  into.due.merge(from.due);
  for (std::size_t r = 0; r < from.rates.size(); ++r) {
    into.rates[r] += from.rates[r];
    into.asking[r] += from.asking[r];
  }
}

void Siblings::pause() {
  const auto [place, fresh] = waiting_.try_emplace(clock_);
  if (fresh) {
    place->second = std::move(front_);
  } else {
    merge(place->second, std::move(front_));
  }
  front_ = {};
}

}  // namespace keel::share
