// As much of SQLite as a store needs, as values that close themselves: a connection, one use of a
// prepared statement, a transaction. Statements are prepared once and only ever bound.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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
bool is_full(const Failure& failure);  // the disk has no room

// uint64 in SQLite's int64 such that ORDER BY and < still mean what they say.
constexpr std::int64_t in_order(std::uint64_t id) {
  return static_cast<std::int64_t>(id ^ (std::uint64_t{1} << 63));
}
constexpr std::uint64_t from_order(std::int64_t stored) {
  return static_cast<std::uint64_t>(stored) ^ (std::uint64_t{1} << 63);
}

// One use of a prepared statement; hands it back when it goes. Parameters are bound in order, and
// what they name must live as long as the Query. What a column gives lives until the next call.
class Query {
 public:
  Query(sqlite3* connection, sqlite3_stmt* statement, Failure failure);
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

  sqlite3* connection_;
  sqlite3_stmt* statement_;
  Failure failure_;  // code 0: none so far
  int bound_ = 0;
};

enum class Access : std::uint8_t { write, read };

// One connection. Not for two threads at once.
class Database {
 public:
  // Opens `path`, creating it for `Access::write`. Changes nothing in a file that exists.
  static Result<std::unique_ptr<Database>, Failure> open(const std::string& path, Access access);

  explicit Database(sqlite3* connection) : connection_(connection) {}
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

 private:
  sqlite3* connection_;
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
