// Committed facts for readers: what API and CLI show. Reads never wait for a turn and never make
// one wait. Errors are the store's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/event.h"
#include "model/job.h"
#include "model/node.h"
#include "model/spec.h"
#include "ports/store.h"

namespace keel {

struct JobRecord {
  Job job{};
  JobSpec spec{};
};

struct JobFilter {
  std::vector<JobState> states{};  // empty: all
  std::string user{};              // empty: everybody's
  std::optional<JobId> before{};   // only ids below this one
  std::size_t limit{100};
};

class Records {
 public:
  virtual ~Records() = default;  // All calls: any thread.

  virtual Result<std::optional<JobRecord>, StoreError> job(JobId id) = 0;

  // Newest first, that is in descending order of id.
  virtual Result<std::vector<JobRecord>, StoreError> jobs(const JobFilter& filter) = 0;

  // Events of one job after `after`, oldest first, at most `limit`. `cut` where one of them is no
  // longer kept: all events of a job go together, some time after it is over.
  virtual Result<std::vector<StoredEvent>, StoreError> events(JobId job, Seq after,
                                                              std::size_t limit) = 0;

  // The log after `after` in its order, at most `limit` events; `cut` where one of them is no
  // longer kept. Folding it from a checkpoint at `after` gives the rows of today.
  virtual Result<std::vector<StoredEvent>, StoreError> log(Seq after, std::size_t limit) = 0;

  virtual Result<std::vector<Node>, StoreError> nodes() = 0;
  virtual Result<std::vector<Holding>, StoreError> holdings() = 0;
};

}  // namespace keel
