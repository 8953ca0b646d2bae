// Time, handed in.
#pragma once

#include "model/units.h"

namespace keel {

class Clock {
 public:
  virtual ~Clock() = default;

  // Never goes back within one process. The control plane's counts from the Unix epoch, set once at
  // start and then driven by the monotonic clock; an agent's counts from the host's boot.
  virtual Instant now() = 0;
};

}  // namespace keel
