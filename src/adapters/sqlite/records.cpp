#include "adapters/sqlite/records.h"

#include <algorithm>
#include <functional>
#include <set>

#include "adapters/sqlite/position.h"
#include "adapters/sqlite/read.h"
#include "adapters/sqlite/rows.h"
#include "adapters/sqlite/schema.h"

namespace keel {

using namespace sqlite;

namespace {

std::int64_t as_limit(std::size_t limit) {
  return static_cast<std::int64_t>(std::min<std::size_t>(limit, INT64_MAX));
}

// The rows of `query`, whose first column is an id, behind those of `ids`.
Result<Done, StoreError> collect(Query& query, std::vector<JobId>& ids) {
  for (;;) {
    const auto row = query.next();
    if (!row) return to_store_error(row.error());
    if (!*row) return Done{};
    ids.push_back({from_order(query.integer(0))});
  }
}

// Each state has its own range in the index, whose newest `limit` ids are candidates; so a search
// for the few that run does not walk over the million that ended.
Result<Done, StoreError> collect_in_state(Database& database, const JobFilter& filter,
                                          std::int64_t state, std::int64_t below,
                                          std::vector<JobId>& ids) {
  if (filter.user.empty()) {
    Query query = database.query(
        "SELECT id FROM jobs WHERE state = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3");
    return collect(query.bind(state).bind(below).bind(as_limit(filter.limit)), ids);
  }
  Query query = database.query(
      "SELECT id FROM jobs WHERE user = ?1 AND state = ?2 AND id < ?3 ORDER BY id DESC LIMIT ?4");
  query.bind(filter.user).bind(state).bind(below).bind(as_limit(filter.limit));
  return collect(query, ids);
}

// The newest `limit` ids that pass the filter, newest first.
Result<std::vector<JobId>, StoreError> matching(Database& database, const JobFilter& filter) {
  std::vector<JobId> ids;
  // No job has the highest id there is: ids are made of the time.
  const std::int64_t below = in_order(filter.before.value_or(JobId{UINT64_MAX}).value);
  if (filter.states.empty() && filter.user.empty()) {
    Query query = database.query("SELECT id FROM jobs WHERE id < ?1 ORDER BY id DESC LIMIT ?2");
    TRY(all, collect(query.bind(below).bind(as_limit(filter.limit)), ids));
    return ids;
  }
  std::set<JobState> states(filter.states.begin(), filter.states.end());
  for (std::size_t i = 0; i < job_state_count; ++i) {
    const auto state = static_cast<JobState>(i);
    if (!states.empty() && !states.contains(state)) continue;
    TRY(found, collect_in_state(database, filter, static_cast<std::int64_t>(i), below, ids));
  }
  std::ranges::sort(ids, std::ranges::greater{});
  if (ids.size() > filter.limit) ids.resize(filter.limit);
  return ids;
}

Result<std::optional<JobRecord>, StoreError> record_of(Database& database, JobId id) {
  Query query = database.query(
      "SELECT jobs.id, jobs.state, jobs.said, jobs.spec, jobs.blob, specs.blob "
      "FROM jobs JOIN specs ON specs.digest = jobs.spec WHERE jobs.id = ?1");
  const auto row = query.bind(in_order(id.value)).next();
  if (!row) return to_store_error(row.error());
  if (!*row) return std::optional<JobRecord>{};
  TRY(job, job_of(query));
  TRY(spec, spec_of(query.bytes(5)));
  return std::optional(JobRecord{std::move(job), std::move(spec)});
}

Result<Seq, StoreError> last_event_of(Database& database, JobId job) {
  Query query = database.query("SELECT last_event FROM jobs WHERE id = ?1");
  const auto row = query.bind(in_order(job.value)).next();
  if (!row) return to_store_error(row.error());
  return *row ? Seq{static_cast<std::uint64_t>(query.integer(0))} : Seq{};
}

StoreError cut_at(Seq cut) {
  const Seq first{cut.value + 1};
  return {StoreError::Code::cut, "the log begins at " + std::to_string(first.value), first};
}

}  // namespace

Result<std::unique_ptr<SqliteRecords>, StoreError> SqliteRecords::open(const std::string& path) {
  auto opened = Database::open(path, Access::read);
  if (!opened) return to_store_error(opened.error());
  TRY(readable, check_readable(**opened, migrations()));
  return std::make_unique<SqliteRecords>(*std::move(opened));
}

Result<std::optional<JobRecord>, StoreError> SqliteRecords::job(JobId id) {
  const std::lock_guard lock(mutex_);
  return record_of(*database_, id);
}

Result<std::vector<JobRecord>, StoreError> SqliteRecords::jobs(const JobFilter& filter) {
  const std::lock_guard lock(mutex_);
  const auto snapshot = Transaction::begin_read(*database_);
  if (!snapshot) return to_store_error(snapshot.error());
  TRY(ids, matching(*database_, filter));
  std::vector<JobRecord> records;
  records.reserve(ids.size());
  for (const JobId id : ids) {
    TRY(record, record_of(*database_, id));
    if (!record) return StoreError{StoreError::Code::unreadable, "no spec of job " + print(id)};
    records.push_back(*std::move(record));
  }
  return records;
}

Result<std::vector<StoredEvent>, StoreError> SqliteRecords::events(JobId job, Seq after,
                                                                   std::size_t limit) {
  if (after.value > INT64_MAX || limit == 0) return std::vector<StoredEvent>{};
  const std::lock_guard lock(mutex_);
  const auto snapshot = Transaction::begin_read(*database_);
  if (!snapshot) return to_store_error(snapshot.error());
  Query query = database_->query(
      "SELECT seq, at_us, job, blob FROM events "
      "WHERE job = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3");
  query.bind(in_order(job.value)).bind(static_cast<std::int64_t>(after.value));
  query.bind(as_limit(limit));
  TRY(events, events_of(query));
  if (!events.empty()) return events;
  // All of a job's events are kept, or none.
  TRY(last, last_event_of(*database_, job));
  if (last <= after) return events;
  TRY(position, read_position(*database_));
  return cut_at(position.cut);
}

Result<std::vector<StoredEvent>, StoreError> SqliteRecords::log(Seq after, std::size_t limit) {
  if (after.value > INT64_MAX || limit == 0) return std::vector<StoredEvent>{};
  const std::lock_guard lock(mutex_);
  const auto snapshot = Transaction::begin_read(*database_);
  if (!snapshot) return to_store_error(snapshot.error());
  TRY(position, read_position(*database_));
  if (after < position.cut) return cut_at(position.cut);
  Query query = database_->query(
      "SELECT seq, at_us, job, blob FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2");
  query.bind(static_cast<std::int64_t>(after.value)).bind(as_limit(limit));
  return events_of(query);
}

Result<std::vector<Node>, StoreError> SqliteRecords::nodes() {
  const std::lock_guard lock(mutex_);
  return all_nodes(*database_);
}

Result<std::vector<Holding>, StoreError> SqliteRecords::holdings() {
  const std::lock_guard lock(mutex_);
  return all_holdings(*database_);
}

}  // namespace keel
