#include "adapters/sqlite/schema.h"

#include <array>

namespace keel::sqlite {
namespace {

using Version = std::int64_t;

// Job ids are stored in_order(); all other unsigned numbers as they are. `blob` is the whole value
// as protobuf (proto/keel/v1); the columns beside it are what SQLite must see: keys, order,
// filters.
constexpr const char* version_1 = R"sql(
  -- One row. Its first two columns mean the same in every version to come.
  CREATE TABLE meta (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    schema_version INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at_us INTEGER NOT NULL,
    last_token INTEGER NOT NULL
  ) STRICT;
  INSERT INTO meta VALUES (1, 0, 0, 0, 0, 0);

  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    at_us INTEGER NOT NULL,
    job INTEGER,
    blob BLOB NOT NULL
  ) STRICT;
  CREATE INDEX events_of_job ON events (job) WHERE job IS NOT NULL;

  CREATE TABLE specs (
    digest BLOB PRIMARY KEY,
    blob BLOB NOT NULL
  ) STRICT;

  CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    state INTEGER NOT NULL,
    user TEXT NOT NULL,
    key TEXT NOT NULL,
    said BLOB NOT NULL,
    spec BLOB NOT NULL REFERENCES specs (digest),
    open INTEGER NOT NULL CHECK (open IN (0, 1)),
    blob BLOB NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX job_of_key ON jobs (user, key) WHERE key <> '';
  CREATE INDEX open_jobs ON jobs (id) WHERE open = 1;
  CREATE INDEX jobs_in_state ON jobs (state, id);
  CREATE INDEX jobs_of_user ON jobs (user, state, id);

  CREATE TABLE nodes (
    name TEXT PRIMARY KEY,
    blob BLOB NOT NULL
  ) STRICT;

  -- The primary key is the promise that a device is in at most one live reservation.
  CREATE TABLE holdings (
    device TEXT PRIMARY KEY,
    job INTEGER NOT NULL REFERENCES jobs (id),
    attempt INTEGER NOT NULL,
    task INTEGER NOT NULL,
    token INTEGER NOT NULL
  ) STRICT;
)sql";

// A log that is cut. From here on blobs leave out what columns hold: of events seq, at and job, of
// jobs id, state, said and spec. Readers take those from the columns, in older rows too.
constexpr const char* version_2 = R"sql(
  -- Events up to here are kept only of jobs that are not over: all of a job's, or none.
  ALTER TABLE meta ADD COLUMN cut INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE jobs ADD COLUMN last_event INTEGER NOT NULL DEFAULT 0;
  UPDATE jobs SET last_event = coalesce((SELECT max(seq) FROM events WHERE job = jobs.id), 0);
)sql";

// Put back from an older copy: what was given out after it, and whether that is surely over.
constexpr const char* version_3 = R"sql(
  CREATE TABLE lost_tokens (
    after INTEGER PRIMARY KEY,
    up_to INTEGER NOT NULL,
    settled INTEGER NOT NULL CHECK (settled IN (0, 1))
  ) STRICT;
)sql";

constexpr std::array steps_of_this_program = {version_1, version_2, version_3};

Result<Version, StoreError> version_of(Database& database) {
  Query tables = database.query(
      "SELECT count(*), count(*) FILTER (WHERE name = 'meta') "
      "FROM sqlite_schema WHERE type = 'table'");
  if (const auto row = tables.next(); !row) return to_store_error(row.error());
  if (tables.integer(0) == 0) return Version{0};
  if (tables.integer(1) == 0) {
    return StoreError{StoreError::Code::unreadable, "a database, but not one of keeld"};
  }
  // Asked only now: it cannot be prepared where there is no such table.
  Query version = database.query("SELECT schema_version FROM meta WHERE only_row = 1");
  const auto row = version.next();
  if (!row) return to_store_error(row.error());
  if (!*row) return StoreError{StoreError::Code::unreadable, "meta has no row"};
  return version.integer(0);
}

Result<Version, StoreError> readable_version(Database& database, Version known) {
  TRY(found, version_of(database));
  if (found >= 0 && found <= known) return found;
  return StoreError{StoreError::Code::unreadable,
                    "written by a newer keeld, in schema version " + std::to_string(found) +
                        "; this one knows versions up to " + std::to_string(known) +
                        " and has changed nothing: start the newer one"};
}

Result<Done, StoreError> take_steps(Database& database, std::span<const char* const> steps,
                                    Version from) {
  for (const char* step : steps.subspan(static_cast<std::size_t>(from))) {
    if (const auto ran = database.run(step); !ran) return to_store_error(ran.error());
  }
  Query query = database.query("UPDATE meta SET schema_version = ?");
  query.bind(static_cast<std::int64_t>(steps.size()));
  if (const auto done = query.next(); !done) return to_store_error(done.error());
  return Done{};
}

}  // namespace

std::span<const char* const> migrations() { return steps_of_this_program; }

Result<Done, StoreError> check_readable(Database& database, std::span<const char* const> steps) {
  TRY(version, readable_version(database, static_cast<Version>(steps.size())));
  return Done{};
}

Result<Done, StoreError> migrate(Database& database, std::span<const char* const> steps) {
  const auto known = static_cast<Version>(steps.size());
  // Most starts find nothing to do, and write nothing.
  TRY(first_look, readable_version(database, known));
  if (first_look == known) return Done{};

  auto transaction = Transaction::begin_write(database);
  if (!transaction) return to_store_error(transaction.error());
  TRY(version, readable_version(database, known));  // somebody else may have been faster
  TRY(taken, take_steps(database, steps, version));
  if (const auto done = transaction->commit(); !done) {
    return to_commit_error(done.error());
  }
  return Done{};
}

}  // namespace keel::sqlite
