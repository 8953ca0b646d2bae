// Job ids from the time and the kernel's randomness.
#pragma once

#include "ports/ids.h"

namespace keel {

// The upper 42 bits are the milliseconds since 2020-01-01 (enough until 2159), the lower 22 chance:
//
//   63                                          22 21                     0
//   | milliseconds since 2020-01-01T00:00:00Z      | random               |
//
// Ids of one process ascend, also within one millisecond. One thread.
class RandomIds final : public Ids {
 public:
  JobId next_job(Instant now) override;

 private:
  std::uint64_t last_ = 0;
};

}  // namespace keel
