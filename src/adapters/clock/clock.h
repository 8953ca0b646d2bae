// The two clocks of production.
#pragma once

#include "ports/clock.h"

namespace keel {

// The control plane's: the wall clock as it was at the start, from there on driven by
// CLOCK_BOOTTIME, so that nobody who sets the host's clock moves a deadline. Any thread.
class SystemClock final : public Clock {
 public:
  // not_before   the time of the last stored event: a wall clock that has been set back since then
  //              is not believed.
  explicit SystemClock(Instant not_before);
  Instant now() override;

 private:
  Duration offset_;  // between boot time and ours
};

// An agent's and a shim's: microseconds since the host's boot, sleep included. Any thread.
class BootClock final : public Clock {
 public:
  Instant now() override;
};

}  // namespace keel
