#include "share/spot.h"

#include <algorithm>

namespace keel::share {
namespace {

constexpr Unsigned128 thousand = 1000;
constexpr unsigned fixed_digits = decayed_digits;  // amounts and shares in steps of 2^-47
constexpr unsigned more_digits = 30;               // so that a large weight leaves some
constexpr Unsigned128 bracket_sum_max = Unsigned128{1} << (128 - more_digits - 1);
constexpr Bracket anything{0, ~Unsigned128{0}};

Unsigned128 fixed_of(std::int64_t amount) {
  return static_cast<Unsigned128>(amount) << fixed_digits;
}

// A plain guarantee covers models in proportion, which has no short form.
bool needs_fractions(const Scale& scale, const Spot& spot) {
  return scale.surplus == Surplus::additive && spot.any_gpu > 0;
}

// The share that a fixed amount is, rounded down. Floors may be nested: whole numbers are
// subtracted and divided by.
Unsigned128 share_of(const Scale& scale, const Spot& spot, std::size_t r, Unsigned128 amount) {
  if (scale.surplus == Surplus::additive) {
    amount -= std::min(amount, fixed_of(spot.guaranteed[r]));
  }
  return amount / static_cast<Unsigned128>(scale.resources[r].capacity);
}

Mask asked_by(const Amounts& shape) {
  Mask asked = 0;
  for (std::size_t r = 0; r < shape.size(); ++r) {
    if (shape[r] > 0) asked |= bit(r);
  }
  return asked;
}

// The resources that its dominant share is the largest of.
Mask judged_on(const Scale& scale, const Spot& spot, Mask asked) {
  return spot.is_leaf() ? scale.judged : scale.judged & asked;
}

Bracket bracket_of(const Scale& scale, std::int64_t weight, Unsigned128 held, Unsigned128 used) {
  const auto lambda = static_cast<Unsigned128>(scale.lambda_thousandths);
  // Each share is less than a step too low.
  const Unsigned128 sum = (thousand - lambda) * held + lambda * used;
  const Unsigned128 beyond = sum + thousand;
  const auto divisor = static_cast<Unsigned128>(std::max<std::int64_t>(weight, 1));
  Bracket bracket = anything;
  bracket.low = (std::min(sum, bracket_sum_max) << more_digits) / divisor;
  if (beyond <= bracket_sum_max) bracket.high = (beyond << more_digits) / divisor + 1;
  return bracket;
}

Bracket bracket_after(const Scale& scale, const Spot& spot, const Amounts& shape) {
  const Mask judged = judged_on(scale, spot, asked_by(shape));
  Unsigned128 most = 0;
  Unsigned128 used = 0;
  for (std::size_t r = 0; r < shape.size(); ++r) {
    if ((judged & bit(r)) == 0) continue;
    const Unsigned128 held = fixed_of(spot.account.held[r]);
    Unsigned128 after = held + fixed_of(shape[r]);
    if (!spot.fair.empty()) after = std::max(held, std::min(after, spot.fair_fixed[r]));
    if (after > 0) most = std::max(most, share_of(scale, spot, r, after));
    used = std::max(used, spot.used[r]);
  }
  return bracket_of(scale, spot.weight, most, used);
}

// Held after the start over the guarantee, the largest of what the job asks for; none where the
// job does not keep within it.
std::optional<Fraction> ratio_without_gpus(const Spot& spot, const Amounts& shape) {
  std::optional<Fraction> ratio;
  for (std::size_t r = 0; r < shape.size(); ++r) {
    if (shape[r] == 0 || spot.guaranteed[r] == 0) continue;
    const std::int64_t after = spot.account.held[r] + shape[r];
    if (after > spot.guaranteed[r]) return std::nullopt;
    const Fraction part(after, spot.guaranteed[r]);
    if (!ratio || *ratio < part) ratio = part;
  }
  return ratio;
}

// Over all models together: what exceeds a guarantee by model is covered by the plain number.
std::optional<Fraction> plain_ratio(const Scale& scale, const Spot& spot, const Amounts& shape) {
  Fraction beyond;
  Fraction held;
  Fraction promised = spot.any_gpu;
  for (std::size_t r = 0; r < shape.size(); ++r) {
    if ((scale.gpus & bit(r)) == 0) continue;
    const std::int64_t after = spot.account.held[r] + shape[r];
    beyond += std::max<std::int64_t>(0, after - spot.guaranteed[r]);
    held += after;
    promised += spot.guaranteed[r];
  }
  if (beyond > Fraction(spot.any_gpu)) return std::nullopt;
  return held / promised;
}

std::optional<Fraction> ratio_within(const Scale& scale, const Spot& spot, const Amounts& shape) {
  if ((asked_by(shape) & scale.gpus) == 0) return ratio_without_gpus(spot, shape);
  Fraction ratio;
  bool covered_by_plain = false;
  for (std::size_t r = 0; r < shape.size(); ++r) {
    if (shape[r] == 0 || (scale.gpus & bit(r)) == 0) continue;
    const std::int64_t after = spot.account.held[r] + shape[r];
    if (after > spot.guaranteed[r]) {
      if (spot.any_gpu == 0) return std::nullopt;
      covered_by_plain = true;
    } else {
      ratio = std::max(ratio, Fraction(after, spot.guaranteed[r]));
    }
  }
  if (!covered_by_plain) return ratio;
  const auto plain = plain_ratio(scale, spot, shape);
  if (!plain) return std::nullopt;
  return std::max(ratio, *plain);
}

enum class Instant { now, after, usage };

// What counts of each resource, exactly.
Vector counted_amounts(const Scale& scale, const Spot& spot, const Amounts& shape, Instant when) {
  Vector amounts;
  for (std::size_t r = 0; r < scale.resources.size(); ++r) {
    const Fraction held = spot.account.held[r];
    if (when == Instant::usage) {
      amounts.push_back(spot.frozen[r].ulps == 0 ? Fraction() : spot.frozen[r].amount());
    } else if (when == Instant::now) {
      amounts.push_back(held);
    } else {
      const Fraction started = held + Fraction(shape[r]);
      amounts.push_back(spot.fair.empty() ? started
                                          : std::max(held, std::min(started, spot.fair[r])));
    }
  }
  if (scale.surplus == Surplus::floor) return amounts;
  Fraction beyond;
  for (std::size_t r = 0; r < amounts.size(); ++r) {
    amounts[r] = std::max(Fraction(), amounts[r] - Fraction(spot.guaranteed[r]));
    if ((scale.gpus & bit(r)) != 0) beyond += amounts[r];
  }
  if (spot.any_gpu == 0 || beyond.is_zero()) return amounts;
  const Fraction part = std::max(Fraction(), Fraction(1) - Fraction(spot.any_gpu) / beyond);
  for (std::size_t r = 0; r < amounts.size(); ++r) {
    if ((scale.gpus & bit(r)) != 0) amounts[r] = amounts[r] * part;
  }
  return amounts;
}

Fraction dominant_share(const Scale& scale, Mask judged, const Vector& amounts) {
  Fraction most;
  for (std::size_t r = 0; r < amounts.size(); ++r) {
    if ((judged & bit(r)) == 0 || amounts[r].is_zero()) continue;
    most = std::max(most, amounts[r] / Fraction(scale.resources[r].capacity));
  }
  return most;
}

Fraction mixed(const Scale& scale, const Spot& spot, const Fraction& held, const Fraction& used) {
  const Fraction lambda(scale.lambda_thousandths, 1000);
  return ((Fraction(1) - lambda) * held + lambda * used) /
         Fraction(std::max<std::int64_t>(spot.weight, 1));
}

const Fraction& exact_s(const Scale& scale, const Offer& offer, Instant when) {
  const Spot& spot = offer.spot;
  auto& known = when == Instant::now ? spot.key.exact_before : spot.key.exact_after;
  if (!known) {
    const Amounts& shape = offer.head.shape;
    const Mask judged = judged_on(scale, spot, asked_by(shape));
    const auto share = [&](Instant of) {
      return dominant_share(scale, judged, counted_amounts(scale, spot, shape, of));
    };
    const Fraction used = scale.lambda_thousandths == 0 ? Fraction() : share(Instant::usage);
    known = mixed(scale, spot, share(when), used);
  }
  return *known;
}

std::strong_ordering compare_s(const Scale& scale, const Offer& a, const Offer& b, Instant when,
                               Effort& effort) {
  ++effort.exact;
  const Fraction& left = exact_s(scale, a, when);
  const Fraction& right = exact_s(scale, b, when);
  if (left == right) return std::strong_ordering::equal;  // far cheaper than to order long ones
  return left <=> right;
}

}  // namespace

void measure_usage(const Scale& scale, Spot& spot) {
  spot.used.assign(scale.resources.size(), 0);
  for (std::size_t r = 0; r < scale.resources.size(); ++r) {
    if ((scale.judged & bit(r)) == 0 || spot.frozen[r].ulps == 0) continue;
    spot.used[r] = share_of(scale, spot, r, spot.frozen[r].ulps / thousand);
  }
}

SelectionKey key_of(const Scale& scale, const Spot& spot, const Amounts& shape) {
  SelectionKey key{
      .within = false, .ratio = {}, .after = anything, .exact_after = {}, .exact_before = {}};
  if (auto ratio = ratio_within(scale, spot, shape)) {
    key.within = true;
    key.ratio = *std::move(ratio);
  }
  if (!needs_fractions(scale, spot)) key.after = bracket_after(scale, spot, shape);
  return key;
}

bool precedes(const Scale& scale, const Offer& a, const Offer& b, Effort& effort) {
  ++effort.comparisons;
  const SelectionKey& x = a.spot.key;
  const SelectionKey& y = b.spot.key;
  if (x.within != y.within) return x.within;
  if (x.within && x.ratio != y.ratio) return x.ratio < y.ratio;
  const bool last = a.spot.weight == 0;
  if (last != (b.spot.weight == 0)) return !last;
  if (x.after.high <= y.after.low) return true;
  if (y.after.high <= x.after.low) return false;
  for (const Instant when : {Instant::after, Instant::now}) {
    const auto order = compare_s(scale, a, b, when, effort);
    if (order != 0) return order < 0;
  }
  if (a.head.waiting_since != b.head.waiting_since) {
    return a.head.waiting_since < b.head.waiting_since;
  }
  return a.spot.id < b.spot.id;
}

Standing standing_of(const Scale& scale, const Spot& spot, const Amounts* shape) {
  const Amounts nothing(scale.resources.size());
  const Amounts& asked = shape ? *shape : nothing;
  const Mask judged = shape ? judged_on(scale, spot, asked_by(asked)) : scale.judged;
  const Vector now = counted_amounts(scale, spot, asked, Instant::now);
  const Vector after = shape ? counted_amounts(scale, spot, asked, Instant::after) : now;
  const Vector usage = counted_amounts(scale, spot, asked, Instant::usage);
  Standing standing{.last = spot.weight == 0};
  if (shape) {
    if (const auto ratio = ratio_within(scale, spot, asked)) {
      standing.within = true;
      standing.ratio = *ratio;
    }
  }
  const Fraction used = dominant_share(scale, judged, usage);
  standing.before = mixed(scale, spot, dominant_share(scale, judged, now), used);
  standing.after = mixed(scale, spot, dominant_share(scale, judged, after), used);
  for (std::size_t r = 0; r < now.size(); ++r) {
    standing.counted.push_back(
        {.judged = (judged & bit(r)) != 0, .now = now[r], .after = after[r], .usage = usage[r]});
  }
  return standing;
}

}  // namespace keel::share
