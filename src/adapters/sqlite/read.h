// Reads that Store and Records share. Inside the caller's transaction where several must agree.
#pragma once

#include <vector>

#include "adapters/sqlite/database.h"
#include "ports/store.h"

namespace keel::sqlite {

Result<Seq, StoreError> last_event(Database& database);              // 0 for an empty log
Result<std::vector<Job>, StoreError> open_jobs(Database& database);  // those that need memory
Result<std::vector<Node>, StoreError> all_nodes(Database& database);
Result<std::vector<Holding>, StoreError> all_holdings(Database& database);

struct Lost {
  std::vector<LostTokens> tokens{};
  bool settling{};  // for want of a batch that settles
};
Result<Lost, StoreError> all_lost(Database& database);

}  // namespace keel::sqlite
