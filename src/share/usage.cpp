#include "share/usage.h"

#include "base/check.h"

namespace keel::share {
namespace {

// 80 bits for charges: amount_max times price_thousandths_max.
constexpr Unsigned128 charge_max = Unsigned128{amount_max} * price_thousandths_max;

Usage changed(const Usage& usage, HalfLife half_life, std::int64_t at_us, Charge held) {
  check(held.thousandths <= charge_max, "what is held fits in the largest fleet");
  return {.since_us = at_us, .then = read(usage, half_life, at_us), .held = held};
}

}  // namespace

Result<HalfLife, ShareError> HalfLife::of_us(std::int64_t us) {
  if (us > half_life_us_max) return outside(std::nullopt, "half_life_us", us, half_life_us_max);
  if (us < half_life_us_min) {
    return ShareError{.code = ShareError::Code::below_limit,
                      .node = std::nullopt,
                      .field = "half_life_us",
                      .value = us,
                      .limit = half_life_us_min};
  }
  return HalfLife(us);
}

Result<Charge, ShareError> charge_of(std::int64_t amount, std::int64_t price_thousandths) {
  if (amount < 0 || amount > amount_max) return outside(std::nullopt, "amount", amount, amount_max);
  if (price_thousandths < 0 || price_thousandths > price_thousandths_max) {
    return outside(std::nullopt, "price_thousandths", price_thousandths, price_thousandths_max);
  }
  return Charge{static_cast<Unsigned128>(amount) * static_cast<Unsigned128>(price_thousandths)};
}

Fraction Decayed::amount() const {
  constexpr std::int64_t half = std::int64_t{1} << 32U;
  Fraction sum;
  for (int part = 3; part >= 0; --part) {
    const auto digits = static_cast<std::uint32_t>(ulps >> (32U * static_cast<unsigned>(part)));
    sum = sum * Fraction(half) + Fraction(std::int64_t{digits});
  }
  return sum / Fraction(std::int64_t{1} << decayed_digits) / Fraction(1000);
}

Decayed read(const Usage& usage, HalfLife half_life, std::int64_t at_us) {
  check(at_us >= usage.since_us, "usage is read forwards in time");
  const auto gap = static_cast<std::uint64_t>(at_us) - static_cast<std::uint64_t>(usage.since_us);
  const auto whole = static_cast<std::uint64_t>(half_life.us());
  const Unsigned128 target = usage.held.thousandths << decayed_digits;
  const std::uint64_t halvings = gap / whole;
  if (gap == 0) return usage.then;
  if (halvings >= 127) return {target};  // less than an ulp is left of anything
  const Unsigned128 factor = power_of_half(static_cast<std::int64_t>(gap % whole), half_life.us());
  const unsigned shift = 127U + static_cast<unsigned>(halvings);
  const Unsigned128 from = usage.then.ulps;
  if (from >= target) return {target + scaled_product(from - target, factor, shift)};
  return {target - scaled_product(target - from, factor, shift)};
}

Usage hold(const Usage& usage, HalfLife half_life, std::int64_t at_us, Charge more) {
  return changed(usage, half_life, at_us, {usage.held.thousandths + more.thousandths});
}

Usage release(const Usage& usage, HalfLife half_life, std::int64_t at_us, Charge less) {
  check(less.thousandths <= usage.held.thousandths, "only what is held is released");
  return changed(usage, half_life, at_us, {usage.held.thousandths - less.thousandths});
}

Usage retire(const Usage& usage, HalfLife half_life, std::int64_t at_us) {
  return changed(usage, half_life, at_us, {});
}

Usage merge(const Usage& a, const Usage& b, HalfLife half_life, std::int64_t at_us) {
  Usage sum = changed(a, half_life, at_us, {a.held.thousandths + b.held.thousandths});
  sum.then.ulps += read(b, half_life, at_us).ulps;
  check(sum.then.ulps <= charge_max << decayed_digits, "usage of both fits in the largest fleet");
  return sum;
}

}  // namespace keel::share
