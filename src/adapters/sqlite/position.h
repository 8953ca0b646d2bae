// The one row of `meta`: who leads, how far the log has come, and where it is cut.
#pragma once

#include "adapters/sqlite/database.h"
#include "model/ids.h"
#include "model/units.h"
#include "ports/store.h"

namespace keel::sqlite {

struct Position {
  Epoch epoch;
  Seq seq;                  // of the last event; 0 for an empty log
  Instant at;               // its time
  FencingToken last_token;  // the highest ever granted
  Seq cut;                  // events up to here are kept only of jobs that are not over
};

Result<Position, StoreError> read_position(Database& database);
Result<Done, StoreError> write_position(Database& database, const Position& position);

// Where the log stands after `batch`, or which promise of `Store::append` the batch breaks.
// Looks at events and tokens only; pure.
Result<Position, StoreError> advance(const Position& before, const Batch& batch,
                                     const Retention& retention);

}  // namespace keel::sqlite
