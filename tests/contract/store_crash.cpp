#include "tests/contract/store_crash.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "adapters/sqlite/records.h"
#include "adapters/sqlite/store.h"
#include "base/check.h"
#include "bench/lives.h"
#include "core/lifecycle.h"
#include "sim/model_store.h"
#include "tests/contract/faulty_disk.h"
#include "tests/contract/store_contract.h"

namespace keel {
namespace {

using Unsynced = FaultyDisk::Unsynced;

constexpr Retention retention{60};  // of five lives, or a few less
constexpr SqliteSettings settings{.retention = retention, .log_pages_max = 50};

// In memory where that is possible: what is asked is what the bytes say, ten thousand times.
std::string make_directory() {
  std::string pattern = std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp";
  pattern += "/keel-crash-XXXXXX";
  check(::mkdtemp(pattern.data()) != nullptr, "there is room for a test's files");
  return pattern;
}

// Each job's events make its row: the log and the rows agree. Where the log is cut there is nothing
// to be compared.
void expect_rows_follow_from_events(Records& records, const std::vector<Job>& jobs) {
  for (const Job& job : jobs) {
    const auto events = records.events(job.id, Seq{}, 1000);
    if (!events) continue;
    std::optional<Job> made;
    for (const StoredEvent& event : *events) {
      const JobFact& fact = std::get<JobFact>(event.fact);
      if (const auto* first = std::get_if<Submitted>(&fact.event)) {
        made = create(fact.job, event.at, *first);
      } else {
        ASSERT_TRUE(made) << "the first event is missing";
        ASSERT_TRUE(apply(*made, event.at, fact.event)) << event.seq.value;
      }
    }
    ASSERT_EQ(made, job);
  }
}

// KNOWN-FAULTS, B-G2 and B-G3.
void expect_whole(Store& store, const Contents& contents) {
  std::vector<SubmitKey> keys;
  for (std::size_t i = 0; i < contents.jobs.size(); ++i) {
    const Job& job = contents.jobs[i];
    keys.push_back({job.owner.user, job.key});
    const bool is_in_line = std::ranges::find(contents.open_jobs, job) != contents.open_jobs.end();
    ASSERT_EQ(is_in_line, needs_memory(job)) << "job " << i;
    ASSERT_TRUE(store.spec(job.spec).value());
  }
  const auto rows = store.find_keys(keys).value();
  for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i]->job, contents.jobs[i].id);
}

void expect_sound(const std::string& path) {
  const auto database = sqlite::Database::open(path, sqlite::Access::write).value();
  sqlite::Query pages = database->query("PRAGMA integrity_check");
  ASSERT_TRUE(pages.next().value());
  ASSERT_EQ(pages.bytes(0), "ok");
  sqlite::Query keys = database->query("PRAGMA foreign_key_check");
  ASSERT_FALSE(keys.next().value());
}

// The store that the lives are played into, with a model beside it that says what must be there.
class Played final : public Store {
 public:
  explicit Played(const CrashScript& script) : script_(script), random_(script.seed) {
    model_rows_ = std::make_shared<ModelRows>();
    model_ = std::make_unique<ModelStore>(model_rows_, retention);
    expect({});
    disk_.after_each_step([this] { look(); });
    store_ = SqliteStore::open(directory_ + "/keel.db", settings).value();
  }
  Played(const Played&) = delete;
  Played& operator=(const Played&) = delete;
  ~Played() override {
    store_.reset();
    disk_.after_each_step({});
    std::filesystem::remove_all(directory_);
  }

  Result<Epoch, StoreError> take_over() override {
    (void)model_->take_over().value();
    return store_->take_over();
  }
  Result<Restored, StoreError> mark_restored(Instant wall) override {
    return store_->mark_restored(wall);
  }
  Result<Done, StoreError> confirm(Epoch epoch) override { return store_->confirm(epoch); }
  Result<Seq, StoreError> append(Epoch epoch, Seq after, const Batch& batch) override {
    expect(model_->append(epoch, after, batch).value());
    under_way_ = &batch;
    auto seq = store_->append(epoch, after, batch);
    under_way_ = nullptr;
    if (seq) acknowledged_ = *seq;
    count.transactions += 1;
    return seq;
  }
  Result<Loaded, StoreError> load() override { return store_->load(); }
  Result<std::optional<JobSpec>, StoreError> spec(const Digest& digest) override {
    return store_->spec(digest);
  }
  Result<std::vector<std::optional<KeyRow>>, StoreError> find_keys(
      const std::vector<SubmitKey>& keys) override {
    return store_->find_keys(keys);
  }
  Result<std::vector<Job>, StoreError> find_jobs(const std::vector<JobId>& ids) override {
    return store_->find_jobs(ids);
  }

  CrashCount count;

 private:
  void expect(Seq seq) {
    ModelRecords records(model_rows_);
    expected_.emplace(seq, contents_of(*model_, records));
  }

  void look() {
    const std::uint64_t step = count.steps++;
    if (step % script_.step_every != script_.step_first) return;
    for (const Unsynced unsynced : {Unsynced::kept, Unsynced::dropped, Unsynced::torn}) {
      SCOPED_TRACE(testing::Message() << "seed " << script_.seed << ", step " << step << ", form "
                                      << static_cast<int>(unsynced));
      look_at(unsynced);
    }
  }

  void look_at(Unsynced unsynced) {
    if (testing::Test::HasFatalFailure()) return;
    const std::string image = make_directory();
    disk_.save_image(directory_, image, unsynced, random_);
    resume(image + "/keel.db");
    std::filesystem::remove_all(image);
    count.images += 1;
  }

  void resume(const std::string& path) {
    auto opened = SqliteStore::open(path, settings);
    ASSERT_TRUE(opened) << opened.error().detail;
    SqliteStore& store = **opened;
    const auto records = SqliteRecords::open(path).value();
    const Contents found = contents_of(store, *records);
    const Seq last = under_way_ != nullptr ? under_way_->events.back().seq : acknowledged_;
    ASSERT_TRUE(found.seq == acknowledged_ || found.seq == last) << found.seq.value;
    ASSERT_EQ(found, expected_.at(found.seq));
    expect_whole(store, found);
    expect_rows_follow_from_events(*records, found.jobs);
    expect_sound(path);
    if (under_way_ == nullptr) return;

    // Nobody knows whether it was done: it is sent again.
    if (found.seq != acknowledged_) count.unacknowledged += 1;
    const Epoch epoch = store.take_over().value();
    const auto seq = store.append(epoch, acknowledged_, *under_way_);
    if (found.seq == last) {
      ASSERT_EQ(seq.error().code, StoreError::Code::conflict);
    } else {
      ASSERT_TRUE(seq) << seq.error().detail;
    }
    ASSERT_EQ(contents_of(store, *records), expected_.at(last));
  }

  const CrashScript script_;
  Random random_;
  const std::string directory_ = make_directory();
  FaultyDisk disk_;
  std::shared_ptr<ModelRows> model_rows_;
  std::unique_ptr<ModelStore> model_;
  std::unique_ptr<SqliteStore> store_;
  std::map<Seq, Contents> expected_;  // by the last event
  Seq acknowledged_;
  const Batch* under_way_ = nullptr;
};

}  // namespace

CrashCount play_crashes(const CrashScript& script) {
  Played store(script);
  const Epoch epoch = store.take_over().value();
  bench::Lives lives(store, epoch, bench::Specs::different, 2);
  while (store.count.transactions < script.transactions && !testing::Test::HasFailure()) {
    EXPECT_TRUE(lives.play(1));
    EXPECT_TRUE(lives.play_in_vain());
  }
  return store.count;
}

}  // namespace keel
