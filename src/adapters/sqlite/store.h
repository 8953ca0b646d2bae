// The embedded store: SQLite in WAL mode with synchronous=FULL, so that one append is one
// transaction and one sync.
#pragma once

#include <memory>
#include <string>

#include "adapters/sqlite/database.h"
#include "adapters/sqlite/held_jobs.h"
#include "ports/store.h"

namespace keel {

struct SqliteSettings {
  Retention retention{};
  // How far the write-ahead log grows before it is moved into the file: 64 MiB. A page that is
  // written again and again is moved once for all of them; a start that finds all of it in the log
  // reads for a fraction of a second.
  int log_pages_max = 16 * 1024;
};

class SqliteStore final : public Store {
 public:
  // Opens the database at `path`, makes it where there is none and brings it to this program's
  // schema. Two programs may have it open: the epoch decides which of them writes.
  //
  // unreadable   damaged, somebody else's, or written by a newer version: the file is as it was.
  // unavailable  the file cannot be opened or written, or another program holds it for too long.
  // broken       the disk failed to sync.
  static Result<std::unique_ptr<SqliteStore>, StoreError> open(const std::string& path,
                                                               const SqliteSettings& settings = {});

  // All calls: one thread at a time. Each may block for the disk, and for a few seconds for another
  // program that writes.
  Result<Epoch, StoreError> take_over() override;
  Result<Restored, StoreError> mark_restored(Instant wall) override;
  Result<Done, StoreError> confirm(Epoch epoch) override;
  Result<Loaded, StoreError> load() override;
  Result<Seq, StoreError> append(Epoch epoch, Seq after, const Batch& batch) override;
  Result<std::optional<JobSpec>, StoreError> spec(const Digest& digest) override;
  Result<std::vector<std::optional<KeyRow>>, StoreError> find_keys(
      const std::vector<SubmitKey>& keys) override;
  Result<std::vector<Job>, StoreError> find_jobs(const std::vector<JobId>& ids) override;

  SqliteStore(std::unique_ptr<sqlite::Database> database, const SqliteSettings& settings)
      : database_(std::move(database)), settings_(settings) {}

 private:
  Result<Done, StoreError> commit(sqlite::Transaction& transaction);

  std::unique_ptr<sqlite::Database> database_;
  const SqliteSettings settings_;
  sqlite::HeldJobs held_jobs_;
};

}  // namespace keel
