// The rows of one batch, written inside the caller's transaction. Each function answers the
// StoreError that `Store::append` promises for what it finds; the caller then rolls back.
#pragma once

#include <utility>
#include <vector>

#include "adapters/sqlite/database.h"
#include "adapters/sqlite/held_jobs.h"
#include "ports/store.h"

namespace keel::sqlite {

// A spec that is there already stays as it is.
Result<Done, StoreError> write_specs(Database& database,
                                     const std::vector<std::pair<Digest, JobSpec>>& specs);

// Needs the specs. `key_taken` where the index says so. `cut` is where the log is cut so far.
Result<Done, StoreError> write_jobs(Database& database, const Batch& batch, Seq cut);

Result<Done, StoreError> write_nodes(Database& database, const std::vector<Node>& nodes);
Result<Done, StoreError> write_events(Database& database, const std::vector<StoredEvent>& events);

// Needs the jobs. In order; `device_taken` where the primary key says so. `held` is fresh.
Result<Done, StoreError> write_holdings(Database& database,
                                        const std::vector<HoldingChange>& changes, HeldJobs& held);

Result<Done, StoreError> add_lost(Database& database, const LostTokens& lost);
Result<Done, StoreError> settle_lost(Database& database);  // all of them

// Moves the cut of the log; see ports/store.h, cut_after. Needs the jobs and events of the batch.
Result<Done, StoreError> cut_log(Database& database, Seq from, Seq to);

}  // namespace keel::sqlite
