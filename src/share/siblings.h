// The children of one group that rise: who is lowest, what they use together, and when one of them
// has to be looked at. Used within share/ only.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "share/forest.h"

namespace keel::share {

// The order in which siblings rise. `level` is the dominant share per weight. What rises at no cost
// comes first among equals: a shape that asks for nothing dominant (not paid), or one whose own
// dominant resource lies below the leaf's (sub < level); the lowest on what it asks for first.
struct Key {
  bool last{};
  Fraction level;
  bool paid{};
  Fraction sub;  // what rises

  friend std::strong_ordering operator<=>(const Key& a, const Key& b);
  friend bool operator==(const Key& a, const Key& b) { return (a <=> b) == 0; }
};

// How one child rises, on its group's clock.
struct Rising {
  Key key;
  Fraction due;  // when something happens to it or in it
  Vector flow;   // what is used below it, per unit of the clock
  Mask asked{};  // by what rises in it
};

// The lowest children are the front and rise in step: the group's clock is the front's key. Those
// above stand in blocks of one key each; a block whose key the clock reaches joins the front.
class Siblings {
 public:
  bool empty() const { return front_.due.empty(); }  // after order(): nobody rises
  const Key& clock() const { return clock_; }
  const Vector& rates() const { return front_.rates; }  // of the front, per unit of the clock
  Mask asked() const;                                   // by the front
  const Fraction& next_due() const { return front_.due.begin()->first; }
  // Where the clock meets the next block.
  std::optional<Fraction> next_join() const;

  void clear();
  void join(std::size_t child, const Rising& rising);
  // Takes a child out of the front. `rising` is what it joined with.
  void leave(std::size_t child, const Rising& rising);
  void advance(const Fraction& step);
  // Makes the lowest block the front. Gives whether the front has changed.
  bool order();

  // Those of the front that are due at the present clock.
  std::vector<std::size_t> due_now() const;
  // Everybody, and how far the clock had come when their block last rose.
  std::vector<std::pair<std::size_t, Fraction>> everybody() const;

 private:
  struct Block {
    std::set<std::pair<Fraction, std::size_t>> due;
    Vector rates;
    std::vector<std::uint32_t> asking;  // for each resource, how many children
  };
  static void merge(Block& into, Block from);
  void pause();

  Key clock_;
  Block front_;
  std::map<Key, Block> waiting_;
};

}  // namespace keel::share
