#include "adapters/clock/clock.h"

#include <time.h>

#include <algorithm>

#include "base/check.h"

namespace keel {
namespace {

Instant read(clockid_t clock) {
  timespec now{};
  check(clock_gettime(clock, &now) == 0, "the kernel has this clock");
  return {std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000};
}

}  // namespace

SystemClock::SystemClock(Instant not_before)
    : offset_(std::max(read(CLOCK_REALTIME), not_before) - read(CLOCK_BOOTTIME)) {}

Instant SystemClock::now() { return read(CLOCK_BOOTTIME) + offset_; }

Instant BootClock::now() { return read(CLOCK_BOOTTIME); }

}  // namespace keel
