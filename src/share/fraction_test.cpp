#include "share/fraction.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "share/plain_fraction.h"

namespace keel::share {
namespace {

TEST(Fraction, is_kept_in_lowest_terms) {
  EXPECT_EQ(Fraction(6, 4).text(), "3/2");
  EXPECT_EQ(Fraction(6, -4).text(), "-3/2");
  EXPECT_EQ(Fraction(0, 9).text(), "0");
  EXPECT_EQ((Fraction(1, 6) + Fraction(1, 3)).text(), "1/2");
  EXPECT_EQ(Fraction(7, 2).floor(), 3);
  EXPECT_EQ(Fraction(-7, 2).floor(), -4);
  EXPECT_EQ(Fraction(2, 3).thousandths(), 666);
}

TEST(Fraction, grows_instead_of_wrapping_and_shrinks_again) {
  const Fraction large(INT64_MAX, 3);
  const Fraction square = large * large;
  EXPECT_EQ(square.text(), "85070591730234615847396907784232501249/9");
  EXPECT_GT(square.bits(), 120u);
  EXPECT_EQ(square / large, large);
  EXPECT_EQ((square - square + Fraction(1)).text(), "1");
  EXPECT_LT(large, square);
  EXPECT_GT(Fraction(0) - large, Fraction(0) - square);
}

// A number of any size, by both.
struct Pair {
  Fraction ours;
  PlainFraction reference;
};

Pair draw_pair(Random& random) {
  const auto any = [&] {
    return static_cast<std::int64_t>(random.next()) >> random.between(1, 62);
  };
  const std::int64_t numerator = any();
  const std::int64_t denominator = any() | 1;
  return {Fraction(numerator, denominator), PlainFraction(numerator) / PlainFraction(denominator)};
}

TEST(Fraction, computes_as_long_rationals_do) {
  Random random(3);
  for (int i = 0; i < 3000; ++i) {
    Pair a = draw_pair(random);
    for (int step = 0; step < 6; ++step) {
      const Pair b = draw_pair(random);
      const std::int64_t kind = random.between(0, 3);
      if (kind == 0) a = {a.ours + b.ours, a.reference + b.reference};
      if (kind == 1) a = {a.ours - b.ours, a.reference - b.reference};
      if (kind == 2) a = {a.ours * b.ours, a.reference * b.reference};
      if (kind == 3 && !b.ours.is_zero()) a = {a.ours / b.ours, a.reference / b.reference};
      ASSERT_EQ(a.ours.text(), a.reference.str()) << "round " << i;
      ASSERT_EQ(a.ours < b.ours, a.reference < b.reference) << "round " << i;
      ASSERT_EQ(a.ours == b.ours, a.reference == b.reference) << "round " << i;
      ASSERT_EQ(a.ours.sign(), a.reference.sign()) << "round " << i;
    }
  }
}

}  // namespace
}  // namespace keel::share
