// What Store::append and take_over promise.
#include <gtest/gtest.h>

#include "tests/contract/store_contract.h"
#include "wire/spec.h"

namespace keel {
namespace {

using enum StoreError::Code;

TEST_P(StoreContract, a_new_store_is_empty_and_its_first_epoch_is_one) {
  EXPECT_EQ(contents(), Contents{});
  EXPECT_EQ(epoch_, Epoch{1});
}

TEST_P(StoreContract, events_are_numbered_from_one_without_gaps) {
  const Job job = append(submission_of(sample_job(10)));
  EXPECT_EQ(seq_, Seq{1});
  append(joined(change_of(job, JobState::queued), change_of(job, JobState::unknown)));
  EXPECT_EQ(seq_, Seq{3});
  const auto events = records_->events(job.id, Seq{}, 100).value();
  ASSERT_EQ(events.size(), 3u);
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].seq.value, i + 1);
}

TEST_P(StoreContract, a_batch_of_nothing_changes_nothing) {
  append(submission_of(sample_job(10)));
  const Contents before = contents();
  EXPECT_EQ(store_->append(epoch_, seq_, fitted(Batch{})).value(), seq_);
  EXPECT_EQ(contents(), before);
}

TEST_P(StoreContract, what_was_appended_outlives_a_clean_end_and_a_crash) {
  const Job job = append(submission_of(sample_job(10, "ada", "key")));
  append(report_of(sample_node("node-1")));
  const Job reserved = append(reservation_of(job, {4}, {"GPU-0", "GPU-1"}));
  const Contents before = contents();
  EXPECT_EQ(before.holdings.size(), 2u);
  crash();
  EXPECT_EQ(contents(), before);
  reopen();
  EXPECT_EQ(contents(), before);
  append(settlement_of(reserved));
  EXPECT_EQ(contents().holdings.size(), 0u);
}

TEST_P(StoreContract, every_field_survives) {
  Job job = sample_job(0xfedc'ba98'7654'3210);
  job.state = JobState::unknown;
  job.attempt = {2};
  job.token = {UINT64_MAX};
  job.claim_by = {99};
  job.first_failed = 1;
  const Exit exit{ExitKind::signaled, 9, StopCause::time_limit, true, false, "killed"};
  job.tasks = {{{"node-1"}, {{"GPU-0"}, {"GPU-1"}}, 29'400, TaskState::running, {}, {5}, {}},
               {{"node-2"}, {{"GPU-2"}}, 29'400, TaskState::ended, exit, {5}, {6}}};
  append(submission_of(job));
  append(report_of(sample_node("node-1")));
  crash();
  EXPECT_EQ(contents().jobs, std::vector{job});
  EXPECT_EQ(contents().specs, std::vector{sample_spec("train")});
  EXPECT_EQ(contents().nodes, std::vector{sample_node("node-1")});
}

TEST_P(StoreContract, every_kind_of_event_survives) {
  const Job job = append(submission_of(sample_job(10)));
  const FencingToken token{5};
  const Reserved reserved{token, {60}, 29'400, {{{"node-1"}, {{"GPU-0"}}}, {{"node-2"}, {}}}};
  const Exit exit{ExitKind::exited, 3, StopCause::sibling_failed, false, false, "no"};
  const std::vector<JobEvent> kinds = {Admitted{},
                                       Rejected{Reason::exceeds_fleet},
                                       Expired{},
                                       reserved,
                                       Voided{token, Reason::claim_expired, {70}},
                                       TaskPrepared{token, 1},
                                       Launched{token},
                                       TaskStarted{token, 1},
                                       Started{token},
                                       TaskEnded{token, 1, exit},
                                       Ended{token},
                                       TaskSettled{token, 1},
                                       Succeeded{},
                                       Failed{Reason::program_failed},
                                       Requeued{Reason::node_lost, {80}},
                                       Preempted{token},
                                       Silenced{},
                                       Heard{},
                                       LateSucceeded{token},
                                       Canceled{}};
  ASSERT_EQ(kinds.size() + 1, std::variant_size_v<JobEvent>) << "Submitted is there already";
  Batch batch;
  for (const JobEvent& kind : kinds) batch.events.push_back({{}, {}, JobFact{job.id, kind}});
  batch.last_token = token;
  append(batch);
  crash();
  const auto events = records_->events(job.id, Seq{1}, 100).value();
  ASSERT_EQ(events.size(), kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    EXPECT_EQ(events[i].fact, Fact(JobFact{job.id, kinds[i]})) << name_of(kinds[i]);
    EXPECT_EQ(events[i].at, Instant{} + seconds(static_cast<std::int64_t>(i) + 2));
  }
}

TEST_P(StoreContract, no_text_is_special) {
  using namespace std::string_literals;
  const std::vector<std::string> texts = {"a'; --", "1 OR 1", "\"",    "%_?1:x", "\0after"s,
                                          "a\0b"s,  "a\0c"s,  "Zoë 🚲", " ",      "A",
                                          "a",      "a ",     "NULL"};
  std::uint64_t id = 0;
  for (const std::string& text : texts) append(submission_of(sample_job(++id, text, text)));
  crash();
  EXPECT_EQ(contents().jobs.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    SCOPED_TRACE(texts[i]);
    const auto found = store_->find_keys({{texts[i], texts[i]}}).value();
    ASSERT_TRUE(found.front());
    EXPECT_EQ(found.front()->job, JobId{i + 1});
    EXPECT_EQ(store_->find_jobs({{i + 1}}).value().front().owner.user, texts[i]);
    const auto theirs = records_->jobs({.states = {}, .user = texts[i], .before = {}, .limit = 9});
    EXPECT_EQ(theirs->size(), 1u);
  }
}

TEST_P(StoreContract, names_of_nodes_and_devices_are_matched_exactly) {
  const std::vector<std::string> names = {"a'; --", "1 OR 1", "%_?1:x", "Zoë 🚲", "A", "a", "aa"};
  std::uint64_t token = 0;
  for (const std::string& name : names) {
    append(report_of(sample_node(name)));
    const Job job = append(submission_of(sample_job(++token)));
    append(reservation_of(job, {token}, {name}));
  }
  crash();
  const Contents now = contents();
  EXPECT_EQ(now.nodes.size(), names.size());
  ASSERT_EQ(now.holdings.size(), names.size());
  for (const Holding& holding : now.holdings) {
    EXPECT_EQ(holding.device.uuid, names[holding.token.value - 1]);
  }
}

TEST_P(StoreContract, ten_thousand_events_are_one_batch_like_any_other) {
  Batch batch;
  for (std::uint64_t id = 1; id <= 10'000; ++id) {
    const Job job = sample_job(id, "ada", "key " + std::to_string(id));
    batch.events.push_back({{}, {}, JobFact{job.id, Canceled{}}});
    batch.jobs.push_back(job);
  }
  batch.specs = {{job_after(batch).spec, sample_spec("train")}};
  Batch broken = batch;
  broken.jobs.back().key = "key 1";
  EXPECT_EQ(refused(fitted(broken)), key_taken) << "all but the last one were fine";
  append(batch);
  crash();
  EXPECT_EQ(store_->load()->seq, Seq{10'000});
  EXPECT_EQ(store_->load()->jobs.size(), 10'000u);
}

TEST_P(StoreContract, nobody_appends_who_has_not_taken_over) {
  const auto place = GetParam().make_place();
  const auto store = place->open();
  const Batch batch = fit(submission_of(sample_job(10)), Seq{}, {});
  EXPECT_EQ(store->append(Epoch{}, Seq{}, batch).error().code, fenced);
  EXPECT_EQ(store->append(Epoch{1}, Seq{}, batch).error().code, fenced) << "never given";
  EXPECT_EQ(store->load()->seq, Seq{});
}

TEST_P(StoreContract, a_leader_that_writes_nothing_can_ask_whether_it_still_leads) {
  EXPECT_TRUE(store_->confirm(epoch_));
  EXPECT_EQ(store_->confirm(Epoch{}).error().code, fenced);
  const Epoch next = store_->take_over().value();
  EXPECT_EQ(store_->confirm(epoch_).error().code, fenced);
  EXPECT_TRUE(store_->confirm(next));
}

TEST_P(StoreContract, an_older_leader_is_fenced_by_a_newer_one) {
  append(submission_of(sample_job(10)));
  const auto other = place_->open();
  const Epoch newer = other->take_over().value();
  EXPECT_EQ(newer, Epoch{epoch_.value + 1});

  EXPECT_EQ(refused(fitted(submission_of(sample_job(11)))), fenced);
  EXPECT_TRUE(other->append(newer, seq_, fitted(submission_of(sample_job(12)))));
  EXPECT_EQ(refused(fitted(submission_of(sample_job(11)))), fenced) << "rather than conflict";
}

TEST_P(StoreContract, epochs_grow_over_every_end) {
  crash();
  EXPECT_EQ(store_->take_over().value(), Epoch{2});
  reopen();
  EXPECT_EQ(store_->take_over().value(), Epoch{3});
  EXPECT_EQ(refused(fitted(submission_of(sample_job(10)))), fenced);
}

TEST_P(StoreContract, a_position_that_is_not_the_logs_is_a_conflict) {
  append(submission_of(sample_job(10)));
  append(submission_of(sample_job(11)));
  const Contents before = contents();
  for (const std::uint64_t wrong : {0u, 1u, 3u, 1000u}) {
    const Batch batch = fit(submission_of(sample_job(12)), Seq{wrong}, {});
    EXPECT_EQ(store_->append(epoch_, Seq{wrong}, batch).error().code, conflict) << wrong;
  }
  EXPECT_EQ(contents(), before);
}

TEST_P(StoreContract, events_that_are_not_the_next_ones_are_a_conflict) {
  append(submission_of(sample_job(10)));
  const Batch good = fitted(joined(submission_of(sample_job(11)), submission_of(sample_job(12))));

  Batch gap = good;
  gap.events[1].seq.value += 1;
  EXPECT_EQ(refused(gap), conflict);
  Batch same_twice = good;
  same_twice.events[1].seq = same_twice.events[0].seq;
  EXPECT_EQ(refused(same_twice), conflict);
  Batch before_the_last_batch = good;
  before_the_last_batch.events[0].at = Instant{} + milliseconds(999);
  EXPECT_EQ(refused(before_the_last_batch), conflict);
  Batch back_in_time = good;
  back_in_time.events[1].at = back_in_time.events[0].at - microseconds(1);
  EXPECT_EQ(refused(back_in_time), conflict);

  Batch at_one_moment = good;
  for (StoredEvent& event : at_one_moment.events) event.at = Instant{} + seconds(1);
  EXPECT_TRUE(store_->append(epoch_, seq_, at_one_moment));
}

TEST_P(StoreContract, tokens_only_grow_over_every_end) {
  const Job first = append(submission_of(sample_job(10)));
  const Job second = append(submission_of(sample_job(11)));
  append(reservation_of(first, {7}, {"GPU-0"}));
  crash();
  EXPECT_EQ(store_->load()->last_token, FencingToken{7});
  EXPECT_EQ(refused(fitted(reservation_of(second, {7}, {"GPU-1"}))), conflict);
  EXPECT_EQ(refused(fitted(reservation_of(second, {6}, {"GPU-1"}))), conflict);

  Batch lower = fitted(change_of(second, JobState::queued));
  lower.last_token = {6};
  EXPECT_EQ(refused(lower), conflict);
  Batch unsaid = fitted(reservation_of(second, {9}, {"GPU-1"}));
  unsaid.last_token = {8};
  EXPECT_EQ(refused(unsaid), conflict);

  append(reservation_of(second, {UINT64_MAX}, {"GPU-1"}));
  reopen();
  EXPECT_EQ(store_->load()->last_token, FencingToken{UINT64_MAX});
}

TEST_P(StoreContract, two_grants_of_one_batch_have_two_tokens) {
  const Job first = append(submission_of(sample_job(10)));
  const Job second = append(submission_of(sample_job(11)));
  const Batch grant = reservation_of(first, {7}, {"GPU-0"});
  EXPECT_EQ(refused(fitted(joined(grant, reservation_of(second, {7}, {"GPU-1"})))), conflict);
  append(joined(grant, reservation_of(second, {8}, {"GPU-1"})));
}

TEST_P(StoreContract, a_device_is_in_one_reservation_at_most) {
  const Job first = append(submission_of(sample_job(10)));
  const Job second = append(submission_of(sample_job(11)));
  const Job reserved = append(reservation_of(first, {7}, {"GPU-0", "GPU-1"}));
  const Batch overlapping = reservation_of(second, {8}, {"GPU-2", "GPU-1"});
  EXPECT_EQ(refused(fitted(overlapping)), device_taken);

  // Whatever the rows of the jobs say: the constraint looks at devices only.
  Batch row_of_an_ended_job = change_of(reserved, JobState::failed);
  row_of_an_ended_job.jobs[0].tasks.clear();
  append(row_of_an_ended_job);
  EXPECT_EQ(refused(fitted(overlapping)), device_taken);
  crash();
  EXPECT_EQ(refused(fitted(overlapping)), device_taken);

  append(settlement_of(reserved));
  append(overlapping);
}

TEST_P(StoreContract, a_device_twice_in_one_batch_is_taken) {
  const Job job = append(submission_of(sample_job(10)));
  EXPECT_EQ(refused(fitted(reservation_of(job, {7}, {"GPU-0", "GPU-0"}))), device_taken);
}

// KNOWN-FAULTS, B-E17: a reservation that is made again, because nobody heard that it was made.
TEST_P(StoreContract, a_job_is_in_one_reservation_at_most) {
  const Job job = append(submission_of(sample_job(10)));
  const Job other = append(submission_of(sample_job(11)));
  const Job reserved = append(reservation_of(job, {7}, {"GPU-0", "GPU-1"}));
  const Batch once_more = reservation_of(job, {8}, {"GPU-2"});
  EXPECT_EQ(refused(fitted(once_more)), conflict);
  EXPECT_EQ(refused(fitted(reservation_of(reserved, {8}, {"GPU-2"}))), conflict) << "next attempt";

  // Whatever the rows of the jobs say, and whoever wrote them.
  Batch row_without_tasks = change_of(reserved, JobState::queued);
  row_without_tasks.jobs[0].tasks.clear();
  append(row_without_tasks);
  EXPECT_EQ(refused(fitted(once_more)), conflict);
  crash();
  EXPECT_EQ(refused(fitted(once_more)), conflict);
  const auto successor = place_->open();
  epoch_ = successor->take_over().value();
  EXPECT_EQ(successor->append(epoch_, seq_, fitted(once_more)).error().code, conflict);

  append(reservation_of(other, {8}, {"GPU-2"}));
  const Batch freed = settlement_of(reserved);
  Batch freed_in_part = freed;
  freed_in_part.holdings.pop_back();
  const Batch anew = reservation_of(reserved, {9}, {"GPU-0"});
  EXPECT_EQ(refused(fitted(joined(freed_in_part, anew))), conflict);
  append(joined(freed, anew));
  EXPECT_EQ(contents().holdings.size(), 2u);
}

TEST_P(StoreContract, a_reservation_that_another_store_made_or_ended_counts) {
  const Job job = append(submission_of(sample_job(10)));
  append(reservation_of(append(submission_of(sample_job(11))), {1}, {"GPU-9"}));
  const auto other = place_->open();
  epoch_ = other->take_over().value();
  const Batch reservation = fitted(reservation_of(job, {7}, {"GPU-0"}));
  seq_ = other->append(epoch_, seq_, reservation).value();
  last_token_ = {7};
  EXPECT_EQ(refused(fitted(reservation_of(job, {8}, {"GPU-1"}))), conflict);
  seq_ = other->append(epoch_, seq_, fitted(settlement_of(job_after(reservation)))).value();
  append(reservation_of(job, {8}, {"GPU-1"}));
}

TEST_P(StoreContract, devices_change_hands_in_the_order_of_the_batch) {
  const Job first = append(submission_of(sample_job(10)));
  const Job second = append(submission_of(sample_job(11)));
  const Job reserved = append(reservation_of(first, {7}, {"GPU-0"}));
  const Batch freed = settlement_of(reserved);
  const Batch taken = reservation_of(second, {8}, {"GPU-0"});

  Batch wrong_way_round = joined(freed, taken);
  std::swap(wrong_way_round.holdings[0], wrong_way_round.holdings[1]);
  EXPECT_EQ(refused(fitted(wrong_way_round)), device_taken);
  append(joined(freed, taken));
  const Holding holding{{"GPU-0"}, {{11}, {1}, 0}, {8}};
  EXPECT_EQ(contents().holdings, std::vector{holding});
}

TEST_P(StoreContract, only_its_own_job_and_token_free_a_device) {
  const Job job = append(submission_of(sample_job(10)));
  const Job reserved = append(reservation_of(job, {7}, {"GPU-0"}));
  Batch freed = settlement_of(reserved);
  freed.holdings[0].token = {6};
  EXPECT_EQ(refused(fitted(freed)), device_taken);
  const Job other = append(submission_of(sample_job(11)));
  freed.holdings[0] = {{"GPU-0"}, false, {other.id, {1}, 0}, {7}};
  EXPECT_EQ(refused(fitted(freed)), device_taken) << "another job's";
  append(settlement_of(reserved));
  EXPECT_EQ(refused(fitted(settlement_of(reserved))), conflict) << "nobody holds it any more";
}

TEST_P(StoreContract, a_key_makes_one_job_for_ever) {
  const Job first = append(submission_of(sample_job(10, "ada", "k")));
  EXPECT_EQ(refused(fitted(submission_of(sample_job(11, "ada", "k")))), key_taken);
  append(change_of(first, JobState::canceled));
  crash();
  EXPECT_EQ(refused(fitted(submission_of(sample_job(11, "ada", "k")))), key_taken);
  EXPECT_EQ(store_->find_keys({{"ada", "k"}})->front()->job, first.id);
}

TEST_P(StoreContract, a_key_is_one_users_own_and_none_is_no_key) {
  append(submission_of(sample_job(10, "ada", "k")));
  append(submission_of(sample_job(11, "bob", "k")));
  append(submission_of(sample_job(12, "ada", "")));
  append(submission_of(sample_job(13, "ada", "")));
  append(submission_of(sample_job(14, "adak", "")));
  EXPECT_EQ(contents().jobs.size(), 5u);
}

TEST_P(StoreContract, one_key_twice_in_one_batch_is_taken) {
  EXPECT_EQ(refused(fitted(joined(submission_of(sample_job(10, "ada", "k")),
                                  submission_of(sample_job(11, "ada", "k"))))),
            key_taken);
  EXPECT_FALSE(store_->find_keys({{"ada", "k"}})->front()) << "no key without its job";
}

TEST_P(StoreContract, a_second_job_cannot_take_the_id_of_a_first) {
  const Job first = sample_job(10, "ada", "k");
  append(submission_of(first));
  EXPECT_EQ(refused(fitted(submission_of(sample_job(10, "bob", "k")))), conflict);
  EXPECT_EQ(refused(fitted(submission_of(sample_job(10, "ada", "other")))), conflict);
  EXPECT_EQ(refused(fitted(submission_of(first, sample_spec("other")))), conflict);
  Job said_otherwise = first;
  said_otherwise.said = sha256("something else");
  EXPECT_EQ(refused(fitted(submission_of(said_otherwise))), conflict);
}

TEST_P(StoreContract, a_batch_that_fails_in_its_last_part_leaves_nothing) {
  const Job holder = append(submission_of(sample_job(10)));
  append(reservation_of(holder, {7}, {"GPU-0"}));

  const Job newcomer = sample_job(11, "ada", "k");
  const JobSpec new_spec = sample_spec("new");
  Batch batch = joined(submission_of(newcomer, new_spec), report_of(sample_node("node-9")));
  batch = joined(batch, change_of(holder, JobState::preempting));
  const TaskKey key{newcomer.id, {1}, 0};
  batch.last_token = {8};
  batch.holdings = {{{"GPU-1"}, true, key, {8}}, {{"GPU-0"}, true, key, {8}}};

  EXPECT_EQ(refused(fitted(batch)), device_taken);
  EXPECT_FALSE(store_->spec(spec_digest(new_spec)).value());
  EXPECT_FALSE(store_->find_keys({{"ada", "k"}})->front());
  crash();
  EXPECT_FALSE(store_->spec(spec_digest(new_spec)).value());

  batch.holdings.pop_back();
  append(batch);
  EXPECT_TRUE(store_->spec(spec_digest(new_spec)).value());
}

TEST_P(StoreContract, nothing_refers_to_what_is_not_stored) {
  Batch no_spec = submission_of(sample_job(10));
  no_spec.specs.clear();
  EXPECT_EQ(refused(fitted(no_spec)), conflict);
  Batch no_job = reservation_of(sample_job(10), {7}, {"GPU-0"});
  no_job.jobs.clear();
  EXPECT_EQ(refused(fitted(no_job)), conflict);
}

TEST_P(StoreContract, a_spec_is_stored_once_and_stays_as_it_is) {
  const Job job = append(submission_of(sample_job(10)));
  Batch same_digest = submission_of(sample_job(11));
  same_digest.specs[0].second.name = "a lie";
  append(same_digest);
  EXPECT_EQ(store_->spec(job.spec).value(), sample_spec("train"));
}

}  // namespace
}  // namespace keel
