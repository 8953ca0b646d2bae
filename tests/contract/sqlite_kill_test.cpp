// A program that appends without pause is killed at random moments. Whatever it has acknowledged
// must be there afterwards, and every batch whole.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

#include "adapters/sqlite/records.h"
#include "adapters/sqlite/store.h"
#include "sim/model_store.h"
#include "tests/contract/store_contract.h"

namespace keel {
namespace {

constexpr std::uint64_t events_per_batch = 4;

// One device goes from job to job: batch n makes job n and gives it the device that job n - 1 had.
Batch batch_number(std::uint64_t n) {
  const Batch made = submission_of(sample_job(n, "ada", "key " + std::to_string(n)));
  const Batch taken = reservation_of(job_after(made), {n}, {"GPU-0"});
  Batch batch = made;
  batch.jobs.clear();
  if (n > 1) {
    const Job before = sample_job(n - 1, "ada", "key " + std::to_string(n - 1));
    const Batch reserved = reservation_of(before, {n - 1}, {"GPU-0"});
    batch = joined(batch, settlement_of(job_after(reserved)));
  } else {
    batch = joined(batch, report_of(sample_node("node-0")));
  }
  batch = joined(batch, report_of(sample_node("node-" + std::to_string(n % 3))));
  batch = joined(batch, taken);
  return fit(std::move(batch), Seq{(n - 1) * events_per_batch}, {n});
}

// The victim: appends from where the log ends and says each position that was acknowledged.
[[noreturn]] void append_for_ever(const std::string& path, int acknowledged) {
  const auto store = SqliteStore::open(path);
  if (!store) ::_exit(1);
  const auto epoch = (*store)->take_over();
  const auto loaded = (*store)->load();
  if (!epoch || !loaded) ::_exit(2);
  for (Seq seq = loaded->seq;;) {
    const Batch batch = batch_number(seq.value / events_per_batch + 1);
    const auto next = (*store)->append(*epoch, seq, batch);
    if (!next) ::_exit(3);
    seq = *next;
    if (::write(acknowledged, &seq.value, sizeof seq.value) != sizeof seq.value) ::_exit(4);
  }
}

// Runs the victim for `life` from its first acknowledgement on. Gives the last one.
Seq kill_after(const std::string& path, std::chrono::microseconds life) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    append_for_ever(path, ends[1]);
  }
  ::close(ends[1]);
  Seq last;
  const auto hear = [&] { return ::read(ends[0], &last.value, sizeof last.value) > 0; };
  EXPECT_TRUE(hear()) << "it died by itself";
  std::this_thread::sleep_for(life);
  ::kill(child, SIGKILL);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself with " << WEXITSTATUS(status);
  while (hear()) continue;
  ::close(ends[0]);
  return last;
}

TEST(SqliteKill, twenty_kills_lose_no_acknowledged_batch_and_tear_none) {
  char pattern[] = "/tmp/keel-kill-XXXXXX";
  ASSERT_NE(mkdtemp(pattern), nullptr);
  const std::string path = std::string(pattern) + "/keel.db";
  const auto rows = std::make_shared<ModelRows>();
  ModelStore model(rows);
  ModelRecords model_records(rows);
  const Epoch epoch = model.take_over().value();

  std::mt19937 random(20'250'101);
  Seq expected;
  for (int kill = 0; kill < 20; ++kill) {
    SCOPED_TRACE(testing::Message() << "kill " << kill);
    const Seq acknowledged = kill_after(path, std::chrono::microseconds(random() % 40'000));
    const auto store = SqliteStore::open(path);
    ASSERT_TRUE(store) << store.error().detail;
    const auto records = SqliteRecords::open(path);
    ASSERT_TRUE(records);
    const Seq found = (*store)->load().value().seq;
    EXPECT_GE(found, acknowledged);
    ASSERT_EQ(found.value % events_per_batch, 0u) << "half a batch";
    for (; expected < found; expected.value += events_per_batch) {
      const Batch batch = batch_number(expected.value / events_per_batch + 1);
      ASSERT_TRUE(model.append(epoch, expected, batch));
    }
    ASSERT_EQ(contents_of(**store, **records), contents_of(model, model_records));
  }
  EXPECT_GT(expected.value, 20 * events_per_batch);
  std::filesystem::remove_all(pattern);
}

}  // namespace
}  // namespace keel
