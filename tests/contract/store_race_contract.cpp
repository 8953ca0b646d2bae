// Several stores and readers on the same rows at once.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/contract/store_contract.h"

namespace keel {
namespace {

using enum StoreError::Code;

// Submits with one key as a leader that reads the log's end first, as often as it takes. Gives the
// job that the key made in the end.
JobId submit_until_known(Store& store, Epoch epoch, const Job& job) {
  for (;;) {
    const Seq after = store.load().value().seq;
    const auto seq = store.append(epoch, after, fit(submission_of(job), after, {}));
    if (seq) return job.id;
    EXPECT_TRUE(seq.error().code == key_taken || seq.error().code == conflict)
        << seq.error().detail;
    const auto row = store.find_keys({{job.owner.user, job.key}}).value().front();
    if (row) return row->job;
    if (seq.error().code != conflict) return {};
  }
}

TEST_P(StoreContract, of_many_submissions_with_one_key_at_once_one_wins_and_all_learn_which) {
  constexpr std::uint64_t racers = 4;
  for (int round = 0; round < 10; ++round) {
    const std::string key = "round " + std::to_string(round);
    std::vector<std::unique_ptr<Store>> stores;
    for (std::uint64_t i = 0; i < racers; ++i) stores.push_back(place_->open());
    std::vector<JobId> winners(racers);
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < racers; ++i) {
      const Job job = sample_job(static_cast<std::uint64_t>(round) * 100 + i + 1, "ada", key);
      threads.emplace_back([this, job, store = stores[i].get(), winner = &winners[i]] {
        *winner = submit_until_known(*store, epoch_, job);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const JobId winner : winners) EXPECT_EQ(winner, winners.front());
    EXPECT_EQ(store_->load()->jobs.size(), static_cast<std::size_t>(round) + 1);
  }
}

TEST_P(StoreContract, of_two_leaders_at_once_only_the_newer_writes) {
  const auto other = place_->open();
  std::atomic<Epoch> newer{};
  // Who writes without a pause may keep another waiting for longer than that one has patience.
  std::thread successor([&] {
    auto taken = other->take_over();
    while (!taken && taken.error().code == unavailable) taken = other->take_over();
    EXPECT_TRUE(taken) << taken.error().detail;
    if (taken) newer = *taken;
  });
  // Appends until fenced; whatever was acknowledged by then must be there.
  std::uint64_t id = 0;
  for (;;) {
    ++id;
    const auto seq = store_->append(epoch_, seq_, fitted(submission_of(sample_job(id))));
    if (!seq) {
      EXPECT_EQ(seq.error().code, fenced) << seq.error().detail;
      break;
    }
    seq_ = *seq;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // who waits looks now and then
  }
  successor.join();
  EXPECT_EQ(newer.load(), Epoch{2});
  EXPECT_EQ(other->load()->seq, seq_);
  EXPECT_EQ(other->load()->jobs.size(), id - 1);
}

TEST_P(StoreContract, every_take_over_gives_an_epoch_of_its_own) {
  constexpr int each = 10;
  std::vector<Epoch> first(each);
  std::vector<Epoch> second(each);
  const auto other = place_->open();
  std::thread thread([&] {
    for (Epoch& epoch : second) epoch = other->take_over().value();
  });
  for (Epoch& epoch : first) epoch = store_->take_over().value();
  thread.join();
  std::vector<Epoch> all = first;
  all.insert(all.end(), second.begin(), second.end());
  std::ranges::sort(all);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], Epoch{i + 2});
}

TEST_P(StoreContract, readers_see_whole_batches_while_they_are_written) {
  const auto reader = place_->open_records();
  std::atomic<bool> finished{false};
  std::atomic<std::uint64_t> reads{0};
  // Each batch makes two jobs: an odd number of jobs in one answer is half a batch.
  std::thread thread([&] {
    while (!finished) {
      const auto jobs = reader->jobs({.states = {}, .user = {}, .before = {}, .limit = 1000});
      ASSERT_TRUE(jobs) << jobs.error().detail;
      EXPECT_EQ(jobs->size() % 2, 0u);
      ++reads;
    }
  });
  for (std::uint64_t id = 1; id <= 100; id += 2) {
    append(joined(submission_of(sample_job(id)), submission_of(sample_job(id + 1))));
  }
  while (reads == 0) std::this_thread::yield();
  finished = true;
  thread.join();
  EXPECT_EQ(records_->jobs({.states = {}, .user = {}, .before = {}, .limit = 1000})->size(), 100u);
}

}  // namespace
}  // namespace keel
