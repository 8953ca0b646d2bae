// Committed facts for readers, on a connection of their own that cannot write: a read sees the last
// commit and neither waits for the store's writer nor makes it wait.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "adapters/sqlite/database.h"
#include "ports/records.h"

namespace keel {

class SqliteRecords final : public Records {
 public:
  // Opens the database that a SqliteStore has made at `path`. Errors are those of
  // SqliteStore::open.
  static Result<std::unique_ptr<SqliteRecords>, StoreError> open(const std::string& path);

  // All calls: any thread, one after another.
  Result<std::optional<JobRecord>, StoreError> job(JobId id) override;
  Result<std::vector<JobRecord>, StoreError> jobs(const JobFilter& filter) override;
  Result<std::vector<StoredEvent>, StoreError> events(JobId job, Seq after,
                                                      std::size_t limit) override;
  Result<std::vector<StoredEvent>, StoreError> log(Seq after, std::size_t limit) override;
  Result<std::vector<Node>, StoreError> nodes() override;
  Result<std::vector<Holding>, StoreError> holdings() override;

  explicit SqliteRecords(std::unique_ptr<sqlite::Database> database)
      : database_(std::move(database)) {}

 private:
  std::mutex mutex_;  // guards database_
  std::unique_ptr<sqlite::Database> database_;
};

}  // namespace keel
