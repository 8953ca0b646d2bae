#include "adapters/blobs/file_store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "model/limits.h"
#include "wire/spec.h"

namespace keel {
namespace {

class Files : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/keel-files-XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<FileStore> open(Bytes total_max = mebibytes(100)) {
    auto store = FileStore::open(directory_ + "/files", total_max);
    if (!store) ADD_FAILURE() << store.error().detail;
    return store ? *std::move(store) : nullptr;
  }
  std::size_t files_on_disk() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(directory_ + "/files"),
                      std::filesystem::directory_iterator()));
  }

  std::string directory_;
};

TEST_F(Files, what_was_put_can_be_read_after_reopening) {
  const std::string bytes("a\0b\n", 4);
  const auto digest = open()->put(bytes);
  ASSERT_TRUE(digest);
  EXPECT_EQ(*digest, sha256(bytes));

  const auto store = open();
  EXPECT_TRUE(store->has(*digest));
  EXPECT_EQ(store->total(), Bytes{4});
  EXPECT_EQ(store->read(*digest, 0, 100).value(), bytes);
}

TEST_F(Files, are_read_in_parts) {
  const auto store = open();
  const Digest digest = store->put("0123456789").value();
  EXPECT_EQ(store->read(digest, 0, 4).value(), "0123");
  EXPECT_EQ(store->read(digest, 8, 4).value(), "89");
  EXPECT_EQ(store->read(digest, 10, 4).value(), "");
  EXPECT_EQ(store->read(digest, -1, 4).value(), "");
  EXPECT_EQ(store->read(digest, 0, 0).value(), "");
}

TEST_F(Files, the_empty_file_is_a_file) {
  const auto store = open();
  const Digest digest = store->put("").value();
  EXPECT_TRUE(store->has(digest));
  EXPECT_EQ(store->read(digest, 0, 100).value(), "");
}

TEST_F(Files, the_same_bytes_are_kept_and_counted_once) {
  const auto store = open();
  const Digest first = store->put("twice").value();
  EXPECT_EQ(store->put("twice").value(), first);
  EXPECT_EQ(store->total(), Bytes{5});
  EXPECT_EQ(files_on_disk(), 1u);
}

TEST_F(Files, an_unknown_digest_is_missing) {
  const auto store = open();
  EXPECT_FALSE(store->has(sha256("never put")));
  EXPECT_EQ(store->read(sha256("never put"), 0, 1).error().code, FileStoreError::Code::missing);
}

TEST_F(Files, one_byte_over_the_limit_is_refused_and_the_limit_is_not) {
  const auto store = open();
  const std::string large(limits::file_bytes_max + 1, 'x');
  EXPECT_EQ(store->put(large).error().code, FileStoreError::Code::too_large);
  EXPECT_TRUE(store->put(std::string_view(large).substr(1)));
  EXPECT_EQ(files_on_disk(), 1u);
}

TEST_F(Files, the_cap_on_all_together_is_exact_and_survives_reopening) {
  ASSERT_TRUE(open(Bytes{10})->put("123456"));
  const auto store = open(Bytes{10});
  EXPECT_EQ(store->put("12345").error().code, FileStoreError::Code::full);
  EXPECT_TRUE(store->put("1234"));
  EXPECT_TRUE(store->put("123456")) << "what is there needs no room";
  EXPECT_EQ(store->total(), Bytes{10});
}

TEST_F(Files, half_written_ones_are_removed_on_opening) {
  std::filesystem::create_directories(directory_ + "/files");
  std::ofstream(directory_ + "/files/incoming-1") << "half";
  std::ofstream(directory_ + "/files/README") << "not ours";
  const auto store = open();
  EXPECT_EQ(store->total(), Bytes{0});
  EXPECT_EQ(files_on_disk(), 1u);
  EXPECT_TRUE(store->put("whole"));
}

TEST_F(Files, a_disk_that_refuses_leaves_nothing_and_no_room_is_lost) {
  const auto store = open(Bytes{300'000});
  const auto old_action = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit small{100'000, old_limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string bytes(200'000, 'x');
  const auto refused = store->put(bytes);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  std::signal(SIGXFSZ, old_action);

  EXPECT_EQ(refused.error().code, FileStoreError::Code::unavailable);
  EXPECT_FALSE(store->has(sha256(bytes)));
  EXPECT_EQ(store->total(), Bytes{0});
  EXPECT_EQ(files_on_disk(), 0u);
  EXPECT_TRUE(store->put(bytes)) << "the same again, once the disk has room";
}

TEST_F(Files, may_be_put_by_many_threads_at_once) {
  const auto store = open();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&store] {
      for (int i = 0; i < 20; ++i) {
        const std::string bytes = "file " + std::to_string(i);
        const auto digest = store->put(bytes);
        ASSERT_TRUE(digest);
        EXPECT_EQ(store->read(*digest, 0, 100).value(), bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(files_on_disk(), 20u);
  EXPECT_EQ(store->total(), Bytes{10 * 6 + 10 * 7});
}

TEST_F(Files, a_directory_that_cannot_be_made_is_unavailable) {
  std::ofstream(directory_ + "/plain") << "a file";
  EXPECT_EQ(FileStore::open(directory_ + "/plain/files", Bytes{1}).error().code,
            FileStoreError::Code::unavailable);
}

}  // namespace
}  // namespace keel
