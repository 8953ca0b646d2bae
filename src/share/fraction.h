// A rational number that never rounds and never wraps. Shares, levels and breakpoints are kept in
// it, so that "equal" means equal on every machine and no comparison needs a tolerance.
//
// Small ones (numerator and denominator within 63 bits) live in place and cost some nanoseconds;
// larger ones move to the heap and have as many bits as they need. Always in lowest terms.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>

namespace keel::share {

class Fraction {
 public:
  Fraction() = default;
  Fraction(std::int64_t whole);  // NOLINT(google-explicit-constructor): integers are fractions
  Fraction(std::int64_t numerator, std::int64_t denominator);  // the denominator is not 0

  friend Fraction operator+(const Fraction& a, const Fraction& b);
  friend Fraction operator-(const Fraction& a, const Fraction& b);
  friend Fraction operator*(const Fraction& a, const Fraction& b);
  friend Fraction operator/(const Fraction& a, const Fraction& b);  // b is not 0
  Fraction& operator+=(const Fraction& b) { return *this = *this + b; }
  Fraction& operator-=(const Fraction& b) { return *this = *this - b; }

  friend bool operator==(const Fraction& a, const Fraction& b);
  friend std::strong_ordering operator<=>(const Fraction& a, const Fraction& b);

  int sign() const;
  bool is_zero() const { return sign() == 0; }
  // The next whole number below or at it. It must fit in 63 bits: shares of an amount do.
  std::int64_t floor() const;
  // Thousandths, rounded down; for people.
  std::int64_t thousandths() const;
  // Of the larger of numerator and denominator.
  std::uint32_t bits() const;
  // "21/2", "7".
  std::string text() const;

 private:
  struct Wide;  // what does not fit in place
  friend struct FractionParts;

  std::int64_t numerator_ = 0;
  std::int64_t denominator_ = 1;
  std::shared_ptr<const Wide> wide_;  // where set, the two above mean nothing
};

}  // namespace keel::share
