// What a job costs on disk over its life: bytes of the closed database, free pages included, by the
// number of jobs that lived in it.
#include <gtest/gtest.h>

#include <filesystem>

#include "adapters/sqlite/store.h"
#include "bench/lives.h"

namespace keel {
namespace {

constexpr std::uint64_t jobs = 500;
constexpr std::uint64_t at_once = 50;

class SqliteSize : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/keel-size-XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // Bytes for each job once `jobs` have lived, and what each of as many more adds.
  struct Bytes {
    std::uint64_t each{};
    std::uint64_t each_more{};
  };
  Bytes bytes_of_a_life(bench::Specs specs, const Retention& retention) {
    const std::string path = directory_ + "/keel.db";
    auto store = SqliteStore::open(path, {.retention = retention}).value();
    bench::Lives lives(*store, store->take_over().value(), specs, at_once);
    Bytes bytes;
    std::uint64_t before = 0;
    for (std::uint64_t* result : {&bytes.each, &bytes.each_more}) {
      EXPECT_TRUE(lives.play(jobs));
      store.reset();
      EXPECT_FALSE(std::filesystem::exists(path + "-wal")) << "all of it is in the file";
      const std::uint64_t size = std::filesystem::file_size(path);
      *result = (size - before) / jobs;
      before = size;
      store = SqliteStore::open(path, {.retention = retention}).value();
      lives.go_on_in(*store);
    }
    store.reset();
    std::filesystem::remove(path);
    return bytes;
  }

  std::string directory_;
};

TEST_F(SqliteSize, a_whole_life_with_all_its_events_costs_2_kib_at_most) {
  for (const auto specs : {bench::Specs::equal, bench::Specs::different}) {
    const Bytes bytes = bytes_of_a_life(specs, {});
    EXPECT_LE(bytes.each, 2048u);
    EXPECT_LE(bytes.each_more, 2048u);
    RecordProperty("bytes", static_cast<int>(bytes.each_more));
  }
}

TEST_F(SqliteSize, behind_the_cut_a_life_costs_less_than_half_as_much) {
  const Retention few{1000};  // of the 5500 events that 500 lives make
  const Bytes whole = bytes_of_a_life(bench::Specs::different, {});
  const Bytes cut = bytes_of_a_life(bench::Specs::different, few);
  EXPECT_LE(cut.each_more, whole.each_more / 2);
  EXPECT_LE(cut.each_more, 1024u);
}

}  // namespace
}  // namespace keel
