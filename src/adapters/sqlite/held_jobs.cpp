#include "adapters/sqlite/held_jobs.h"

#include <utility>

#include "adapters/sqlite/read.h"
#include "base/check.h"

namespace keel::sqlite {

Result<Done, StoreError> HeldJobs::refresh(Database& database) {
  Query query = database.query("PRAGMA data_version");
  if (const auto row = query.next(); !row) return to_store_error(row.error());
  const std::int64_t before = std::exchange(version_, query.integer(0));
  if (std::exchange(followed_, false) && version_ == before) return Done{};
  TRY(holdings, all_holdings(database));
  holds_.clear();
  for (const Holding& holding : holdings) {
    Hold& hold = holds_[holding.key.job];
    hold.token = holding.token;
    hold.devices += 1;
  }
  return Done{};
}

Result<Done, StoreError> HeldJobs::follow(const HoldingChange& change) {
  const auto hold = holds_.try_emplace(change.key.job, Hold{change.token}).first;
  if (!change.taken) {
    check(hold->second.devices > 0, "who gave a device back had it");
    if (--hold->second.devices == 0) holds_.erase(hold);
    return Done{};
  }
  if (hold->second.token != change.token) {
    return StoreError{StoreError::Code::conflict, "job " + print(change.key.job) +
                                                      " holds devices under another token already"};
  }
  hold->second.devices += 1;
  return Done{};
}

}  // namespace keel::sqlite
