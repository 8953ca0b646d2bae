#include "adapters/sqlite/database.h"

#include <sqlite3.h>

#include <utility>

#include "base/check.h"

namespace keel::sqlite {
namespace {

// Another process that writes (a second control plane, an operator's shell) is waited for this
// long.
constexpr int busy_timeout_ms = 2000;

Failure failure_of(sqlite3* connection, int code) {
  std::string what = connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  return {code, std::move(what) + " (SQLite " + std::to_string(code) + ")"};
}

}  // namespace

bool is_full(const Failure& failure) { return (failure.code & 0xff) == SQLITE_FULL; }

StoreError to_store_error(const Failure& failure) {
  using enum StoreError::Code;
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

Query::Query(sqlite3* connection, sqlite3_stmt* statement, Failure failure)
    : connection_(connection), statement_(statement), failure_(std::move(failure)) {}

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
    failure_ = failure_of(connection_, code);
  }
}

Result<bool, Failure> Query::next() {
  if (failure_.code != SQLITE_OK) return failure_;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  failure_ = failure_of(connection_, code);
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
  auto database = std::make_unique<Database>(connection);
  if (code != SQLITE_OK) return failure_of(connection, code);
  (void)sqlite3_busy_timeout(connection, busy_timeout_ms);  // cannot fail on an open connection
  return database;
}

Database::~Database() {
  for (const auto& [sql, statement] : statements_) (void)sqlite3_finalize(statement);
  // Every statement is finalised, hence it closes; a checkpoint that fails is made up for later.
  (void)sqlite3_close(connection_);
}

Result<Done, Failure> Database::run(const char* sql) {
  const int code = sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failure_of(connection_, code);
  return Done{};
}

Query Database::query(std::string_view sql) {
  const auto found = statements_.find(sql);
  if (found != statements_.end()) return Query(connection_, found->second, {});
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(connection_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return Query(connection_, nullptr, failure_of(connection_, code));
  statements_.emplace(sql, statement);
  return Query(connection_, statement, {});
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
