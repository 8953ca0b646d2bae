#include "adapters/sqlite/store.h"

#include <algorithm>

#include "adapters/sqlite/position.h"
#include "adapters/sqlite/read.h"
#include "adapters/sqlite/rows.h"
#include "adapters/sqlite/schema.h"
#include "adapters/sqlite/write.h"

namespace keel {

using namespace sqlite;
using enum StoreError::Code;

namespace {

// Without WAL a reader would block the writer; without FULL a power cut could undo what callers
// were told; without foreign keys a job could lose its spec. 192 MiB of cache hold the inner pages
// and the index of specs, which is asked at random, of a million jobs.
Result<Done, StoreError> configure(Database& database) {
  Query journal = database.query("PRAGMA journal_mode = WAL");
  if (const auto row = journal.next(); !row) return to_store_error(row.error());
  if (journal.bytes(0) != "wal") {
    return StoreError{unavailable, "this file system cannot hold a write-ahead log"};
  }
  const auto set = database.run(
      "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; "
      "PRAGMA cache_size = -196608");
  if (!set) return to_store_error(set.error());
  return Done{};
}

Result<Transaction, StoreError> begin_write(Database& database) {
  auto transaction = Transaction::begin_write(database);
  if (!transaction) return to_store_error(transaction.error());
  return *std::move(transaction);
}

Result<Transaction, StoreError> begin_read(Database& database) {
  auto transaction = Transaction::begin_read(database);
  if (!transaction) return to_store_error(transaction.error());
  return *std::move(transaction);
}

}  // namespace

Result<std::unique_ptr<SqliteStore>, StoreError> SqliteStore::open(const std::string& path,
                                                                   const SqliteSettings& settings) {
  auto opened = Database::open(path, Access::write);
  if (!opened) return to_store_error(opened.error());
  Database& database = **opened;
  database.leave_untouched(true);
  TRY(known, check_readable(database, migrations()));
  database.leave_untouched(false);
  TRY(configured, configure(database));
  TRY(migrated, migrate(database, migrations()));
  return std::make_unique<SqliteStore>(*std::move(opened), settings);
}

Result<Done, StoreError> SqliteStore::commit(Transaction& transaction) {
  if (const auto done = transaction.commit(); !done) return to_commit_error(done.error());
  database_->shorten_log(settings_.log_pages_max);
  return Done{};
}

Result<Epoch, StoreError> SqliteStore::take_over() {
  TRY(transaction, begin_write(*database_));
  TRY(position, read_position(*database_));
  position.epoch.value += 1;
  TRY(written, write_position(*database_, position));
  TRY(committed, commit(transaction));
  return position.epoch;
}

Result<Store::Restored, StoreError> SqliteStore::mark_restored(Instant wall) {
  TRY(transaction, begin_write(*database_));
  TRY(position, read_position(*database_));
  const Skipped to = skip(position.epoch, position.last_token, wall);
  constexpr std::uint64_t most = INT64_MAX;
  if (to.last_token.value > most || to.epoch.value > most) {
    return StoreError{conflict, "put back so often that no tokens are left"};
  }
  const LostTokens lost{position.last_token, to.last_token};
  position.epoch = to.epoch;
  position.last_token = to.last_token;
  TRY(written, write_position(*database_, position));
  TRY(noted, add_lost(*database_, lost));
  TRY(committed, commit(transaction));
  return Restored{position.epoch, lost};
}

Result<Done, StoreError> SqliteStore::confirm(Epoch epoch) {
  TRY(snapshot, begin_read(*database_));
  TRY(position, read_position(*database_));
  if (epoch == position.epoch && epoch != Epoch{}) return Done{};
  return StoreError{fenced, "epoch " + std::to_string(position.epoch.value) + " leads"};
}

Result<Loaded, StoreError> SqliteStore::load() {
  TRY(snapshot, begin_read(*database_));
  TRY(position, read_position(*database_));
  TRY(last, last_event(*database_));
  if (last != position.seq) {
    return StoreError{unreadable, "the log ends at " + std::to_string(last.value) +
                                      ", recorded was " + std::to_string(position.seq.value)};
  }
  TRY(jobs, open_jobs(*database_));
  TRY(nodes, all_nodes(*database_));
  TRY(holdings, all_holdings(*database_));
  TRY(lost, all_lost(*database_));
  return Loaded{.seq = position.seq,
                .at = position.at,
                .last_token = position.last_token,
                .jobs = std::move(jobs),
                .nodes = std::move(nodes),
                .holdings = std::move(holdings),
                .lost = std::move(lost.tokens),
                .settling = lost.settling};
}

Result<Seq, StoreError> SqliteStore::append(Epoch epoch, Seq after, const Batch& batch) {
  TRY(transaction, begin_write(*database_));
  TRY(before, read_position(*database_));
  if (epoch != before.epoch || epoch == Epoch{}) {
    return StoreError{fenced, "epoch " + std::to_string(before.epoch.value) + " leads"};
  }
  if (after != before.seq) {
    return StoreError{conflict, "the log is at " + std::to_string(before.seq.value)};
  }
  TRY(behind, advance(before, batch, settings_.retention));
  TRY(specs, write_specs(*database_, batch.specs));
  TRY(jobs, write_jobs(*database_, batch, before.cut));
  TRY(nodes, write_nodes(*database_, batch.nodes));
  TRY(events, write_events(*database_, batch.events));
  TRY(fresh, held_jobs_.refresh(*database_));
  TRY(holdings, write_holdings(*database_, batch.holdings, held_jobs_));
  TRY(cut, cut_log(*database_, before.cut, behind.cut));
  TRY(position, write_position(*database_, behind));
  if (batch.settles) {
    TRY(settled, settle_lost(*database_));
  }
  TRY(committed, commit(transaction));
  held_jobs_.keep();
  return behind.seq;
}

Result<std::optional<JobSpec>, StoreError> SqliteStore::spec(const Digest& digest) {
  Query query = database_->query("SELECT blob FROM specs WHERE digest = ?1");
  const auto row = query.bind_blob(bytes_of(digest)).next();
  if (!row) return to_store_error(row.error());
  if (!*row) return std::optional<JobSpec>{};
  TRY(spec, spec_of(query.bytes(0)));
  return std::optional(std::move(spec));
}

Result<std::vector<std::optional<Store::KeyRow>>, StoreError> SqliteStore::find_keys(
    const std::vector<SubmitKey>& keys) {
  TRY(snapshot, begin_read(*database_));  // one lock for all of them
  std::vector<std::optional<KeyRow>> rows;
  rows.reserve(keys.size());
  for (const SubmitKey& key : keys) {
    Query query =
        database_->query("SELECT id, said FROM jobs WHERE user = ?1 AND key = ?2 AND key <> ''");
    const auto row = query.bind(key.user).bind(key.key).next();
    if (!row) return to_store_error(row.error());
    if (!*row) {
      rows.emplace_back();
      continue;
    }
    TRY(said, digest_of(query.bytes(1)));
    rows.push_back(KeyRow{JobId{from_order(query.integer(0))}, said});
  }
  return rows;
}

Result<std::vector<Job>, StoreError> SqliteStore::find_jobs(const std::vector<JobId>& ids) {
  std::vector<JobId> sorted = ids;
  std::ranges::sort(sorted);
  sorted.erase(std::ranges::unique(sorted).begin(), sorted.end());
  TRY(snapshot, begin_read(*database_));  // one lock for all of them
  std::vector<Job> jobs;
  for (const JobId id : sorted) {
    Query query = database_->query("SELECT id, state, said, spec, blob FROM jobs WHERE id = ?1");
    const auto row = query.bind(in_order(id.value)).next();
    if (!row) return to_store_error(row.error());
    if (!*row) continue;
    TRY(job, job_of(query));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace keel
