#include "adapters/clock/ids.h"

#include <sys/random.h>

#include <algorithm>

#include "base/check.h"

namespace keel {
namespace {

constexpr std::int64_t year_2020_ms = 1'577'836'800'000;
constexpr int random_bits = 22;
constexpr std::int64_t milliseconds_max = (std::int64_t{1} << 42) - 1;

// Ids of one millisecond follow each other at random distances up to this: neighbours cannot be
// guessed, and 4000 of them fit before the next millisecond's are touched.
constexpr std::uint64_t step_max = 1024;

std::uint64_t random_number() {
  std::uint64_t number{};
  const auto got = getrandom(&number, sizeof number, 0);
  check(got == sizeof number, "the kernel gives eight random bytes at once");
  return number;
}

}  // namespace

JobId RandomIds::next_job(Instant now) {
  const std::int64_t ms =
      std::clamp(now.us / 1'000 - year_2020_ms, std::int64_t{0}, milliseconds_max);
  const std::uint64_t random = random_number();
  std::uint64_t id = (static_cast<std::uint64_t>(ms) << random_bits) |
                     (random & ((std::uint64_t{1} << random_bits) - 1));
  if (id >> random_bits <= last_ >> random_bits) id = last_ + 1 + random % step_max;
  last_ = id;
  return {id};
}

}  // namespace keel
