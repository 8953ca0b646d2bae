#include "adapters/sqlite/write.h"

#include <sqlite3.h>

#include <string>

#include "adapters/sqlite/rows.h"

namespace keel::sqlite {
namespace {

using enum StoreError::Code;

// True where a row was there to be changed.
Result<bool, StoreError> update(Database& database, const Job& job, std::string_view blob) {
  // Who asked for what under which name is settled when a job is made. A second job with the same
  // id, which chance could make, must not slip in as an update.
  Query query = database.query(
      "UPDATE jobs SET state = ?1, open = ?2, blob = ?3 "
      "WHERE id = ?4 AND user = ?5 AND key = ?6 AND said = ?7 AND spec = ?8");
  query.bind(static_cast<std::int64_t>(job.state)).bind(std::int64_t{needs_memory(job)});
  query.bind_blob(blob).bind(in_order(job.id.value)).bind(job.owner.user).bind(job.key);
  query.bind_blob(bytes_of(job.said)).bind_blob(bytes_of(job.spec));
  if (const auto done = query.next(); !done) return to_store_error(done.error());
  return database.changes() > 0;
}

StoreError refused_insert(const Failure& failure, const Job& job) {
  switch (failure.code) {
    case SQLITE_CONSTRAINT_UNIQUE: return {key_taken, "job " + print(job.id)};
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID:
      return {conflict, "job " + print(job.id) + " is stored with another user, key, said or spec"};
    case SQLITE_CONSTRAINT_FOREIGNKEY:
      return {conflict, "job " + print(job.id) + " comes without its spec"};
    default: return to_store_error(failure);
  }
}

Result<Done, StoreError> insert(Database& database, const Job& job, std::string_view blob) {
  Query query = database.query(
      "INSERT INTO jobs (id, user, key, said, spec, state, open, blob) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
  query.bind(in_order(job.id.value)).bind(job.owner.user).bind(job.key);
  query.bind_blob(bytes_of(job.said)).bind_blob(bytes_of(job.spec));
  query.bind(static_cast<std::int64_t>(job.state)).bind(std::int64_t{needs_memory(job)});
  query.bind_blob(blob);
  if (const auto done = query.next(); !done) return refused_insert(done.error(), job);
  return Done{};
}

Result<Done, StoreError> take(Database& database, const HoldingChange& change) {
  Query query = database.query(
      "INSERT INTO holdings (device, job, attempt, task, token) VALUES (?1, ?2, ?3, ?4, ?5)");
  query.bind(change.device.uuid)
      .bind(in_order(change.key.job.value))
      .bind(std::int64_t{change.key.attempt.value})
      .bind(std::int64_t{change.key.task})
      .bind(static_cast<std::int64_t>(change.token.value));
  const auto done = query.next();
  if (done) return Done{};
  switch (done.error().code) {
    case SQLITE_CONSTRAINT_PRIMARYKEY: return StoreError{device_taken, change.device.uuid};
    case SQLITE_CONSTRAINT_FOREIGNKEY:
      return StoreError{conflict, change.device.uuid + " is taken for a job that is not stored"};
    default: return to_store_error(done.error());
  }
}

Result<bool, StoreError> is_held(Database& database, const DeviceId& device) {
  Query query = database.query("SELECT 1 FROM holdings WHERE device = ?1");
  const auto row = query.bind(device.uuid).next();
  if (!row) return to_store_error(row.error());
  return *row;
}

Result<Done, StoreError> give_back(Database& database, const HoldingChange& change) {
  Query query = database.query("DELETE FROM holdings WHERE device = ?1 AND token = ?2");
  query.bind(change.device.uuid).bind(static_cast<std::int64_t>(change.token.value));
  if (const auto done = query.next(); !done) return to_store_error(done.error());
  if (database.changes() > 0) return Done{};
  TRY(held, is_held(database, change.device));
  if (held) return StoreError{device_taken, change.device.uuid + " is held by another token"};
  return StoreError{conflict, change.device.uuid + " is freed, but nobody holds it"};
}

}  // namespace

Result<Done, StoreError> write_specs(Database& database,
                                     const std::vector<std::pair<Digest, JobSpec>>& specs) {
  for (const auto& [digest, spec] : specs) {
    TRY(blob, to_blob(spec));
    Query query = database.query(
        "INSERT INTO specs (digest, blob) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING");
    query.bind_blob(bytes_of(digest)).bind_blob(blob);
    if (const auto done = query.next(); !done) return to_store_error(done.error());
  }
  return Done{};
}

Result<Done, StoreError> write_jobs(Database& database, const std::vector<Job>& jobs) {
  for (const Job& job : jobs) {
    TRY(blob, to_blob(job));
    TRY(updated, update(database, job, blob));
    if (updated) continue;
    TRY(inserted, insert(database, job, blob));
  }
  return Done{};
}

Result<Done, StoreError> write_nodes(Database& database, const std::vector<Node>& nodes) {
  for (const Node& node : nodes) {
    TRY(blob, to_blob(node));
    Query query = database.query(
        "INSERT INTO nodes (name, blob) VALUES (?1, ?2) "
        "ON CONFLICT (name) DO UPDATE SET blob = excluded.blob");
    query.bind(node.inventory.id.name).bind_blob(blob);
    if (const auto done = query.next(); !done) return to_store_error(done.error());
  }
  return Done{};
}

Result<Done, StoreError> write_events(Database& database, const std::vector<StoredEvent>& events) {
  for (const StoredEvent& event : events) {
    TRY(blob, to_blob(event));
    Query query =
        database.query("INSERT INTO events (seq, at_us, job, blob) VALUES (?1, ?2, ?3, ?4)");
    query.bind(static_cast<std::int64_t>(event.seq.value)).bind(event.at.us);
    if (const auto* fact = std::get_if<JobFact>(&event.fact)) {
      query.bind(in_order(fact->job.value));
    } else {
      query.bind_null();
    }
    if (const auto done = query.bind_blob(blob).next(); !done) {
      return to_store_error(done.error());
    }
  }
  return Done{};
}

Result<Done, StoreError> write_holdings(Database& database,
                                        const std::vector<HoldingChange>& changes) {
  for (const HoldingChange& change : changes) {
    TRY(written, change.taken ? take(database, change) : give_back(database, change));
  }
  return Done{};
}

}  // namespace keel::sqlite
