// Random batches, good and broken, at a candidate and at the obvious store: both must say the same
// and hold the same. A failure names its seed and step.
#include <gtest/gtest.h>

#include <random>

#include "sim/model_store.h"
#include "tests/contract/store_contract.h"

namespace keel {
namespace {

// Few users, keys, devices and nodes, so that they meet.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::string user() { return one_in(2) ? "ada" : "bob"; }
  std::string key() { return one_in(3) ? "" : "key " + std::to_string(below(30)); }
  std::string device() { return "GPU-" + std::to_string(below(12)); }

 private:
  std::mt19937 random_;
};

// A step on a job that exists, or a new one. Not always a permitted one.
Batch random_step(Dice& dice, const Loaded& now, std::uint64_t& next_id) {
  if (now.jobs.empty() || dice.one_in(4)) {
    const std::uint64_t id = dice.one_in(20) ? 1 + dice.below(next_id) : ++next_id;
    return submission_of(sample_job(id, dice.user(), dice.key()),
                         sample_spec("spec " + std::to_string(dice.below(5))));
  }
  const Job& job = now.jobs[dice.below(now.jobs.size())];
  switch (dice.below(5)) {
    case 0: {
      const FencingToken token{now.last_token.value + dice.below(4)};
      return reservation_of(job, token, {dice.device(), dice.device()});
    }
    case 1:
    case 2: return settlement_of(job);
    case 3: return report_of(sample_node("node-" + std::to_string(dice.below(4))));
    default: return change_of(job, static_cast<JobState>(dice.below(job_state_count)));
  }
}

Batch random_batch(Dice& dice, const Loaded& now, std::uint64_t& next_id) {
  Batch batch = random_step(dice, now, next_id);
  for (std::uint64_t more = dice.below(3); more > 0; --more) {
    const Batch step = random_step(dice, now, next_id);
    // One row per job and batch.
    const bool again = std::ranges::any_of(step.jobs, [&](const Job& job) {
      return std::ranges::find(batch.jobs, job.id, &Job::id) != batch.jobs.end();
    });
    if (!again) batch = joined(std::move(batch), step);
  }
  batch = fit(std::move(batch), now.seq, now.last_token);
  if (dice.one_in(30)) batch.last_token.value -= std::min<std::uint64_t>(batch.last_token.value, 1);
  if (dice.one_in(30)) batch.events.back().seq.value += 1;
  if (dice.one_in(30)) batch.events.back().at = Instant{};
  if (dice.one_in(10)) batch.specs.clear();
  return batch;
}

TEST_P(StoreContract, answers_and_holds_what_the_obvious_store_does) {
  std::map<StoreError::Code, int> refusals;
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    place_ = GetParam().make_place();
    retention_.events = 40 * seed;
    reopen();
    Epoch epoch = store_->take_over().value();
    const auto rows = std::make_shared<ModelRows>();
    ModelStore model(rows, retention_);
    ModelRecords model_records(rows);
    ASSERT_EQ(model.take_over().value(), epoch);

    Dice dice(seed);
    std::uint64_t next_id = 0;
    for (int step = 0; step < 300; ++step) {
      SCOPED_TRACE(testing::Message() << "step " << step);
      const Loaded now = model.load().value();
      const Batch batch = random_batch(dice, now, next_id);
      const Seq after{now.seq.value + (dice.one_in(30) ? 1 : 0)};
      const Epoch claimed{epoch.value - (dice.one_in(30) ? 1 : 0)};
      const auto theirs = store_->append(claimed, after, batch);
      const auto ours = model.append(claimed, after, batch);
      ASSERT_EQ(theirs.has_value(), ours.has_value())
          << (theirs ? ours.error().detail : theirs.error().detail);
      if (ours) {
        ASSERT_EQ(*theirs, *ours);
      } else {
        ASSERT_EQ(theirs.error().code, ours.error().code) << theirs.error().detail;
        ++refusals[ours.error().code];
      }
      if (dice.one_in(20)) crash();
      if (dice.one_in(20)) {
        epoch = store_->take_over().value();
        ASSERT_EQ(model.take_over().value(), epoch);
      }
      if (step % 10 == 0 || !ours) {
        ASSERT_EQ(contents(), contents_of(model, model_records));
      }
    }
    const Contents at_the_end = contents();
    ASSERT_EQ(at_the_end, contents_of(model, model_records));
    EXPECT_GE(at_the_end.cut_jobs.size(), 10u) << "hardly anything was cut";
  }
  using enum StoreError::Code;
  for (const auto code : {conflict, fenced, key_taken, device_taken}) {
    EXPECT_GE(refusals[code], 5) << "the dice hardly ever make code " << static_cast<int>(code);
  }
}

}  // namespace
}  // namespace keel
