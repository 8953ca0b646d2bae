// Which jobs hold devices, and under which token: so that a job never holds under two. In memory,
// beside the rows: an index would be one more page to write for each device taken and freed.
#pragma once

#include <cstdint>
#include <map>

#include "adapters/sqlite/database.h"
#include "ports/store.h"

namespace keel::sqlite {

class HeldJobs {
 public:
  // Reads the rows, where they may be others than those that were followed here. To be called in
  // each transaction that writes, before the first change.
  Result<Done, StoreError> refresh(Database& database);

  // Follows a change that the rows have taken. `conflict` where the job has another hold.
  Result<Done, StoreError> follow(const HoldingChange& change);

  // The transaction was committed. Where that is not said, the rows are read again.
  void keep() { followed_ = true; }

 private:
  struct Hold {
    FencingToken token;
    std::uint32_t devices{};
  };
  std::map<JobId, Hold> holds_;
  bool followed_{};
  std::int64_t version_{};  // of the rows, as others change them
};

}  // namespace keel::sqlite
