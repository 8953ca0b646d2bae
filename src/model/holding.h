// Which task holds which device. A device is in at most one live reservation; the store says so
// too.
#pragma once

#include "model/ids.h"

namespace keel {

struct Holding {
  DeviceId device;
  TaskKey key;
  FencingToken token;
  friend bool operator==(const Holding&, const Holding&) = default;
};

// A device passing into or out of a reservation.
struct HoldingChange {
  DeviceId device;
  bool taken{};
  TaskKey key;
  FencingToken token;
  friend bool operator==(const HoldingChange&, const HoldingChange&) = default;
};

// Tokens that may have been given after the copy was made from which the store was put back: what
// was done with them is not known.
struct LostTokens {
  FencingToken after;
  FencingToken up_to;  // the last of them
  friend bool operator==(const LostTokens&, const LostTokens&) = default;
};

}  // namespace keel
