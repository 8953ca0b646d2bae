#include "adapters/sqlite/write.h"

#include <sqlite3.h>

#include <map>
#include <string>

#include "adapters/sqlite/rows.h"

namespace keel::sqlite {
namespace {

using enum StoreError::Code;

StoreError refused(const Failure& failure, const Job& job) {
  switch (failure.code) {
    case SQLITE_CONSTRAINT_UNIQUE: return {key_taken, "job " + print(job.id)};
    case SQLITE_CONSTRAINT_FOREIGNKEY:
      return {conflict, "job " + print(job.id) + " comes without its spec"};
    default: return to_store_error(failure);
  }
}

// Who asked for what under which name is settled when a job is made. A second job with the same id,
// which chance could make, must not slip in as an update; nor may the events of a job be gone in
// part.
Result<Done, StoreError> write_job(Database& database, const Job& job, Seq event, Seq cut) {
  TRY(blob, to_blob(job));
  Query query = database.query(
      "INSERT INTO jobs (id, state, user, key, said, spec, open, last_event, blob) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) "
      "ON CONFLICT (id) DO UPDATE SET state = excluded.state, open = excluded.open, "
      "last_event = max(last_event, excluded.last_event), blob = excluded.blob "
      "WHERE user = excluded.user AND key = excluded.key AND said = excluded.said "
      "AND spec = excluded.spec AND (open = 1 OR last_event = 0 OR last_event > ?10)");
  query.bind(in_order(job.id.value)).bind(static_cast<std::int64_t>(job.state));
  query.bind(job.owner.user).bind(job.key);
  query.bind_blob(bytes_of(job.said)).bind_blob(bytes_of(job.spec));
  query.bind(std::int64_t{needs_memory(job)}).bind(static_cast<std::int64_t>(event.value));
  query.bind_blob(blob).bind(static_cast<std::int64_t>(cut.value));
  if (const auto done = query.next(); !done) return refused(done.error(), job);
  if (database.changes() > 0) return Done{};
  return StoreError{conflict, "job " + print(job.id) +
                                  " is stored with another user, key, said or spec, or is over "
                                  "and its events are cut"};
}

// Of a job whose row does not change.
Result<Done, StoreError> note_event(Database& database, JobId job, Seq event, Seq cut) {
  Query query = database.query(
      "UPDATE jobs SET last_event = ?2 "
      "WHERE id = ?1 AND (open = 1 OR last_event = 0 OR last_event > ?3)");
  query.bind(in_order(job.value)).bind(static_cast<std::int64_t>(event.value));
  query.bind(static_cast<std::int64_t>(cut.value));
  if (const auto done = query.next(); !done) return to_store_error(done.error());
  if (database.changes() > 0) return Done{};
  return StoreError{conflict, "an event of job " + print(job) +
                                  ", which is not stored, or is over and its events are cut"};
}

std::map<JobId, Seq> last_events(const Batch& batch) {
  std::map<JobId, Seq> last;
  for (const StoredEvent& event : batch.events) {
    if (const auto* fact = std::get_if<JobFact>(&event.fact)) last[fact->job] = event.seq;
  }
  return last;
}

Result<bool, StoreError> is_stored(Database& database, const Digest& spec) {
  Query query = database.query("SELECT 1 FROM specs WHERE digest = ?1");
  const auto row = query.bind_blob(bytes_of(spec)).next();
  if (!row) return to_store_error(row.error());
  return *row;
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
  Query query =
      database.query("DELETE FROM holdings WHERE device = ?1 AND token = ?2 AND job = ?3");
  query.bind(change.device.uuid).bind(static_cast<std::int64_t>(change.token.value));
  query.bind(in_order(change.key.job.value));
  if (const auto done = query.next(); !done) return to_store_error(done.error());
  if (database.changes() > 0) return Done{};
  TRY(held, is_held(database, change.device));
  if (held)
    return StoreError{device_taken, change.device.uuid + " is held by another job or token"};
  return StoreError{conflict, change.device.uuid + " is freed, but nobody holds it"};
}

}  // namespace

Result<Done, StoreError> write_specs(Database& database,
                                     const std::vector<std::pair<Digest, JobSpec>>& specs) {
  for (const auto& [digest, spec] : specs) {
    TRY(stored, is_stored(database, digest));
    if (stored) continue;
    TRY(blob, to_blob(spec));
    Query query = database.query("INSERT INTO specs (digest, blob) VALUES (?1, ?2)");
    query.bind_blob(bytes_of(digest)).bind_blob(blob);
    if (const auto done = query.next(); !done) return to_store_error(done.error());
  }
  return Done{};
}

Result<Done, StoreError> write_jobs(Database& database, const Batch& batch, Seq cut) {
  std::map<JobId, Seq> last = last_events(batch);
  for (const Job& job : batch.jobs) {
    const auto event = last.extract(job.id);
    TRY(written, write_job(database, job, event ? event.mapped() : Seq{}, cut));
  }
  for (const auto& [job, event] : last) {
    TRY(noted, note_event(database, job, event, cut));
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

Result<Done, StoreError> add_lost(Database& database, const LostTokens& lost) {
  Query query =
      database.query("INSERT INTO lost_tokens (after, up_to, settled) VALUES (?1, ?2, 0)");
  query.bind(static_cast<std::int64_t>(lost.after.value))
      .bind(static_cast<std::int64_t>(lost.up_to.value));
  if (const auto done = query.next(); !done) return to_store_error(done.error());
  return Done{};
}

Result<Done, StoreError> settle_lost(Database& database) {
  Query query = database.query("UPDATE lost_tokens SET settled = 1 WHERE settled = 0");
  if (const auto done = query.next(); !done) return to_store_error(done.error());
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
                                        const std::vector<HoldingChange>& changes, HeldJobs& held) {
  for (const HoldingChange& change : changes) {
    TRY(written, change.taken ? take(database, change) : give_back(database, change));
    TRY(followed, held.follow(change));
  }
  return Done{};
}

Result<Done, StoreError> cut_log(Database& database, Seq from, Seq to) {
  if (to == from) return Done{};
  // Each job is met with its last event, if it is over by then, and all of its events go; those of
  // jobs that are not over stay until then. By the index: the range of numbers is far wider.
  Query jobs = database.query(
      "DELETE FROM events INDEXED BY events_of_job WHERE job IN ("
      "SELECT jobs.id FROM events AS passed JOIN jobs ON jobs.id = passed.job "
      "WHERE passed.seq > ?1 AND passed.seq <= ?2 "
      "AND jobs.open = 0 AND jobs.last_event = passed.seq)");
  jobs.bind(static_cast<std::int64_t>(from.value)).bind(static_cast<std::int64_t>(to.value));
  if (const auto done = jobs.next(); !done) return to_store_error(done.error());
  Query nodes = database.query("DELETE FROM events WHERE seq > ?1 AND seq <= ?2 AND job IS NULL");
  nodes.bind(static_cast<std::int64_t>(from.value)).bind(static_cast<std::int64_t>(to.value));
  if (const auto done = nodes.next(); !done) return to_store_error(done.error());
  return Done{};
}

}  // namespace keel::sqlite
