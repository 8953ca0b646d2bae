// The rows of one batch, written inside the caller's transaction. Each function answers the
// StoreError that `Store::append` promises for what it finds; the caller then rolls back.
#pragma once

#include <utility>
#include <vector>

#include "adapters/sqlite/database.h"
#include "ports/store.h"

namespace keel::sqlite {

// A spec that is there already stays as it is.
Result<Done, StoreError> write_specs(Database& database,
                                     const std::vector<std::pair<Digest, JobSpec>>& specs);

// Needs the specs. `key_taken` where the index says so.
Result<Done, StoreError> write_jobs(Database& database, const std::vector<Job>& jobs);

Result<Done, StoreError> write_nodes(Database& database, const std::vector<Node>& nodes);
Result<Done, StoreError> write_events(Database& database, const std::vector<StoredEvent>& events);

// Needs the jobs. In order; `device_taken` where the primary key says so.
Result<Done, StoreError> write_holdings(Database& database,
                                        const std::vector<HoldingChange>& changes);

}  // namespace keel::sqlite
