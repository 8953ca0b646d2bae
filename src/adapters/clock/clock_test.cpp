#include "adapters/clock/clock.h"

#include <gtest/gtest.h>
#include <time.h>

#include <fstream>
#include <thread>

namespace keel {
namespace {

Instant wall_now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return {std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000};
}

TEST(SystemClock, starts_at_the_wall_clock) {
  const Instant before = wall_now();
  SystemClock clock(Instant{});
  const Instant told = clock.now();
  const Instant after = wall_now();
  // Two clocks are read one after the other, hence the millisecond.
  EXPECT_GE(told, before - milliseconds(1));
  EXPECT_LE(told, after + milliseconds(1));
}

TEST(SystemClock, never_starts_before_the_last_stored_event) {
  const Instant last_event = wall_now() + hours(5);
  SystemClock clock(last_event);
  EXPECT_GE(clock.now(), last_event);
  EXPECT_LE(clock.now(), last_event + minutes(1));
}

TEST(SystemClock, goes_on_from_there_as_fast_as_time) {
  SystemClock clock(wall_now() + hours(5));
  BootClock boot;
  const Instant told = clock.now();
  const Instant booted = boot.now();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const Duration passed = clock.now() - told;
  const Duration really = boot.now() - booted;
  EXPECT_GE(passed, milliseconds(30));
  EXPECT_LE(passed, really + milliseconds(20));
}

TEST(BootClock, counts_from_the_boot) {
  std::ifstream file("/proc/uptime");
  double uptime_s = 0;
  ASSERT_TRUE(file >> uptime_s);
  BootClock clock;
  EXPECT_NEAR(static_cast<double>(clock.now().us) / 1e6, uptime_s, 1.0);
}

}  // namespace
}  // namespace keel
