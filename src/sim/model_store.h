// The obvious store: everything in memory, and each promise of ports/store.h written down the way
// it reads. It must pass the same suite as the real ones, and the random test compares them with
// it. For other tests it is the store that needs no disk.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "ports/records.h"
#include "ports/store.h"

namespace keel {

// What a disk would hold.
struct ModelContents {
  Epoch epoch;
  FencingToken last_token;
  std::vector<LostTokens> lost;
  bool settling{};
  std::vector<StoredEvent> events;  // events[i].seq is i + 1; nothing is forgotten here
  std::map<JobId, Seq> last_events;
  Seq cut;  // what is behind it is no longer told, but of jobs that are not over
  std::map<Digest, JobSpec> specs;
  std::map<JobId, Job> jobs;
  std::map<SubmitKey, JobId> keys;
  std::map<NodeId, Node> nodes;
  std::map<DeviceId, Holding> holdings;
};

// Several stores and records may share one; each call is one transaction.
struct ModelRows : ModelContents {
  std::mutex mutex;
};

class ModelStore final : public Store {
 public:
  explicit ModelStore(std::shared_ptr<ModelRows> rows, const Retention& retention = {})
      : rows_(std::move(rows)), retention_(retention) {}

  Result<Epoch, StoreError> take_over() override;
  Result<Restored, StoreError> mark_restored(Instant wall) override;
  Result<Done, StoreError> confirm(Epoch epoch) override;
  Result<Loaded, StoreError> load() override;
  Result<Seq, StoreError> append(Epoch epoch, Seq after, const Batch& batch) override;
  Result<std::optional<JobSpec>, StoreError> spec(const Digest& digest) override;
  Result<std::vector<std::optional<KeyRow>>, StoreError> find_keys(
      const std::vector<SubmitKey>& keys) override;
  Result<std::vector<Job>, StoreError> find_jobs(const std::vector<JobId>& ids) override;

 private:
  std::shared_ptr<ModelRows> rows_;
  Retention retention_;
};

class ModelRecords final : public Records {
 public:
  explicit ModelRecords(std::shared_ptr<ModelRows> rows) : rows_(std::move(rows)) {}

  Result<std::optional<JobRecord>, StoreError> job(JobId id) override;
  Result<std::vector<JobRecord>, StoreError> jobs(const JobFilter& filter) override;
  Result<std::vector<StoredEvent>, StoreError> events(JobId job, Seq after,
                                                      std::size_t limit) override;
  Result<std::vector<StoredEvent>, StoreError> log(Seq after, std::size_t limit) override;
  Result<std::vector<Node>, StoreError> nodes() override;
  Result<std::vector<Holding>, StoreError> holdings() override;

 private:
  std::shared_ptr<ModelRows> rows_;
};

}  // namespace keel
