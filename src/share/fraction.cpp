#include "share/fraction.h"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <limits>
#include <optional>

#include "base/check.h"

namespace keel::share {

using boost::multiprecision::cpp_int;
__extension__ using Int128 = __int128;
__extension__ using Unsigned128 = unsigned __int128;

// Numerator and denominator in lowest terms, the denominator above 0.
struct Fraction::Wide {
  cpp_int numerator;
  cpp_int denominator;
};

// What the operators need of both forms.
struct FractionParts {
  using Wide = Fraction::Wide;

  static bool both_small(const Fraction& a, const Fraction& b) { return !a.wide_ && !b.wide_; }
  static bool small(const Fraction& a) { return !a.wide_; }
  static std::int64_t numerator(const Fraction& a) { return a.numerator_; }
  static std::int64_t denominator(const Fraction& a) { return a.denominator_; }

  static Wide widened(const Fraction& a) {
    if (a.wide_) return *a.wide_;
    return {a.numerator_, a.denominator_};
  }

  static Fraction of_small(std::int64_t numerator, std::int64_t denominator) {
    Fraction result;
    result.numerator_ = numerator;
    result.denominator_ = denominator;
    return result;
  }

  // In lowest terms already.
  static Fraction of_reduced(cpp_int numerator, cpp_int denominator) {
    constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
    if (denominator <= last && numerator <= last && numerator >= -last) {
      return of_small(static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator));
    }
    Fraction result;
    result.wide_ = std::make_shared<const Wide>(Wide{std::move(numerator), std::move(denominator)});
    return result;
  }
};

namespace {

using Parts = FractionParts;
constexpr std::int64_t small_max = std::numeric_limits<std::int64_t>::max();

std::uint64_t magnitude(std::int64_t a) {
  return a < 0 ? 0 - static_cast<std::uint64_t>(a) : static_cast<std::uint64_t>(a);
}

// Stein's binary algorithm; common_divisor(0, b) is b.
std::uint64_t common_divisor(std::uint64_t a, std::uint64_t b) {
  if (a == 0 || b == 0) return a | b;
  const int twos = std::min(__builtin_ctzll(a), __builtin_ctzll(b));
  a >>= __builtin_ctzll(a);
  while (b != 0) {
    b >>= __builtin_ctzll(b);
    if (a > b) std::swap(a, b);
    b -= a;
  }
  return a << twos;
}

// Of a number and one above 0; most of the time goes into this, so small ones are looked for.
cpp_int common_divisor(const cpp_int& a, const cpp_int& b) {
  constexpr std::uint64_t small = std::numeric_limits<std::uint64_t>::max();
  if (b <= small) {
    const auto divisor = static_cast<std::uint64_t>(b);
    if (divisor == 1) return 1;
    const cpp_int rest = abs(a) % divisor;
    return common_divisor(static_cast<std::uint64_t>(rest), divisor);
  }
  const cpp_int positive = abs(a);
  if (positive > 0 && positive <= small) return common_divisor(b, positive);
  return gcd(positive, b);
}

// Knuth 4.5.1 again: the divisors of the parts are smaller than those of the result.
Fraction wide_sum(const Parts::Wide& a, const Parts::Wide& b) {
  const cpp_int divisor = common_divisor(a.denominator, b.denominator);
  if (divisor == 1) {
    return Parts::of_reduced(a.numerator * b.denominator + b.numerator * a.denominator,
                             a.denominator * b.denominator);
  }
  const cpp_int x = a.denominator / divisor;
  cpp_int sum = a.numerator * (b.denominator / divisor) + b.numerator * x;
  if (sum == 0) return {};
  const cpp_int second = common_divisor(sum, divisor);
  if (second == 1) return Parts::of_reduced(std::move(sum), x * b.denominator);
  return Parts::of_reduced(sum / second, x * (b.denominator / second));
}

Fraction wide_product(const Parts::Wide& a, const Parts::Wide& b) {
  if (a.numerator == 0 || b.numerator == 0) return {};
  const cpp_int across = common_divisor(a.numerator, b.denominator);
  const cpp_int back = common_divisor(b.numerator, a.denominator);
  return Parts::of_reduced((a.numerator / across) * (b.numerator / back),
                           (a.denominator / back) * (b.denominator / across));
}

Parts::Wide inverse(const Parts::Wide& a) {
  if (a.numerator > 0) return {a.denominator, a.numerator};
  return {-a.denominator, -a.numerator};
}

cpp_int wide_from(Int128 value) {
  const bool negative = value < 0;
  const Unsigned128 rest =
      negative ? 0 - static_cast<Unsigned128>(value) : static_cast<Unsigned128>(value);
  cpp_int result = static_cast<std::uint64_t>(rest >> 64U);
  result <<= 64;
  result += static_cast<std::uint64_t>(rest);
  if (negative) result = -result;
  return result;
}

// In lowest terms already, the denominator above 0.
Fraction from_reduced(Int128 numerator, Int128 denominator) {
  if (numerator <= small_max && numerator >= -small_max && denominator <= small_max) {
    return Parts::of_small(static_cast<std::int64_t>(numerator),
                           static_cast<std::int64_t>(denominator));
  }
  return Parts::of_reduced(wide_from(numerator), wide_from(denominator));
}

// Knuth, The Art of Computer Programming 2, 4.5.1: divisors stay within 64 bits.
Fraction small_sum(const Fraction& a, const Fraction& b, std::int64_t sign_of_b) {
  const std::int64_t x = Parts::denominator(a);
  const std::int64_t y = Parts::denominator(b);
  const Int128 n = Parts::numerator(a);
  const Int128 m = Int128{Parts::numerator(b)} * sign_of_b;
  if (x == y && x == 1) return from_reduced(n + m, 1);
  const auto divisor = static_cast<std::int64_t>(
      common_divisor(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y)));
  const Int128 sum = n * (y / divisor) + m * (x / divisor);
  if (divisor == 1) return from_reduced(sum, Int128{x} * y);
  const auto rest = static_cast<std::int64_t>(sum % divisor);
  const auto second = static_cast<std::int64_t>(
      common_divisor(magnitude(rest), static_cast<std::uint64_t>(divisor)));
  return from_reduced(sum / second, Int128{x / divisor} * (y / second));
}

Fraction small_product(std::int64_t n, std::int64_t x, std::int64_t m, std::int64_t y) {
  if (n == 0 || m == 0) return {};
  const auto across =
      static_cast<std::int64_t>(common_divisor(magnitude(n), static_cast<std::uint64_t>(y)));
  const auto back =
      static_cast<std::int64_t>(common_divisor(magnitude(m), static_cast<std::uint64_t>(x)));
  return from_reduced(Int128{n / across} * (m / back), Int128{x / back} * (y / across));
}

}  // namespace

Fraction::Fraction(std::int64_t whole) : numerator_(whole) {
  check(whole >= -small_max, "the lowest of 64 bits has no opposite");
}

Fraction::Fraction(std::int64_t numerator, std::int64_t denominator) {
  check(denominator != 0, "no fraction has the denominator 0");
  *this = Fraction(numerator) / Fraction(denominator);
}

Fraction operator+(const Fraction& a, const Fraction& b) {
  if (Parts::both_small(a, b)) return small_sum(a, b, 1);
  return wide_sum(Parts::widened(a), Parts::widened(b));
}

Fraction operator-(const Fraction& a, const Fraction& b) {
  if (Parts::both_small(a, b)) return small_sum(a, b, -1);
  Parts::Wide opposite = Parts::widened(b);
  opposite.numerator = -opposite.numerator;
  return wide_sum(Parts::widened(a), opposite);
}

Fraction operator*(const Fraction& a, const Fraction& b) {
  if (Parts::both_small(a, b)) {
    return small_product(Parts::numerator(a), Parts::denominator(a), Parts::numerator(b),
                         Parts::denominator(b));
  }
  return wide_product(Parts::widened(a), Parts::widened(b));
}

Fraction operator/(const Fraction& a, const Fraction& b) {
  check(!b.is_zero(), "nothing is divided by 0");
  if (Parts::both_small(a, b)) {
    const std::int64_t sign = Parts::numerator(b) < 0 ? -1 : 1;
    return small_product(Parts::numerator(a), Parts::denominator(a), Parts::denominator(b) * sign,
                         Parts::numerator(b) * sign);
  }
  return wide_product(Parts::widened(a), inverse(Parts::widened(b)));
}

bool operator==(const Fraction& a, const Fraction& b) {
  if (Parts::both_small(a, b)) {
    return Parts::numerator(a) == Parts::numerator(b) &&
           Parts::denominator(a) == Parts::denominator(b);
  }
  // One value has one form: what fits in place is never wide.
  if (Parts::small(a) || Parts::small(b)) return false;
  return a.wide_->numerator == b.wide_->numerator && a.wide_->denominator == b.wide_->denominator;
}

std::strong_ordering operator<=>(const Fraction& a, const Fraction& b) {
  if (Parts::both_small(a, b)) {
    const Int128 left = Int128{Parts::numerator(a)} * Parts::denominator(b);
    const Int128 right = Int128{Parts::numerator(b)} * Parts::denominator(a);
    return left <=> right;
  }
  const Parts::Wide x = Parts::widened(a);
  const Parts::Wide y = Parts::widened(b);
  const cpp_int left = x.numerator * y.denominator;
  const int order = left.compare(y.numerator * x.denominator);
  return order <=> 0;
}

int Fraction::sign() const {
  if (wide_) return wide_->numerator.sign();
  return numerator_ == 0 ? 0 : (numerator_ < 0 ? -1 : 1);
}

std::int64_t Fraction::floor() const {
  const Parts::Wide parts = Parts::widened(*this);
  cpp_int quotient = parts.numerator / parts.denominator;
  if (parts.numerator < 0 && quotient * parts.denominator != parts.numerator) quotient -= 1;
  check(quotient <= small_max && quotient >= -small_max, "a share fits in 63 bits");
  return static_cast<std::int64_t>(quotient);
}

std::int64_t Fraction::thousandths() const { return (*this * Fraction(1000)).floor(); }

std::uint32_t Fraction::bits() const {
  const auto of = [](const cpp_int& number) {
    return number == 0 ? 0 : static_cast<std::uint32_t>(msb(abs(number))) + 1;
  };
  const Parts::Wide parts = Parts::widened(*this);
  return std::max(of(parts.numerator), of(parts.denominator));
}

std::string Fraction::text() const {
  const Parts::Wide parts = Parts::widened(*this);
  const std::string whole = parts.numerator.str();
  return parts.denominator == 1 ? whole : whole + "/" + parts.denominator.str();
}

}  // namespace keel::share
