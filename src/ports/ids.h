// Chance, handed in: the only place in the control plane where a random number is drawn.
#pragma once

#include "model/ids.h"
#include "model/units.h"

namespace keel {

class Ids {
 public:
  virtual ~Ids() = default;

  // A job id never given before with overwhelming probability, not 0, and larger than those of
  // earlier milliseconds. The caller still checks that it is free.
  virtual JobId next_job(Instant now) = 0;
};

}  // namespace keel
