// Decayed usage: what was held, remembered with a half-life. du/dt = (a - u) ln 2 / H, where a is
// what is held now times its price; kept per resource.
//
// State changes only when what is held changes. In between, the value at any later instant follows
// from it, so that reading is free and reading often changes nothing.
//
// Exactness: `a` is exact. One change() or read() is off from the true curve, for the state that it
// started from, by less than one ulp and 2^-121 of |a - u|. Later steps shrink
// earlier errors, so n changes are off by less than n of that. The bits are the same on every
// machine.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "share/fraction.h"
#include "share/power.h"
#include "share/tree.h"

namespace keel::share {

inline constexpr std::int64_t half_life_us_min = 1'000'000;                      // a second
inline constexpr std::int64_t half_life_us_max = 366LL * 24 * 3600 * 1'000'000;  // a leap year
inline constexpr std::int64_t price_thousandths_max = 1'000'000;                 // a thousandfold

class HalfLife {
 public:
  // Refuses what is outside half_life_us_min … half_life_us_max.
  static Result<HalfLife, ShareError> of_us(std::int64_t us);
  std::int64_t us() const { return us_; }

 private:
  explicit HalfLife(std::int64_t us) : us_(us) {}
  std::int64_t us_;
};

// An amount times a price: thousandths of the resource's unit.
struct Charge {
  Unsigned128 thousandths{};
  friend bool operator==(Charge, Charge) = default;
};

// What holding `amount` counts for in a class whose price multiplier is `price_thousandths`.
// Refuses negative numbers, and more than amount_max and price_thousandths_max.
Result<Charge, ShareError> charge_of(std::int64_t amount, std::int64_t price_thousandths);

// A decayed amount in steps of ulp: 2^-47 of a thousandth of the resource's unit.
struct Decayed {
  Unsigned128 ulps{};
  // In the resource's unit, exactly.
  Fraction amount() const;
  friend auto operator<=>(Decayed, Decayed) = default;
};

inline constexpr unsigned decayed_digits = 47;

// One tenant's usage of one resource.
struct Usage {
  std::int64_t since_us{};  // of the last change, on the caller's clock
  Decayed then;             // at that instant
  Charge held;              // since then
  friend bool operator==(const Usage&, const Usage&) = default;
};

// The value at `at_us`, which is not before the last change. Deterministic; changes nothing.
Decayed read(const Usage& usage, HalfLife half_life, std::int64_t at_us);

// More, or less, is held from `at_us` on.
Usage hold(const Usage& usage, HalfLife half_life, std::int64_t at_us, Charge more);
Usage release(const Usage& usage, HalfLife half_life, std::int64_t at_us, Charge less);

// The tenant leaves, its past stays: nothing is held from `at_us` on. What is read afterwards goes
// on falling by half in every half-life. Renaming needs nothing, as usage has no name; moving a
// leaf is release() of what it holds at its old groups and hold() at the new ones, while its own
// usage goes along and groups keep theirs.
Usage retire(const Usage& usage, HalfLife half_life, std::int64_t at_us);

// The usage of two together, as if one tenant had held what both did: for a tenant that is merged
// into another, or re-created while its past is remembered. Off by at most one ulp for each.
Usage merge(const Usage& a, const Usage& b, HalfLife half_life, std::int64_t at_us);

}  // namespace keel::share
