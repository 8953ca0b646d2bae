// What the reading half of Store, and Records, promise.
#include <gtest/gtest.h>

#include "tests/contract/store_contract.h"
#include "wire/spec.h"

namespace keel {
namespace {

std::vector<std::uint64_t> ids_of(const std::vector<Job>& jobs) {
  std::vector<std::uint64_t> ids;
  for (const Job& job : jobs) ids.push_back(job.id.value);
  return ids;
}

std::vector<std::uint64_t> ids_of(const std::vector<JobRecord>& records) {
  std::vector<std::uint64_t> ids;
  for (const JobRecord& record : records) ids.push_back(record.job.id.value);
  return ids;
}

using Ids = std::vector<std::uint64_t>;

TEST_P(StoreContract, load_gives_the_jobs_that_need_memory) {
  struct Row {
    JobState state;
    std::vector<TaskState> tasks;
    bool loaded;
  };
  using enum TaskState;
  const Row table[] = {
      {JobState::accepted, {}, true},
      {JobState::queued, {}, true},
      {JobState::queued, {settled}, true},
      {JobState::running, {running}, true},
      {JobState::unknown, {settled, settled}, true},
      {JobState::succeeded, {settled, settled}, false},
      {JobState::succeeded, {settled, ended}, true},
      {JobState::failed, {running, settled}, true},
      {JobState::canceled, {}, false},
      {JobState::canceled, {reserved}, true},
      {JobState::expired, {}, false},
      {JobState::rejected, {}, false},
  };
  Ids expected;
  std::uint64_t id = 0;
  for (const Row& row : table) {
    const Job job = append(submission_of(sample_job(++id)));
    Batch batch = change_of(job, row.state);
    for (const TaskState task : row.tasks) {
      batch.jobs[0].tasks.push_back({{"node-1"}, {{"GPU-0"}}, 0, task, {}, {}, {}});
    }
    append(batch);
    if (row.loaded) expected.push_back(id);
  }
  EXPECT_EQ(ids_of(store_->load()->jobs), expected);
  crash();
  EXPECT_EQ(ids_of(store_->load()->jobs), expected);
}

TEST_P(StoreContract, load_gives_everything_in_one_order) {
  for (const std::uint64_t id : {5u, 3u, 9u}) append(submission_of(sample_job(id)));
  append(submission_of(sample_job(UINT64_MAX / 2 + 1)));
  append(submission_of(sample_job(UINT64_MAX / 2)));
  for (const char* name : {"node-2", "node-10", "node-1"}) append(report_of(sample_node(name)));
  append(reservation_of(sample_job(9), {1}, {"GPU-b", "GPU-a"}));
  append(reservation_of(sample_job(3), {2}, {"GPU-B"}));

  const Loaded loaded = store_->load().value();
  EXPECT_EQ(ids_of(loaded.jobs), (Ids{3, 5, 9, UINT64_MAX / 2, UINT64_MAX / 2 + 1}));
  ASSERT_EQ(loaded.nodes.size(), 3u);
  EXPECT_EQ(loaded.nodes[0].inventory.id.name, "node-1");
  EXPECT_EQ(loaded.nodes[1].inventory.id.name, "node-10");
  ASSERT_EQ(loaded.holdings.size(), 3u);
  EXPECT_EQ(loaded.holdings[0].device.uuid, "GPU-B");
  EXPECT_EQ(loaded.holdings[1].device.uuid, "GPU-a");
  EXPECT_EQ(loaded.at, Instant{} + seconds(10));
}

TEST_P(StoreContract, a_store_put_back_gives_nothing_out_again) {
  append(submission_of(sample_job(1)));
  append(reservation_of(sample_job(1), {40}, {"GPU-0"}));
  EXPECT_TRUE(store_->load()->lost.empty());
  EXPECT_FALSE(store_->load()->settling);

  const auto marked = store_->mark_restored({});
  ASSERT_TRUE(marked) << marked.error().detail;
  EXPECT_GE(marked->epoch.value, epoch_.value + epochs_skipped);
  EXPECT_EQ(marked->lost, (LostTokens{{40}, {40 + tokens_skipped}}));
  const Batch late = fit(change_of(sample_job(1), JobState::queued), seq_, {40});
  EXPECT_EQ(store_->append(epoch_, seq_, late).error().code, StoreError::Code::fenced);

  crash();
  // A year after 1970: beyond all that a marking at an earlier second can have led to.
  const Instant wall{hours(24 * 365).us};
  const FencingToken last = skip({}, {}, wall).last_token;
  EXPECT_GT(last, skip({}, {}, wall - seconds(1)).last_token);
  ASSERT_TRUE(store_->mark_restored(wall));
  crash();
  const Loaded loaded = store_->load().value();
  EXPECT_EQ(loaded.lost, (std::vector<LostTokens>{{{40}, {40 + tokens_skipped}},
                                                  {{40 + tokens_skipped}, last}}));
  EXPECT_EQ(loaded.last_token, last);
  EXPECT_TRUE(loaded.settling);

  epoch_ = store_->take_over().value();
  EXPECT_GT(epoch_, marked->epoch);
  Batch settled = fit(change_of(sample_job(1), JobState::queued), seq_, loaded.last_token);
  settled.settles = true;
  ASSERT_TRUE(store_->append(epoch_, seq_, settled));
  EXPECT_FALSE(store_->load()->settling);
  EXPECT_EQ(store_->load()->lost.size(), 2U) << "for ever";
}

TEST_P(StoreContract, a_node_is_its_latest_report) {
  append(report_of(sample_node("node-1")));
  Node changed = sample_node("node-1");
  changed.state = NodeState::ready;
  changed.inventory.devices.clear();
  append(report_of(changed));
  EXPECT_EQ(contents().nodes, std::vector{changed});
}

TEST_P(StoreContract, find_jobs_gives_each_stored_one_once_in_order_of_id) {
  for (const std::uint64_t id : {5u, 3u, 9u}) append(submission_of(sample_job(id)));
  append(change_of(sample_job(3), JobState::canceled));
  EXPECT_EQ(ids_of(store_->find_jobs({{9}, {3}, {4}, {9}, {0}}).value()), (Ids{3, 9}));
  EXPECT_EQ(ids_of(store_->find_jobs({}).value()), Ids{});
  EXPECT_EQ(store_->find_jobs({{3}})->front().state, JobState::canceled);
}

TEST_P(StoreContract, find_keys_answers_each_key_in_the_order_asked) {
  append(submission_of(sample_job(10, "ada", "k")));
  append(submission_of(sample_job(11, "bob", "k")));
  append(submission_of(sample_job(12, "ada", "")));
  const auto rows =
      store_->find_keys({{"bob", "k"}, {"ada", "other"}, {"ada", "k"}, {"bob", "k"}, {"ada", ""}});
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 5u);
  EXPECT_EQ((*rows)[0]->job, JobId{11});
  EXPECT_EQ((*rows)[0]->said, sha256("said by bob"));
  EXPECT_FALSE((*rows)[1]);
  EXPECT_EQ((*rows)[2]->job, JobId{10});
  EXPECT_EQ((*rows)[3]->job, JobId{11});
  EXPECT_FALSE((*rows)[4]) << "no key is no key";
}

TEST_P(StoreContract, a_spec_is_found_by_its_digest) {
  append(submission_of(sample_job(10)));
  EXPECT_EQ(store_->spec(spec_digest(sample_spec("train"))).value(), sample_spec("train"));
  EXPECT_FALSE(store_->spec(sha256("unknown")).value());
}

TEST_P(StoreContract, a_record_is_a_job_and_its_spec) {
  const Job job = append(submission_of(sample_job(10), sample_spec("one")));
  append(submission_of(sample_job(11), sample_spec("two")));
  const auto record = records_->job({10}).value();
  ASSERT_TRUE(record);
  EXPECT_EQ(record->job, job);
  EXPECT_EQ(record->spec, sample_spec("one"));
  EXPECT_FALSE(records_->job({12}).value());
}

TEST_P(StoreContract, records_are_filtered_newest_first) {
  struct Stored {
    std::uint64_t id;
    const char* user;
    JobState state;
  };
  using enum JobState;
  for (const Stored& row :
       {Stored{3, "ada", queued}, Stored{8, "bob", queued}, Stored{5, "ada", canceled},
        Stored{9, "ada", rejected}, Stored{4, "bob", canceled}, Stored{7, "ada", queued}}) {
    append(submission_of(sample_job(row.id, row.user)));
    append(change_of(sample_job(row.id, row.user), row.state));
  }
  struct Row {
    JobFilter filter;
    Ids expected;
  };
  const Row table[] = {
      {{{}, "", {}, 100}, {9, 8, 7, 5, 4, 3}},
      {{{}, "", {}, 2}, {9, 8}},
      {{{}, "", {}, 0}, {}},
      {{{}, "", JobId{8}, 100}, {7, 5, 4, 3}},
      {{{}, "", JobId{6}, 2}, {5, 4}},
      {{{}, "", JobId{3}, 100}, {}},
      {{{}, "", JobId{0}, 100}, {}},
      {{{}, "ada", {}, 100}, {9, 7, 5, 3}},
      {{{}, "ada", JobId{9}, 2}, {7, 5}},
      {{{}, "carol", {}, 100}, {}},
      {{{queued}, "", {}, 100}, {8, 7, 3}},
      {{{queued, queued}, "", {}, 100}, {8, 7, 3}},
      {{{canceled, queued}, "", {}, 4}, {8, 7, 5, 4}},
      {{{canceled, queued}, "ada", {}, 100}, {7, 5, 3}},
      {{{canceled, queued}, "ada", JobId{7}, 1}, {5}},
      {{{running}, "", {}, 100}, {}},
  };
  std::size_t number = 0;
  for (const Row& row : table) {
    EXPECT_EQ(ids_of(records_->jobs(row.filter).value()), row.expected) << "row " << number;
    ++number;
  }
}

TEST_P(StoreContract, pages_of_records_leave_none_out_and_give_none_twice) {
  Ids stored;
  for (std::uint64_t id = 1; id <= 57; ++id) {
    append(submission_of(sample_job(id)));
    append(change_of(sample_job(id), id % 3 == 0 ? JobState::failed : JobState::queued));
    if (id % 3 != 0) stored.insert(stored.begin(), id);
  }
  Ids seen;
  JobFilter filter{{JobState::queued}, "ada", {}, 5};
  for (;;) {
    const Ids page = ids_of(records_->jobs(filter).value());
    if (page.empty()) break;
    seen.insert(seen.end(), page.begin(), page.end());
    filter.before = JobId{page.back()};
  }
  EXPECT_EQ(seen, stored);
}

TEST_P(StoreContract, events_of_one_job_come_in_pages_oldest_first) {
  const Job job = append(submission_of(sample_job(10)));
  const Job other = append(submission_of(sample_job(11)));
  for (int i = 0; i < 4; ++i) {
    append(change_of(job, JobState::unknown));
    append(change_of(other, JobState::queued));
    append(report_of(sample_node("node-1")));
  }
  const auto seqs = [&](std::uint64_t after, std::size_t limit) {
    Ids found;
    const auto events = records_->events(job.id, Seq{after}, limit).value();
    for (const StoredEvent& event : events) found.push_back(event.seq.value);
    return found;
  };
  EXPECT_EQ(seqs(0, 100), (Ids{1, 3, 6, 9, 12}));
  EXPECT_EQ(seqs(1, 2), (Ids{3, 6}));
  EXPECT_EQ(seqs(7, 100), (Ids{9, 12}));
  EXPECT_EQ(seqs(12, 100), Ids{});
  EXPECT_EQ(seqs(UINT64_MAX, 100), Ids{});
  EXPECT_EQ(seqs(0, 0), Ids{});
  EXPECT_TRUE(records_->events({99}, Seq{}, 100)->empty());
}

TEST_P(StoreContract, readers_see_a_commit_as_soon_as_it_is_answered) {
  const auto reader = place_->open_records();
  const Job job = append(submission_of(sample_job(10)));
  EXPECT_TRUE(reader->job(job.id).value());
  const Job reserved = append(reservation_of(job, {1}, {"GPU-0"}));
  EXPECT_EQ(reader->job(job.id).value()->job, reserved);
  EXPECT_EQ(reader->holdings()->size(), 1u);
}

}  // namespace
}  // namespace keel
