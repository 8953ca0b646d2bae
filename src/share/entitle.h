// What each place is guaranteed once promises were cut to what is there, what it may hold at most,
// and what its idle guarantee keeps back from others. Used within share/ only.
#pragma once

#include <optional>
#include <vector>

#include "share/forest.h"

namespace keel::share {

struct Entitlement {
  Vector of;            // guaranteed, by resource
  Fraction any_gpu;     // guaranteed beyond that, of any model
  bool own = false;     // said for this place, not summed up from below
  bool scaled = false;  // more was promised

  Fraction gpus(Mask models) const;  // of all models together
};

std::vector<Entitlement> entitle(const Forest& forest);

// At most this much may be held: cap, and guarantee plus borrow limit.
struct Ceiling {
  std::vector<std::optional<Fraction>> of;
  std::optional<Fraction> any_gpu;
};

Ceiling ceiling_of(const Forest& forest, const Place& place, const Entitlement& entitlement);

// What nobody may use because its owner keeps it back while it is idle.
struct KeptBack {
  Vector of;
  Fraction any_gpu;
};

KeptBack kept_back(const Forest& forest, const std::vector<Entitlement>& entitlements);

}  // namespace keel::share
