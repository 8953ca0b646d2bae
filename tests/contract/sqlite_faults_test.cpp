// What the SQLite store makes of a disk, a file or a neighbour that does it wrong.
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "adapters/sqlite/records.h"
#include "adapters/sqlite/store.h"
#include "tests/contract/faulty_disk.h"
#include "tests/contract/store_contract.h"

namespace keel {
namespace {

using enum StoreError::Code;

class SqliteFaults : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/keel-faults-XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    directory_ = pattern;
    path_ = directory_ + "/keel.db";
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  // A store that leads, with one job in it.
  void start(const SqliteSettings& settings = {}) {
    store_ = SqliteStore::open(path_, settings).value();
    epoch_ = store_->take_over().value();
    append(submission_of(sample_job(1)));
  }
  Batch fitted(const Batch& batch) { return fit(batch, seq_, {}); }
  void append(const Batch& batch) { seq_ = store_->append(epoch_, seq_, fitted(batch)).value(); }

  // Thousands of pages, so that a disk can fill up between the first and the last.
  static Batch large_batch() {
    Batch batch = submission_of(sample_job(1000));
    for (std::uint64_t id = 1001; id < 4000; ++id) {
      batch.jobs.push_back(sample_job(id));
      batch.events.push_back({{}, {}, JobFact{{id}, Canceled{}}});
    }
    return batch;
  }

  static Contents contents_of(Store& store, const std::string& path) {
    const auto records = SqliteRecords::open(path);
    return keel::contents_of(store, **records);
  }
  Contents contents() { return contents_of(*store_, path_); }

  void change_file(const char* sql) {
    store_.reset();
    const auto database = sqlite::Database::open(path_, sqlite::Access::write).value();
    const auto done = database->run(sql);
    EXPECT_TRUE(done) << done.error().what;
  }

  std::string directory_;
  std::string path_;
  std::unique_ptr<SqliteStore> store_;
  Epoch epoch_;
  Seq seq_;
};

TEST_F(SqliteFaults, an_append_costs_one_sync) {
  FaultyDisk disk;
  start();
  for (std::uint64_t id = 2; id < 10; ++id) {
    const int before = disk.syncs();
    append(joined(submission_of(sample_job(id)), report_of(sample_node("node-1"))));
    EXPECT_EQ(disk.syncs(), before + 1);
  }
  store_.reset();
}

TEST_F(SqliteFaults, a_power_cut_takes_nothing_that_was_acknowledged) {
  FaultyDisk disk;
  start({.log_pages_max = 200});
  // Long enough for the log to be moved into the file a few times.
  for (std::uint64_t id = 2; id < 200; ++id) {
    append(
        submission_of(sample_job(id), sample_spec(std::string(20'000, 'x') + std::to_string(id))));
    if (id % 25 != 0) continue;
    const std::string image = directory_ + "/" + std::to_string(id);
    std::filesystem::create_directory(image);
    disk.save_synced(directory_, image);
    const auto survivor = SqliteStore::open(image + "/keel.db");
    ASSERT_TRUE(survivor) << survivor.error().detail;
    EXPECT_EQ(contents_of(**survivor, image + "/keel.db"), contents());
  }
  store_.reset();
}

TEST_F(SqliteFaults, a_disk_that_is_full_at_any_write_keeps_nothing_and_lets_go_on) {
  FaultyDisk disk;
  start();
  int finished = 0;
  for (int writes = 0; writes < 60 && finished < 3; ++writes) {
    SCOPED_TRACE(testing::Message() << "full after " << writes << " writes");
    const auto id = static_cast<std::uint64_t>(writes) + 2;
    const Batch batch = fitted(joined(submission_of(sample_job(id), sample_spec("n")),
                                      report_of(sample_node("node-" + std::to_string(id)))));
    const Contents before = contents();
    disk.be_full_after(writes);
    const auto seq = store_->append(epoch_, seq_, batch);
    disk.heal();
    const Contents now = contents();
    if (seq) {
      ++finished;
      EXPECT_EQ(now.seq, *seq);
    } else {
      EXPECT_EQ(seq.error().code, unavailable) << seq.error().detail;
      EXPECT_EQ(now, before);
    }
    store_ = nullptr;
    store_ = SqliteStore::open(path_).value();
    EXPECT_EQ(contents(), now) << "what a reload said is what a restart says";
    seq_ = now.seq;
  }
  EXPECT_EQ(finished, 3);
  store_.reset();
}

TEST_F(SqliteFaults, a_disk_that_fills_up_half_way_through_a_batch_is_unavailable) {
  FaultyDisk disk;
  start();
  const Contents before = contents();
  disk.be_full_after(50);
  const Batch batch = fitted(large_batch());
  EXPECT_EQ(store_->append(epoch_, seq_, batch).error().code, unavailable);
  EXPECT_EQ(store_->append(epoch_, seq_, batch).error().code, unavailable);
  EXPECT_EQ(contents(), before);
  disk.heal();
  EXPECT_TRUE(store_->append(epoch_, seq_, batch)) << "the same arguments, later";
  store_.reset();
}

// The kernel may drop what it could not write and call the next sync a success.
TEST_F(SqliteFaults, a_sync_that_fails_once_is_the_end_of_a_store) {
  FaultyDisk disk;
  start();
  const Contents acknowledged = contents();
  const Batch batch = fitted(submission_of(sample_job(2, "ada", "key")));
  disk.fail_syncs_after(0);
  const auto seq = store_->append(epoch_, seq_, batch);
  disk.heal();
  ASSERT_FALSE(seq);
  EXPECT_EQ(seq.error().code, broken);
  EXPECT_NE(seq.error().detail.find(path_), std::string::npos) << seq.error().detail;

  const int before = disk.syncs();
  EXPECT_EQ(store_->append(epoch_, seq_, batch).error().code, broken);
  EXPECT_EQ(store_->take_over().error().code, broken);
  EXPECT_EQ(store_->load().error().code, broken);
  EXPECT_EQ(store_->find_keys({{"ada", "key"}}).error().code, broken);
  EXPECT_EQ(store_->find_jobs({{1}}).error().code, broken);
  EXPECT_EQ(store_->spec(batch.jobs[0].spec).error().code, broken);
  store_.reset();
  EXPECT_EQ(disk.syncs(), before) << "a sync was tried again";

  store_ = SqliteStore::open(path_).value();
  const Contents now = contents();
  if (now.seq == seq_) {
    EXPECT_EQ(now, acknowledged);
  } else {
    EXPECT_EQ(now.seq, batch.events.back().seq) << "it may have been written, whole";
    EXPECT_EQ(now.jobs.size(), 2u);
  }
  seq_ = now.seq;
  epoch_ = store_->take_over().value();
  append(submission_of(sample_job(3)));
  store_.reset();
}

// Of the log's header, of a commit; of the log and of the file, when one is moved into the other.
TEST_F(SqliteFaults, whichever_sync_fails_it_is_noticed_and_nothing_acknowledged_is_lost) {
  FaultyDisk disk;
  const SqliteSettings moves_always{.log_pages_max = 1};
  start(moves_always);
  int acknowledged = 0;
  int refused = 0;
  for (int good_syncs = 0; good_syncs < 4; ++good_syncs) {
    SCOPED_TRACE(good_syncs);
    const auto id = static_cast<std::uint64_t>(good_syncs) + 2;
    const Batch batch = fitted(submission_of(sample_job(id)));
    const int failed_before = disk.failed_syncs();
    disk.fail_syncs_after(good_syncs);
    const auto seq = store_->append(epoch_, seq_, batch);
    disk.heal();
    ASSERT_EQ(disk.failed_syncs(), failed_before + 1) << "there are fewer syncs than that";
    ++(seq ? acknowledged : refused);
    const auto next = store_->load();
    ASSERT_FALSE(next) << "the store goes on";
    EXPECT_EQ((seq ? next.error() : seq.error()).code, broken);

    store_.reset();
    store_ = SqliteStore::open(path_, moves_always).value();
    const Loaded now = store_->load().value();
    EXPECT_GE(now.seq, seq ? *seq : seq_);
    EXPECT_EQ(store_->find_jobs({{id}})->size(), now.seq == seq_ ? 0u : 1u);
    seq_ = now.seq;
    epoch_ = store_->take_over().value();
  }
  EXPECT_GE(acknowledged, 1);
  EXPECT_GE(refused, 1);
  store_.reset();
}

TEST_F(SqliteFaults, a_disk_that_cannot_sync_makes_no_store) {
  FaultyDisk disk;
  disk.fail_syncs_after(0);
  const auto store = SqliteStore::open(path_);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, broken) << store.error().detail;
}

TEST_F(SqliteFaults, a_store_put_back_from_an_older_copy_fences_whoever_led_meanwhile) {
  start();
  store_.reset();
  std::filesystem::copy_file(path_, directory_ + "/copy.db");
  store_ = SqliteStore::open(path_).value();
  epoch_ = store_->take_over().value();
  append(submission_of(sample_job(2)));
  store_.reset();
  std::filesystem::rename(directory_ + "/copy.db", path_);
  store_ = SqliteStore::open(path_).value();
  const Batch batch = fit(submission_of(sample_job(3)), Seq{1}, {});
  EXPECT_EQ(store_->append(epoch_, Seq{1}, batch).error().code, fenced);
  // A new leader would be given the former one's epoch once more.
  ASSERT_TRUE(store_->mark_restored({}));
  EXPECT_GT(store_->take_over().value(), epoch_);
  EXPECT_EQ(store_->append(epoch_, Seq{1}, batch).error().code, fenced);
}

// The kernel's own refusal, rather than ours.
TEST_F(SqliteFaults, a_file_that_may_not_grow_is_unavailable) {
  start();
  const Contents before = contents();
  const auto old_action = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit small{1'000'000, old_limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto seq = store_->append(epoch_, seq_, fitted(large_batch()));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  std::signal(SIGXFSZ, old_action);
  EXPECT_EQ(seq.error().code, unavailable) << seq.error().detail;
  EXPECT_EQ(contents(), before);
  append(large_batch());
}

TEST_F(SqliteFaults, a_file_that_may_only_be_read_is_unavailable) {
  start();
  store_.reset();
  ASSERT_EQ(::chmod(path_.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(directory_.c_str(), 0555), 0);
  // Root may write everywhere, so somebody else has to try.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::getuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setuid(65534) != 0)) ::_exit(99);
    const auto store = SqliteStore::open(path_);
    if (store) ::_exit(98);
    const bool is_named = store.error().detail.find(path_) != std::string::npos;
    ::_exit(is_named ? static_cast<int>(store.error().code) : 97);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(unavailable));
  ASSERT_EQ(::chmod(directory_.c_str(), 0755), 0);
}

TEST_F(SqliteFaults, a_directory_that_is_not_there_is_unavailable) {
  EXPECT_EQ(SqliteStore::open(directory_ + "/none/keel.db").error().code, unavailable);
}

TEST_F(SqliteFaults, a_neighbour_that_never_ends_its_transaction_is_unavailable) {
  start();
  const auto neighbour = sqlite::Database::open(path_, sqlite::Access::write).value();
  ASSERT_TRUE(neighbour->run("BEGIN IMMEDIATE"));
  const Batch batch = fitted(submission_of(sample_job(2)));
  EXPECT_EQ(store_->append(epoch_, seq_, batch).error().code, unavailable);
  EXPECT_EQ(store_->load()->seq, seq_) << "reading does not wait";
  ASSERT_TRUE(neighbour->run("ROLLBACK"));
  EXPECT_TRUE(store_->append(epoch_, seq_, batch));
}

TEST_F(SqliteFaults, rows_that_cannot_be_read_are_unreadable) {
  for (const char* damage : {
           "UPDATE jobs SET blob = x'ff'",
           "UPDATE jobs SET blob = x''",
           "UPDATE nodes SET blob = x'ffff'",
           "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)",
           "UPDATE meta SET seq = seq + 1",
           "DELETE FROM meta",
           "DROP TABLE holdings",
       }) {
    SCOPED_TRACE(damage);
    std::filesystem::remove(path_);
    seq_ = {};
    start();
    append(report_of(sample_node("node-1")));
    change_file(damage);
    const auto store = SqliteStore::open(path_);
    if (store) {
      EXPECT_EQ((*store)->load().error().code, unreadable);
    } else {
      EXPECT_EQ(store.error().code, unreadable);
    }
  }
}

TEST_F(SqliteFaults, a_record_that_cannot_be_read_is_unreadable) {
  start();
  change_file("UPDATE specs SET blob = x'ff'; UPDATE events SET blob = x'ff'");
  const auto records = SqliteRecords::open(path_);
  ASSERT_TRUE(records);
  EXPECT_EQ((*records)->job({1}).error().code, unreadable);
  EXPECT_EQ((*records)->jobs({}).error().code, unreadable);
  EXPECT_EQ((*records)->events({1}, Seq{}, 10).error().code, unreadable);
}

TEST_F(SqliteFaults, damaged_pages_are_unreadable) {
  start();
  append(large_batch());
  store_.reset();
  {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(4096);
    for (int page = 1; page < 100; ++page) file << std::string(4096, '\xa5');
  }
  const auto store = SqliteStore::open(path_);
  if (store) {
    EXPECT_EQ((*store)->load().error().code, unreadable);
  } else {
    EXPECT_EQ(store.error().code, unreadable);
  }
}

TEST_F(SqliteFaults, what_could_not_be_read_back_is_not_written) {
  start();
  const Contents before = contents();
  const Batch good = submission_of(sample_job(2));
  Batch bad_job = good;
  bad_job.jobs[0].first_failed = 7;
  Batch bad_event = good;
  bad_event.events[0].fact = JobFact{{2}, Reserved{{1}, {}, 0, {{{"a\nb"}, {}}}}};
  bad_event.last_token = {1};
  JobSpec no_text = sample_spec("train");
  no_text.program = "\xff";
  const Batch bad_spec = submission_of(sample_job(2), no_text);
  Batch bad_node = report_of(sample_node("node-1"));
  bad_node.nodes[0].inventory.id.name = "a\nb";
  for (const Batch& bad : {bad_job, bad_event, bad_spec, bad_node}) {
    EXPECT_EQ(store_->append(epoch_, seq_, fitted(bad)).error().code, conflict);
    EXPECT_EQ(contents(), before);
  }
}

}  // namespace
}  // namespace keel
