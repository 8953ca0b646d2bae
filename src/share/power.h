// 2^-x in integers: the same bits on every machine, whatever its compiler makes of floating point.
#pragma once

#include <cstdint>

namespace keel::share {

__extension__ using Unsigned128 = unsigned __int128;

// Numbers from 0 to 2 with 127 binary digits after the point. Used for factors up to 1.
inline constexpr Unsigned128 power_one = Unsigned128{1} << 127U;

// At most this far from the true value, either way: 2^-121.
inline constexpr Unsigned128 power_error_max = 64;

// 2^-(part / whole), for 0 <= part < whole < 2^63. In (1/2, 1], and 1 where part is 0. Off by
// power_error_max at most. Deterministic.
Unsigned128 power_of_half(std::int64_t part, std::int64_t whole);

// a * b / 2^shift, rounded down, for 64 <= shift < 256. It fits in 128 bits where b is at most
// power_one and shift at least 127.
Unsigned128 scaled_product(Unsigned128 a, Unsigned128 b, unsigned shift);

}  // namespace keel::share
