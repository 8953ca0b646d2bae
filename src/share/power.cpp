// x = part / whole is cut to 127 binary digits. The first 16 choose factors 2^-(1/2), 2^-(1/4), …
// from a table; of the rest, which is below 2^-16, ten terms of e^(-x ln 2) are exact to 2^-127.
// Each of the 16 products and the series lose less than 2^-126.
#include "share/power.h"

#include <array>

#include "base/check.h"

namespace keel::share {
namespace {

struct Halves {
  std::uint64_t high{};
  std::uint64_t low{};
  constexpr Unsigned128 value() const { return Unsigned128{high} << 64U | low; }
};

// 2^-(2^-i) for i = 1, 2, …, to the nearest; the square of each is the one before.
constexpr std::array<Halves, 16> roots{{
    {0x5a827999fcef3242U, 0x2cbec4d9baa55f50U},
    {0x6ba27e656b4eb57aU, 0x1cd345dcc8169fefU},
    {0x75606373ee921c97U, 0x6816bad9b8372a7dU},
    {0x7a92be8a92436616U, 0x3dce863d76cc07e2U},
    {0x7d41d96db915019dU, 0x3e12dd8a18aebfe6U},
    {0x7e9f06067a4360baU, 0x429f9d2c98f07702U},
    {0x7f4f08ae3dc7c425U, 0xd6e92ccaf3ce9785U},
    {0x7fa765aca88f6452U, 0x980dd10bf78c6ebeU},
    {0x7fd3ab290e46d768U, 0xcf9d0da47dca62c5U},
    {0x7fe9d3a8e07bf085U, 0xe9dcfc570097df03U},
    {0x7ff4e9597bed93aaU, 0xeef8e9451bc521c6U},
    {0x7ffa748dff8dc61eU, 0xc419c7075f942527U},
    {0x7ffd3a3f50020332U, 0x11c7c97bc9202c03U},
    {0x7ffe9d1dbc0a75a9U, 0xe6bb14eb87f508b5U},
    {0x7fff4e8e6306ed58U, 0x936f0d762543f3dcU},
    {0x7fffa74712c3cdfdU, 0x04f51319b012060dU},
}};
constexpr Halves ln_2{0x58b90bfbe8e7bcd5U, 0xe4f1d9cc01f97b58U};
constexpr unsigned terms = 10;

// e^-x, for x below 2^-16, by Horner's rule: 1 - x/1 (1 - x/2 (1 - x/3 (…))).
Unsigned128 small_exponential(Unsigned128 x) {
  Unsigned128 sum = power_one;
  for (unsigned n = terms; n > 0; --n) sum = power_one - scaled_product(x, sum, 127) / n;
  return sum;
}

// part / whole with 127 digits, in two steps since 128 bits hold only 64 more digits of part.
Unsigned128 digits_of(std::int64_t part, std::int64_t whole) {
  const auto divisor = static_cast<Unsigned128>(whole);
  const Unsigned128 first = static_cast<Unsigned128>(part) << 64U;
  const Unsigned128 second = (first % divisor) << 63U;
  return (first / divisor) << 63U | second / divisor;
}

}  // namespace

Unsigned128 scaled_product(Unsigned128 a, Unsigned128 b, unsigned shift) {
  check(shift >= 64 && shift < 256, "a product is cut within its upper digits");
  const auto low = [](Unsigned128 x) { return static_cast<std::uint64_t>(x); };
  const auto high = [](Unsigned128 x) { return static_cast<std::uint64_t>(x >> 64U); };
  const Unsigned128 bottom = Unsigned128{low(a)} * low(b);
  const Unsigned128 cross = Unsigned128{low(a)} * high(b) + high(bottom);
  const Unsigned128 other = Unsigned128{high(a)} * low(b) + low(cross);
  const Unsigned128 top = Unsigned128{high(a)} * high(b) + high(cross) + high(other);
  const Unsigned128 rest = other << 64U | low(bottom);
  if (shift >= 128) return top >> (shift - 128U);
  check(top >> shift == 0, "a product fits");
  return top << (128U - shift) | rest >> shift;
}

Unsigned128 power_of_half(std::int64_t part, std::int64_t whole) {
  check(part >= 0 && part < whole, "a part is less than the whole");
  Unsigned128 digits = digits_of(part, whole);
  Unsigned128 result = power_one;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const Unsigned128 digit = power_one >> (i + 1);
    if ((digits & digit) == 0) continue;
    digits -= digit;
    result = scaled_product(result, roots.at(i).value(), 127);
  }
  const Unsigned128 rest = small_exponential(scaled_product(digits, ln_2.value(), 127));
  return scaled_product(result, rest, 127);
}

}  // namespace keel::share
