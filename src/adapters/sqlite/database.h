// As much of SQLite as a store needs, as values that close themselves: a connection, one use of a
// prepared statement, a transaction. Statements are prepared once and only ever bound.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "ports/store.h"

struct sqlite3;
struct sqlite3_stmt;

namespace keel::sqlite {

struct Failure {
  int code{};        // extended, as SQLite gives it
  std::string what;  // for the operator's log
};

// What a failure means to a caller whose transaction is rolled back or never began. A violated
// constraint that the caller did not look for is `conflict`: the batch broke a promise.
StoreError to_store_error(const Failure& failure);
StoreError to_commit_error(const Failure& failure);  // of Transaction::commit

// uint64 in SQLite's int64 such that ORDER BY and < still mean what they say.
constexpr std::int64_t in_order(std::uint64_t id) {
  return static_cast<std::int64_t>(id ^ (std::uint64_t{1} << 63));
}
constexpr std::uint64_t from_order(std::int64_t stored) {
  return static_cast<std::uint64_t>(stored) ^ (std::uint64_t{1} << 63);
}

class Database;

// One use of a prepared statement; hands it back when it goes. Parameters are bound in order, and
// what they name must live as long as the Query. What a column gives lives until the next call.
class Query {
 public:
  Query(Database& database, sqlite3_stmt* statement, Failure failure);
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query();

  Query& bind(std::int64_t value);
  Query& bind(std::string_view text);
  Query& bind_blob(std::string_view bytes);
  Query& bind_null();

  // Goes on to the next row: true where there is one. Failures of preparing and of binding are
  // given here, so that calls can be chained.
  Result<bool, Failure> next();

  std::int64_t integer(int column) const;
  std::string_view bytes(int column) const;  // text or blob
  bool is_null(int column) const;

 private:
  void note(int code);

  Database& database_;
  sqlite3_stmt* statement_;
  Failure failure_;  // code 0: none so far
  int bound_ = 0;
};

enum class Access : std::uint8_t { write, read };

// One connection. Not for two threads at once.
//
// Once a sync has failed, every call fails: the kernel may have dropped what it could not write and
// would call the next sync a success (https://wiki.postgresql.org/wiki/Fsync_Errors).
class Database {
 public:
  // Opens `path`, creating it for `Access::write`. Changes nothing in a file that exists. A file
  // that may only be read is not opened for `Access::write`.
  static Result<std::unique_ptr<Database>, Failure> open(const std::string& path, Access access);

  Database(sqlite3* connection, std::string path);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  // Statements without parameters or rows, one after another.
  Result<Done, Failure> run(const char* sql);

  // `sql` must be a literal: it is prepared once and found again by its text. One use at a time.
  Query query(std::string_view sql);

  // Rows that the last statement changed.
  std::int64_t changes() const;

  // Whether closing leaves the write-ahead log as it is, instead of moving it into the file.
  void leave_untouched(bool on);

  bool in_transaction() const;

  // Moves the write-ahead log into the file if it has grown to `pages_max`; after a commit.
  // What cannot be moved now stays in the log, which is as safe, for the next time. So there is
  // nothing to be told but that a sync failed, and the next call tells that.
  void shorten_log(int pages_max);

  // What `code` was about; nothing of it is lost where it is a sync that failed.
  Failure note(int code);
  const std::optional<Failure>& broken() const { return broken_; }

 private:
  sqlite3* connection_;
  std::string path_;
  int log_pages_ = 0;  // of the log after the last commit here
  std::optional<Failure> broken_;
  std::map<std::string_view, sqlite3_stmt*> statements_;
};

// A transaction that is rolled back unless it is committed.
class Transaction {
 public:
  // Takes the write lock at once: whoever waits longer than the busy timeout gets SQLITE_BUSY.
  static Result<Transaction, Failure> begin_write(Database& database);
  // One snapshot for several reads.
  static Result<Transaction, Failure> begin_read(Database& database);

  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  // Durable when it returns. A failure says nothing about what is on the disk.
  Result<Done, Failure> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;  // null: moved from
};

}  // namespace keel::sqlite
