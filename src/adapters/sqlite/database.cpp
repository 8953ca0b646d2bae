#include "adapters/sqlite/database.h"

#include <sqlite3.h>

#include <cstring>
#include <utility>

#include "base/check.h"

namespace keel::sqlite {
namespace {

// Another process that writes (a second control plane, an operator's shell) is waited for this
// long.
constexpr int busy_timeout_ms = 2000;

Failure failure_of(sqlite3* connection, int code, const std::string& path) {
  std::string what = path + ": ";
  what += connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  const int basic = code & 0xff;
  const bool is_of_a_call = basic == SQLITE_IOERR || basic == SQLITE_CANTOPEN;
  if (const int error = connection != nullptr ? sqlite3_system_errno(connection) : 0;
      is_of_a_call && error != 0) {
    what += std::string(": ") + std::strerror(error);
  }
  return {code, std::move(what) + " (SQLite " + std::to_string(code) + ")"};
}

bool is_full(const Failure& failure) { return (failure.code & 0xff) == SQLITE_FULL; }

bool is_sync_failure(const Failure& failure) {
  return failure.code == SQLITE_IOERR_FSYNC || failure.code == SQLITE_IOERR_DIR_FSYNC;
}

}  // namespace

StoreError to_store_error(const Failure& failure) {
  using enum StoreError::Code;
  if (is_sync_failure(failure)) return {broken, failure.what};
  switch (failure.code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
    case SQLITE_INTERRUPT:
    case SQLITE_NOMEM: return {unavailable, failure.what};
    case SQLITE_CONSTRAINT: return {conflict, failure.what};
    case SQLITE_MISUSE:
    case SQLITE_RANGE: check(false, "SQLite is used as it wants to be"); [[fallthrough]];
    // Also what a missing table gives: somebody else's file, or a damaged schema.
    default: return {unreadable, failure.what};
  }
}

// The commit frame may or may not be in the log when its sync fails, and a restart would find it.
// A write that fails, for want of room or otherwise, comes before that: the frame itself is
// missing, or torn.
StoreError to_commit_error(const Failure& failure) {
  const bool is_write = is_full(failure) || failure.code == SQLITE_IOERR_WRITE;
  if (is_write || is_sync_failure(failure)) return to_store_error(failure);
  return {StoreError::Code::unknown, failure.what};
}

Query::Query(Database& database, sqlite3_stmt* statement, Failure failure)
    : database_(database), statement_(statement), failure_(std::move(failure)) {}

Query::~Query() {
  if (statement_ == nullptr) return;  // it could not be prepared
  // Their result is that of the last step, which next() gave.
  (void)sqlite3_reset(statement_);
  (void)sqlite3_clear_bindings(statement_);
}

Query& Query::bind(std::int64_t value) {
  note(sqlite3_bind_int64(statement_, ++bound_, value));
  return *this;
}

Query& Query::bind(std::string_view text) {
  // A null pointer would bind NULL, and an empty view may have one.
  const char* first = text.empty() ? "" : text.data();
  note(sqlite3_bind_text64(statement_, ++bound_, first, text.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Query& Query::bind_blob(std::string_view bytes) {
  const char* first = bytes.empty() ? "" : bytes.data();
  note(sqlite3_bind_blob64(statement_, ++bound_, first, bytes.size(), SQLITE_STATIC));
  return *this;
}

Query& Query::bind_null() {
  note(sqlite3_bind_null(statement_, ++bound_));
  return *this;
}

void Query::note(int code) {
  if (statement_ != nullptr && code != SQLITE_OK && failure_.code == SQLITE_OK) {
    failure_ = database_.note(code);
  }
}

Result<bool, Failure> Query::next() {
  if (database_.broken()) return *database_.broken();
  if (failure_.code != SQLITE_OK) return failure_;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  failure_ = database_.note(code);
  return failure_;
}

std::int64_t Query::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::string_view Query::bytes(int column) const {
  const void* first = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (first == nullptr) return {};
  return {static_cast<const char*>(first), static_cast<std::size_t>(size)};
}

bool Query::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

Result<std::unique_ptr<Database>, Failure> Database::open(const std::string& path, Access access) {
  const int flags =
      SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
      (access == Access::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
  auto database = std::make_unique<Database>(connection, path);
  if (code != SQLITE_OK) return database->note(code);
  // SQLite is content with less than it was asked for, and says so with the first write.
  if (access == Access::write && sqlite3_db_readonly(connection, "main") == 1) {
    return Failure{SQLITE_READONLY, path + " may only be read: its file, directory or file system"};
  }
  (void)sqlite3_busy_timeout(connection, busy_timeout_ms);  // cannot fail on an open connection
  return database;
}

Database::Database(sqlite3* connection, std::string path)
    : connection_(connection), path_(std::move(path)) {
  if (connection_ == nullptr) return;  // there was no memory to open it with
  // In place of SQLite's own checkpoints, which tell nobody when they fail.
  sqlite3_wal_hook(
      connection_,
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<Database*>(self)->log_pages_ = pages;
        return SQLITE_OK;
      },
      this);
}

Database::~Database() {
  for (const auto& [sql, statement] : statements_) (void)sqlite3_finalize(statement);
  if (broken_) leave_untouched(true);
  // Every statement is finalised, hence it closes; a log that cannot be moved into the file stays.
  (void)sqlite3_close(connection_);
}

Failure Database::note(int code) {
  Failure failure = failure_of(connection_, code, path_);
  if (is_sync_failure(failure) && !broken_) broken_ = failure;
  return failure;
}

void Database::shorten_log(int pages_max) {
  if (log_pages_ < pages_max || broken_) return;
  const int code =
      sqlite3_wal_checkpoint_v2(connection_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (code != SQLITE_OK) (void)note(code);
}

Result<Done, Failure> Database::run(const char* sql) {
  if (broken_) return *broken_;
  const int code = sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return note(code);
  return Done{};
}

Query Database::query(std::string_view sql) {
  const auto found = statements_.find(sql);
  if (found != statements_.end()) return Query(*this, found->second, {});
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(connection_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return Query(*this, nullptr, note(code));
  statements_.emplace(sql, statement);
  return Query(*this, statement, {});
}

std::int64_t Database::changes() const { return sqlite3_changes64(connection_); }

void Database::leave_untouched(bool on) {
  // Cannot fail on an open connection.
  (void)sqlite3_db_config(connection_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on ? 1 : 0, nullptr);
}

bool Database::in_transaction() const { return sqlite3_get_autocommit(connection_) == 0; }

Result<Transaction, Failure> Transaction::begin_write(Database& database) {
  // Left over where an earlier ROLLBACK failed.
  if (database.in_transaction()) {
    TRY(rolled_back, database.run("ROLLBACK"));
  }
  TRY(begun, database.run("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Result<Transaction, Failure> Transaction::begin_read(Database& database) {
  TRY(begun, database.run("BEGIN"));
  return Transaction(database);
}

Transaction::~Transaction() {
  // SQLite itself rolls back after some failures. Should this fail too, begin_write tries again.
  if (database_ != nullptr && database_->in_transaction()) (void)database_->run("ROLLBACK");
}

Result<Done, Failure> Transaction::commit() { return database_->run("COMMIT"); }

}  // namespace keel::sqlite
