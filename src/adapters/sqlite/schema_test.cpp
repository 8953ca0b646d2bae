#include "adapters/sqlite/schema.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "adapters/sqlite/records.h"
#include "adapters/sqlite/store.h"

namespace keel::sqlite {
namespace {

using enum StoreError::Code;

// The step that some next version would take: a new column with a value for the rows that are
// there.
constexpr const char* next_step = R"sql(
  ALTER TABLE nodes ADD COLUMN rack TEXT NOT NULL DEFAULT 'unknown';
  CREATE INDEX nodes_of_rack ON nodes (rack);
)sql";

class Schema : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/keel-schema-XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    directory_ = pattern;
    path_ = directory_ + "/keel.db";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<Database> open() { return Database::open(path_, Access::write).value(); }

  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::int64_t number(Database& database, std::string_view sql) {
    Query query = database.query(sql);
    const auto row = query.next();
    if (!row) ADD_FAILURE() << row.error().what;
    return row && *row ? query.integer(0) : -1;
  }

  std::string directory_;
  std::string path_;
};

TEST_F(Schema, an_empty_file_is_brought_to_the_last_version) {
  const auto database = open();
  ASSERT_TRUE(migrate(*database, migrations()));
  EXPECT_EQ(number(*database, "SELECT schema_version FROM meta"),
            static_cast<std::int64_t>(migrations().size()));
  EXPECT_EQ(number(*database, "SELECT count(*) FROM jobs"), 0);
}

TEST_F(Schema, a_file_of_version_one_is_migrated_with_its_rows) {
  {
    const auto database = open();
    ASSERT_TRUE(migrate(*database, migrations().first(1)));
    ASSERT_TRUE(database->run("INSERT INTO nodes (name, blob) VALUES ('node-1', x'00')"));
    ASSERT_TRUE(database->run("UPDATE meta SET epoch = 7, seq = 9"));
  }
  const std::array steps = {migrations()[0], next_step};
  const auto database = open();
  ASSERT_TRUE(migrate(*database, steps));
  EXPECT_EQ(number(*database, "SELECT schema_version FROM meta"), 2);
  EXPECT_EQ(number(*database, "SELECT epoch FROM meta"), 7);
  EXPECT_EQ(number(*database, "SELECT count(*) FROM nodes WHERE rack = 'unknown'"), 1);
  ASSERT_TRUE(migrate(*database, steps)) << "once is enough";
  EXPECT_EQ(number(*database, "SELECT schema_version FROM meta"), 2);
}

TEST_F(Schema, a_step_that_fails_leaves_the_version_before) {
  {
    const auto database = open();
    ASSERT_TRUE(migrate(*database, migrations().first(1)));
  }
  const std::string before = bytes();
  const std::array steps = {migrations()[0], next_step, "CREATE TABLE half (x); NOT SQL"};
  {
    const auto database = open();
    EXPECT_FALSE(migrate(*database, steps));
  }
  EXPECT_EQ(bytes(), before);
  const auto database = open();
  EXPECT_EQ(number(*database, "SELECT schema_version FROM meta"), 1);
  EXPECT_EQ(number(*database, "SELECT count(*) FROM sqlite_schema WHERE name = 'half'"), 0);
}

TEST_F(Schema, a_newer_file_is_unreadable_and_stays_as_it_is) {
  ASSERT_TRUE(SqliteStore::open(path_));
  {
    const auto database = open();
    ASSERT_TRUE(database->run("UPDATE meta SET schema_version = 999"));
  }
  const std::string before = bytes();
  EXPECT_EQ(SqliteStore::open(path_).error().code, unreadable);
  EXPECT_EQ(SqliteRecords::open(path_).error().code, unreadable);
  EXPECT_EQ(bytes(), before);
}

TEST_F(Schema, a_newer_file_keeps_its_log_too) {
  ASSERT_TRUE(SqliteStore::open(path_));
  {
    // What a newer version's crash leaves: the log not yet moved into the file.
    const auto database = open();
    database->leave_untouched(true);
    ASSERT_TRUE(database->run("UPDATE meta SET schema_version = 999"));
  }
  const std::string before = bytes();
  const auto log_size = std::filesystem::file_size(path_ + "-wal");
  ASSERT_GT(log_size, 0u);
  EXPECT_EQ(SqliteStore::open(path_).error().code, unreadable);
  EXPECT_EQ(bytes(), before);
  EXPECT_EQ(std::filesystem::file_size(path_ + "-wal"), log_size);
}

TEST_F(Schema, somebody_elses_database_is_unreadable_and_stays_as_it_is) {
  {
    const auto database = open();
    ASSERT_TRUE(database->run("CREATE TABLE cookies (name TEXT)"));
  }
  const std::string before = bytes();
  EXPECT_EQ(SqliteStore::open(path_).error().code, unreadable);
  EXPECT_EQ(bytes(), before);
}

TEST_F(Schema, a_file_that_is_no_database_is_unreadable_and_stays_as_it_is) {
  std::ofstream(path_) << std::string(10'000, 'x');
  const std::string before = bytes();
  EXPECT_EQ(SqliteStore::open(path_).error().code, unreadable);
  EXPECT_EQ(bytes(), before);
}

TEST_F(Schema, records_need_a_database_that_is_there) {
  EXPECT_EQ(SqliteRecords::open(path_).error().code, unavailable);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Schema, every_read_has_an_index) {
  const auto database = open();
  ASSERT_TRUE(migrate(*database, migrations()));
  for (const char* sql : {
           "EXPLAIN QUERY PLAN SELECT blob FROM jobs WHERE open = 1 ORDER BY id",
           "EXPLAIN QUERY PLAN SELECT id, said FROM jobs "
           "WHERE user = ?1 AND key = ?2 AND key <> ''",
           "EXPLAIN QUERY PLAN SELECT id FROM jobs "
           "WHERE state = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
           "EXPLAIN QUERY PLAN SELECT id FROM jobs "
           "WHERE user = ?1 AND state = ?2 AND id < ?3 ORDER BY id DESC LIMIT ?4",
           "EXPLAIN QUERY PLAN SELECT blob FROM events "
           "WHERE job = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
       }) {
    Query plan = database->query(sql);
    for (;;) {
      const auto row = plan.next();
      ASSERT_TRUE(row) << row.error().what;
      if (!*row) break;
      const std::string step(plan.bytes(3));
      EXPECT_NE(step.find("USING"), std::string::npos) << sql << ": " << step;
      EXPECT_EQ(step.find("TEMP B-TREE"), std::string::npos) << sql << ": " << step;
    }
  }
}

}  // namespace
}  // namespace keel::sqlite
