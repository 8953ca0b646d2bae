// What every store promises about a log that is cut.
#include <gtest/gtest.h>

#include <random>

#include "bench/lives.h"
#include "core/state.h"
#include "tests/contract/store_contract.h"

namespace keel {
namespace {

using enum StoreError::Code;

// A store that remembers what it held after each append.
class Remembering final : public Store {
 public:
  explicit Remembering(Store& store) : store_(store) {}

  Result<Epoch, StoreError> take_over() override { return store_.take_over(); }
  Result<Restored, StoreError> mark_restored(Instant wall) override {
    return store_.mark_restored(wall);
  }
  Result<Done, StoreError> confirm(Epoch epoch) override { return store_.confirm(epoch); }
  Result<Loaded, StoreError> load() override { return store_.load(); }
  Result<Seq, StoreError> append(Epoch epoch, Seq after, const Batch& batch) override {
    auto seq = store_.append(epoch, after, batch);
    if (seq) checkpoints.push_back(store_.load().value());
    return seq;
  }
  Result<std::optional<JobSpec>, StoreError> spec(const Digest& digest) override {
    return store_.spec(digest);
  }
  Result<std::vector<std::optional<KeyRow>>, StoreError> find_keys(
      const std::vector<SubmitKey>& keys) override {
    return store_.find_keys(keys);
  }
  Result<std::vector<Job>, StoreError> find_jobs(const std::vector<JobId>& ids) override {
    return store_.find_jobs(ids);
  }

  std::vector<Loaded> checkpoints;

 private:
  Store& store_;
};

// What the log makes of a checkpoint.
State folded(const Loaded& checkpoint, const std::vector<StoredEvent>& log) {
  State state;
  for (const Node& node : checkpoint.nodes) state.restore(node);
  for (const Job& job : checkpoint.jobs) state.restore(job);
  state.restore(checkpoint.seq, checkpoint.at, checkpoint.last_token);
  for (const StoredEvent& event : log) {
    if (const auto* fact = std::get_if<JobFact>(&event.fact)) {
      EXPECT_TRUE(state.apply(event.at, *fact)) << "event " << event.seq.value;
      state.forget_if_over(fact->job);
    } else {
      state.apply(event.at, std::get<NodeFact>(event.fact));
    }
    EXPECT_EQ(state.seq(), event.seq);
  }
  return state;
}

void expect_same(const State& state, const Loaded& rows) {
  EXPECT_EQ(state.seq(), rows.seq);
  EXPECT_EQ(state.at(), rows.at);
  EXPECT_EQ(state.last_token(), rows.last_token);
  std::vector<Job> jobs;
  for (const auto& [id, job] : state.jobs()) jobs.push_back(job);
  EXPECT_EQ(jobs, rows.jobs);
  std::vector<Node> nodes;
  std::map<DeviceId, TaskKey> held;
  for (const auto& [id, node] : state.nodes()) {
    nodes.push_back(node);
    const auto& devices = state.use_of(id).devices;
    held.insert(devices.begin(), devices.end());
  }
  EXPECT_EQ(nodes, rows.nodes);
  ASSERT_EQ(held.size(), rows.holdings.size());
  for (const Holding& holding : rows.holdings) EXPECT_EQ(held.at(holding.device), holding.key);
}

TEST_P(StoreContract, folding_the_log_from_any_kept_checkpoint_gives_the_rows) {
  retention_.events = 150;
  reopen();
  Remembering store(*store_);
  bench::Lives lives(store, epoch_, bench::Specs::different, 5);
  for (std::uint64_t group = 0; group < 10; ++group) {
    ASSERT_TRUE(lives.play(3 + group % 3));
    ASSERT_TRUE(lives.play_in_vain());
    const Loaded rows = store_->load().value();
    const Seq cut_to = cut_of(*records_);
    for (const Loaded& checkpoint : store.checkpoints) {
      SCOPED_TRACE(testing::Message()
                   << "from " << checkpoint.seq.value << " to " << rows.seq.value);
      const auto log = records_->log(checkpoint.seq, 10'000);
      ASSERT_EQ(log.has_value(), checkpoint.seq >= cut_to);
      if (log) expect_same(folded(checkpoint, *log), rows);
    }
  }
  EXPECT_GT(cut_of(*records_), Seq{100}) << "nothing was cut";
  EXPECT_GT(store_->load()->seq, Seq{300});
}

TEST_P(StoreContract, the_events_of_a_job_go_together_once_it_is_over_and_behind_the_cut) {
  retention_.events = 4;
  reopen();
  const Job waiting = append(submission_of(sample_job(10)));
  const Job over = append(submission_of(sample_job(11, "ada", "key")));
  append(change_of(over, JobState::queued));
  append(change_of(over, JobState::canceled));  // event 4
  const auto count = [&](JobId job) { return records_->events(job, Seq{}, 100)->size(); };
  for (std::uint64_t event = 5; event <= 7; ++event) append(report_of(sample_node("node-1")));
  EXPECT_EQ(cut_of(*records_), Seq{3});
  EXPECT_EQ(count(over.id), 3u) << "the last of them is not behind the cut";
  append(report_of(sample_node("node-1")));
  EXPECT_EQ(cut_of(*records_), Seq{4});
  crash();

  const auto events = records_->events(over.id, Seq{}, 100);
  ASSERT_FALSE(events);
  EXPECT_EQ(events.error().code, cut);
  EXPECT_EQ(events.error().first_kept, Seq{5});
  EXPECT_EQ(records_->events(over.id, Seq{3}, 100).error().code, cut);
  EXPECT_TRUE(records_->events(over.id, Seq{4}, 100)->empty()) << "there was nothing after it";
  EXPECT_TRUE(records_->events(JobId{99}, Seq{}, 100)->empty()) << "there is no such job";

  EXPECT_EQ(count(waiting.id), 1u) << "it is not over";
  EXPECT_EQ(records_->job(over.id).value()->job.state, JobState::canceled);
  EXPECT_EQ(records_->job(over.id).value()->spec, sample_spec("train"));
  EXPECT_EQ(store_->find_keys({{"ada", "key"}})->front()->job, over.id);

  append(change_of(waiting, JobState::queued));
  append(change_of(waiting, JobState::canceled));
  for (int more = 0; more < 4; ++more) append(report_of(sample_node("node-1")));
  EXPECT_EQ(records_->events(waiting.id, Seq{}, 100).error().code, cut) << "first and last alike";
}

TEST_P(StoreContract, a_job_that_is_over_and_cut_changes_no_more) {
  retention_.events = 1;
  reopen();
  const Job job = append(submission_of(sample_job(10)));
  append(change_of(job, JobState::canceled));
  append(report_of(sample_node("node-1")));
  EXPECT_EQ(refused(fitted(change_of(job, JobState::queued))), conflict);
  Batch without_its_row = fitted(change_of(job, JobState::queued));
  without_its_row.jobs.clear();
  EXPECT_EQ(refused(without_its_row), conflict);
}

TEST_P(StoreContract, an_event_needs_its_job) {
  Batch batch = submission_of(sample_job(10));
  batch.jobs.clear();
  EXPECT_EQ(refused(fitted(batch)), conflict);
}

TEST_P(StoreContract, a_lowered_retention_is_reached_at_twice_the_logs_pace) {
  for (std::uint64_t id = 1; id <= 20; ++id) {
    const Job job = append(submission_of(sample_job(id)));
    append(change_of(job, JobState::canceled));
  }
  EXPECT_EQ(cut_of(*records_), Seq{});
  retention_.events = 5;
  reopen();
  for (std::uint64_t n = 1; n <= 40; ++n) {
    append(report_of(sample_node("node-1")));
    EXPECT_EQ(cut_of(*records_), Seq{std::min(2 * n, 40 + n - 5)});
  }
  retention_.events = 1000;
  reopen();
  append(report_of(sample_node("node-1")));
  EXPECT_EQ(cut_of(*records_), Seq{75}) << "what is cut does not come back";
}

// RELIABILITY, I20.
TEST_P(StoreContract, a_reader_sees_each_event_once_in_order_or_is_told_where_the_log_begins) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    place_ = GetParam().make_place();
    retention_.events = 10;
    reopen();
    epoch_ = store_->take_over().value();
    bench::Lives lives(*store_, epoch_, bench::Specs::equal, 2);
    Seq place;
    std::uint64_t seen = 0;
    std::uint64_t missed = 0;
    for (int step = 0; step < 40; ++step) {
      if (random() % 3 == 0) {
        ASSERT_TRUE(lives.play(1));
      }
      const auto page = records_->log(place, random() % 5);
      if (!page) {
        ASSERT_EQ(page.error().code, cut);
        ASSERT_GT(page.error().first_kept.value, place.value + 1) << "nothing is missing";
        missed += page.error().first_kept.value - 1 - place.value;
        place = Seq{page.error().first_kept.value - 1};
        continue;
      }
      for (const StoredEvent& event : *page) {
        ASSERT_EQ(event.seq.value, place.value + 1);
        place = event.seq;
        ++seen;
      }
    }
    EXPECT_EQ(seen + missed, place.value);
    EXPECT_GT(seen, 0u);
    EXPECT_GT(missed, 0u);
  }
}

}  // namespace
}  // namespace keel
