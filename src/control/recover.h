// The beginning of a leader's life: the epoch, and what the store has kept.
#pragma once

#include "base/result.h"
#include "model/ids.h"
#include "ports/store.h"

namespace keel {

struct Recovered {
  Epoch epoch{};
  Loaded loaded{};
};

// Takes over leadership, which fences every earlier leader, and then reads the live rows: nobody
// else can change them any more. On an error nothing was started; `unavailable` may be tried again,
// everything else is for an operator. The caller's clock must not begin before `loaded.at`.
Result<Recovered, StoreError> recover(Store& store);

}  // namespace keel
