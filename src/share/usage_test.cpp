#include "share/usage.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/cpp_int.hpp>
#include <vector>

#include "base/random.h"

namespace keel::share {
namespace {

using Exact = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<100>,
                                            boost::multiprecision::et_off>;

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t day = 24 * 3600 * second;

HalfLife half_life(std::int64_t us) { return *HalfLife::of_us(us); }
Charge gpus(std::int64_t amount) { return *charge_of(amount, 1000); }

Exact exact(Unsigned128 number) {
  return Exact(static_cast<std::uint64_t>(number >> 64U)) * pow(Exact(2), 64) +
         Exact(static_cast<std::uint64_t>(number));
}

TEST(Usage, halves_in_a_half_life_and_halves_again) {
  const HalfLife a_day = half_life(day);
  Usage usage = hold({}, a_day, 0, gpus(8));
  EXPECT_EQ(read(usage, a_day, day).amount(), Fraction(4));
  EXPECT_EQ(read(usage, a_day, 3 * day).amount(), Fraction(7));
  usage = release(usage, a_day, 3 * day, gpus(8));
  EXPECT_EQ(read(usage, a_day, 4 * day).amount(), Fraction(7, 2));
  EXPECT_EQ(read(usage, a_day, 5 * day).amount(), Fraction(7, 4));
}

TEST(Usage, a_class_pays_its_price) {
  const HalfLife a_day = half_life(day);
  const Usage dear = hold({}, a_day, 0, *charge_of(8, 2500));
  EXPECT_EQ(read(dear, a_day, day).amount(), Fraction(10));
  const Usage mixed = hold(dear, a_day, 0, *charge_of(3, 1));
  EXPECT_EQ(read(mixed, a_day, day).amount(), Fraction(20003, 2000));
}

// amount, price; the field and limit of what is refused, empty where it is taken.
struct UsageRow {
  std::int64_t amount, price;
  const char* refused;
  std::int64_t limit;
};
const UsageRow usage_rows[] = {
    {0, 0, "", 0},
    {amount_max, price_thousandths_max, "", 0},
    {-1, 1000, "amount", 0},
    {amount_max + 1, 1000, "amount", amount_max},
    {1, -1, "price_thousandths", 0},
    {1, INT64_MAX, "price_thousandths", price_thousandths_max},
};

TEST(Usage, what_is_outside_the_limits_is_refused_by_name) {
  for (const UsageRow& row : usage_rows) {
    SCOPED_TRACE(testing::Message() << row.amount << " x " << row.price);
    const auto charge = charge_of(row.amount, row.price);
    EXPECT_EQ(charge.has_value(), std::string(row.refused).empty());
    if (charge) continue;
    EXPECT_EQ(charge.error().field, row.refused);
    EXPECT_EQ(charge.error().limit, row.limit);
  }
  for (const std::int64_t us : {std::int64_t{-1}, second - 1, half_life_us_max + 1}) {
    EXPECT_EQ(HalfLife::of_us(us).error().field, "half_life_us") << us;
  }
  EXPECT_EQ(describe(HalfLife::of_us(0).error()), "half_life_us is 0; it must be at least 1000000");
}

TEST(Power, is_off_by_no_more_than_it_says) {
  Random random(7);
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t whole = random.between(1, 1LL << random.between(1, 60));
    const std::int64_t part = random.between(0, whole - 1);
    SCOPED_TRACE(testing::Message() << part << "/" << whole);
    const Exact true_value = pow(Exact(2), Exact(127) - Exact(part) / Exact(whole));
    EXPECT_LE(abs(exact(power_of_half(part, whole)) - true_value), exact(power_error_max));
  }
  EXPECT_EQ(power_of_half(0, 5), power_one);
}

TEST(Power, products_are_those_of_long_numbers) {
  using boost::multiprecision::cpp_int;
  Random random(8);
  const auto draw = [&] {
    return (Unsigned128{random.next()} << 64U | random.next()) >> random.between(1, 127);
  };
  const auto wide = [](Unsigned128 x) {
    return cpp_int((cpp_int(static_cast<std::uint64_t>(x >> 64U)) << 64) +
                   cpp_int(static_cast<std::uint64_t>(x)));
  };
  for (int i = 0; i < 20'000; ++i) {
    const Unsigned128 a = draw();
    const Unsigned128 b = draw();
    const auto shift = static_cast<unsigned>(random.between(127, 255));
    EXPECT_EQ(wide(scaled_product(a, b, shift)), cpp_int((wide(a) * wide(b)) >> shift));
  }
}

// What is held from when on.
struct Change {
  std::int64_t at_us{};
  std::int64_t held{};
};

// The curve by its closed form.
Exact closed_form(const std::vector<Change>& changes, std::int64_t half_us, std::int64_t at_us) {
  Exact value = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const std::int64_t end = i + 1 < changes.size() ? changes[i + 1].at_us : at_us;
    const Exact held = changes[i].held;
    const Exact halvings = Exact(end - changes[i].at_us) / Exact(half_us);
    value = held + (value - held) * pow(Exact(2), -halvings);
  }
  return value;
}

Usage play(const std::vector<Change>& changes, HalfLife half) {
  Usage usage;
  std::int64_t held = 0;
  for (const Change& change : changes) {
    if (change.held >= held) {
      usage = hold(usage, half, change.at_us, gpus(change.held - held));
    } else {
      usage = release(usage, half, change.at_us, gpus(held - change.held));
    }
    held = change.held;
  }
  return usage;
}

// Off by one ulp for every change, and 2^-121 of the most that was held.
void expect_near(Decayed got, const Exact& expected, std::size_t changes, std::int64_t most) {
  const Exact scale = pow(Exact(2), int{decayed_digits}) * 1000;
  const Exact each = 1 + Exact(most) * scale * pow(Exact(2), -121);
  EXPECT_LE(abs(exact(got.ulps) - expected * scale), each * Exact(changes + 1));
}

TEST(Usage, stays_within_its_bound_of_the_closed_form) {
  // Gaps from a microsecond to a hundred years, half-lives from a second to a year.
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed=" << seed);
    Random random(seed);
    const auto gap = [&] { return random.between(1, 1LL << random.between(0, 51)); };
    const std::int64_t half_us =
        random.one_in(4) ? (random.one_in(2) ? half_life_us_min : half_life_us_max)
                         : random.between(half_life_us_min, 1LL << random.between(20, 44));
    const std::int64_t most = random.one_in(2) ? 1'000'000 : amount_max;
    std::vector<Change> changes;
    for (std::int64_t at = 0; changes.size() < 12; at += gap()) {
      changes.push_back({at, random.between(0, most)});
    }
    const std::int64_t end = changes.back().at_us + gap();
    const Usage usage = play(changes, half_life(half_us));
    expect_near(read(usage, half_life(half_us), end), closed_form(changes, half_us, end),
                changes.size(), most);
  }
}

TEST(Usage, reading_changes_nothing_and_stepping_in_pieces_costs_an_ulp_a_piece) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed=" << seed);
    Random random(seed);
    const HalfLife half = half_life(random.between(second, 30 * day));
    const Usage start = hold(play({{0, 900}}, half), half, 5 * day, gpus(random.between(0, 9)));
    Usage pieces = start;
    const std::int64_t count = random.between(1, 40);
    std::int64_t at = start.since_us;
    for (std::int64_t i = 0; i < count; ++i) {
      at += random.between(1, day);
      const Usage before = pieces;
      const Decayed seen = read(pieces, half, at);
      EXPECT_EQ(pieces, before);
      pieces = hold(pieces, half, at, {});
      EXPECT_EQ(pieces.then, seen);
    }
    const Unsigned128 one = read(start, half, at).ulps;
    const Unsigned128 many = pieces.then.ulps;
    EXPECT_LE(one > many ? one - many : many - one, static_cast<Unsigned128>(count + 1));
  }
}

TEST(Usage, ends_at_what_is_held_and_never_beyond) {
  const HalfLife half = half_life(second);
  const Usage usage = hold(play({{0, 1000}}, half), half, day, {});
  const Usage less = release(usage, half, day, gpus(400));
  Decayed before = less.then;
  for (std::int64_t at = day; at < day + 200 * second; at += second / 3) {
    const Decayed now = read(less, half, at);
    EXPECT_LE(now, before);
    EXPECT_GE(now.amount(), Fraction(600));
    before = now;
  }
  EXPECT_EQ(read(less, half, day + 200 * second).amount(), Fraction(600));
  EXPECT_EQ(read(less, half, INT64_MAX).amount(), Fraction(600));
}

TEST(Usage, a_group_keeps_the_usage_of_a_leaf_that_leaves) {
  const HalfLife a_day = half_life(day);
  Usage leaf = hold({}, a_day, 0, gpus(8));
  Usage old_group = hold({}, a_day, 0, gpus(8));
  Usage new_group = hold({}, a_day, 0, gpus(1));
  old_group = release(old_group, a_day, day, gpus(8));
  new_group = hold(new_group, a_day, day, gpus(8));
  EXPECT_EQ(read(old_group, a_day, day).amount(), Fraction(4)) << "nothing is forgotten";
  EXPECT_EQ(read(leaf, a_day, day).amount(), Fraction(4)) << "the leaf takes its own along";
  EXPECT_EQ(read(new_group, a_day, 2 * day).amount(), Fraction(19, 4));
  leaf = retire(leaf, a_day, 2 * day);
  EXPECT_EQ(read(leaf, a_day, 3 * day).amount(), Fraction(3));
}

TEST(Usage, one_who_is_created_again_does_not_start_at_nothing) {
  const HalfLife a_day = half_life(day);
  const Usage gone = retire(hold({}, a_day, 0, gpus(8)), a_day, day);
  const Usage again = hold({}, a_day, 2 * day, gpus(2));
  const Usage both = merge(again, gone, a_day, 3 * day);
  EXPECT_EQ(both.held, gpus(2));
  EXPECT_EQ(read(both, a_day, 3 * day).amount(), Fraction(2));
  // Merged or apart, what is read later is the same.
  EXPECT_EQ(read(both, a_day, 4 * day).amount(),
            read(again, a_day, 4 * day).amount() + read(gone, a_day, 4 * day).amount());
}

}  // namespace
}  // namespace keel::share
