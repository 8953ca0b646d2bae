#include "adapters/clock/clock.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

// What the clock says on a host that was suspended for two hours after now: in a time namespace
// whose boot time is so much ahead, while its monotonic time is not. 0 where there is none.
template <class Clock>
Instant after_a_suspension(Clock clock) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    const bool made = ::unshare(CLONE_NEWTIME) == 0;
    std::ofstream("/proc/self/timens_offsets") << "boottime 7200 0\n";
    const pid_t inside = made ? ::fork() : -1;
    if (inside == 0) {
      const Instant now = clock.now();
      ::_exit(::write(ends[1], &now, sizeof now) == sizeof now ? 0 : 1);
    }
    if (inside > 0) ::waitpid(inside, nullptr, 0);
    ::_exit(0);
  }
  ::close(ends[1]);
  Instant now;
  const bool told = ::read(ends[0], &now, sizeof now) == sizeof now;
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return told ? now : Instant{};
}

// B-E2: time goes on for leases and limits while the host sleeps.
TEST(Clocks, of_leases_and_of_the_control_plane_count_suspensions) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a time namespace";
  BootClock boot;
  const Instant booted = boot.now();
  EXPECT_GE(after_a_suspension(boot) - booted, hours(2) - seconds(1));
  SystemClock clock(wall_now());
  const Instant told = clock.now();
  EXPECT_GE(after_a_suspension(clock) - told, hours(2) - seconds(1));
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
