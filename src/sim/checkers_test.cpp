// Each checker, made to fire.
#include "sim/checkers/checkers.h"

#include <gtest/gtest.h>

#include "sim/checkers/violation.h"

namespace keel::sim {
namespace {

const DeviceId gpu{"gpu"};
const TaskKey first{{1}, {1}, 0};
const TaskKey again{{1}, {2}, 0};
const TaskKey other{{2}, {1}, 0};

// The invariant that does not hold, or "".
template <class What>
std::string broken(What what) {
  try {
    what();
  } catch (const Violation& violation) {
    const std::string text = violation.what();
    return text.substr(0, text.find(':'));
  }
  return "";
}

Batch holding(bool taken, const TaskKey& key) {
  return {.holdings = {{gpu, taken, key, {1}}}, .last_token = {}};
}

TEST(DeviceChecker, sees_a_device_in_two_reservations) {
  DeviceChecker checker;
  checker.appended(holding(true, first));
  EXPECT_EQ(broken([&] { checker.appended(holding(true, other)); }), "I1");
  EXPECT_EQ(broken([&] { checker.appended(holding(false, other)); }), "I1");
  EXPECT_EQ(broken([&] { checker.appended(holding(false, first)); }), "");
  EXPECT_TRUE(checker.nothing_held());
}

TEST(DeviceChecker, sees_two_tasks_on_a_device_an_old_token_and_two_attempts) {
  DeviceChecker checker;
  checker.began({first, {"n"}, {gpu}, {5}});
  EXPECT_EQ(broken([&] { checker.began({other, {"n"}, {gpu}, {6}}); }), "I2");
  EXPECT_EQ(broken([&] { checker.began({again, {"n"}, {}, {6}}); }), "I4");
  EXPECT_EQ(broken([&] { checker.began({first, {"n"}, {}, {5}}); }), "I4");
  checker.ended(first);
  EXPECT_EQ(broken([&] { checker.ended(first); }), "I2");
  EXPECT_EQ(broken([&] { checker.began({other, {"n"}, {gpu}, {4}}); }), "I3");
}

TEST(DeviceChecker, sees_a_claim_with_an_old_token) {
  DeviceChecker checker;
  checker.claimed({first, {"n"}, {gpu}, {5}});
  EXPECT_EQ(broken([&] { checker.claimed({other, {"n"}, {gpu}, {6}}); }), "");
  EXPECT_EQ(broken([&] { checker.claimed({again, {"n"}, {gpu}, {4}}); }), "I3");
  EXPECT_EQ(broken([&] { checker.claimed({again, {"n"}, {gpu}, {6}}); }), "I3");
  EXPECT_EQ(broken([&] { checker.claimed({again, {"n"}, {DeviceId{"another"}}, {4}}); }), "");
}

TEST(DeviceChecker, sees_a_device_that_is_given_away_while_it_is_used) {
  const Batch lost{.events = {{{1},
                               Instant{1},
                               JobFact{{1}, TaskEnded{{5}, 0, Exit{.text = "its node is gone"}}}}},
                   .last_token = {}};
  DeviceChecker checker;
  checker.began({first, {"n"}, {gpu}, {5}});
  EXPECT_EQ(broken([&] { checker.appended(holding(true, other)); }), "I2");
  DeviceChecker proved;
  proved.began({first, {"n"}, {gpu}, {5}});
  proved.appended(lost);
  EXPECT_EQ(broken([&] { proved.appended(holding(true, other)); }), "I2") << "it still runs";
  DeviceChecker killed;
  killed.began({first, {"n"}, {gpu}, {5}});
  killed.killed(first);
  killed.appended(lost);
  EXPECT_EQ(broken([&] { killed.appended(holding(true, other)); }), "");
  EXPECT_EQ(broken([&] { killed.began({again, {"n"}, {}, {6}}); }), "") << "it does nothing more";
}

// A log with one job in it, and the rows that a store would have.
struct Log {
  JobChecker checker;
  ModelRows rows;
  std::uint64_t seq{};

  Batch batch(JobEvent event) {
    seq += 1;
    return {.events = {{{seq}, Instant{10}, JobFact{{1}, std::move(event)}}}, .last_token = {}};
  }
  void say(JobEvent event) { checker.appended({1}, batch(std::move(event)), rows); }
};

TEST(JobChecker, sees_what_the_table_forbids_and_a_terminal_state_that_is_left) {
  Log log;
  log.say(Submitted{});
  EXPECT_EQ(broken([&] { log.say(Succeeded{}); }), "I9");
  log.seq -= 1;
  Log ended;
  ended.say(Submitted{});
  ended.say(Canceled{});
  EXPECT_EQ(broken([&] { ended.say(Canceled{}); }), "I8");
  Log twice;
  twice.say(Submitted{});
  EXPECT_EQ(broken([&] { twice.say(Submitted{}); }), "I9");
}

TEST(JobChecker, sees_an_old_epoch_a_job_without_its_parts_and_a_row_that_is_not_its_events) {
  Log log;
  Batch whole = log.batch(Submitted{});
  whole.jobs = {create({1}, Instant{10}, Submitted{})};
  EXPECT_EQ(broken([&] { log.checker.appended({2}, whole, log.rows); }), "I6") << "no spec";
  Batch late = log.batch(Admitted{});
  EXPECT_EQ(broken([&] { log.checker.appended({1}, late, log.rows); }), "I3");
  log.rows.specs.emplace(Digest{}, JobSpec{});
  late.jobs = whole.jobs;  // without what Admitted made of it
  EXPECT_EQ(broken([&] { log.checker.appended({2}, late, log.rows); }), "I24");
}

// A job of one task, reserved until 100.
struct Reservation : Log {
  explicit Reservation(std::uint32_t retries = 0) {
    Submitted submitted{.retries = retries};
    submitted.shape.gang = {.tasks = 1};
    say(submitted);
    say(Admitted{});
    reserve(1);
  }
  void reserve(std::uint64_t token) {
    say(Reserved{.token = {token}, .claim_by = Instant{100}, .port = 1, .slots = {{{"n"}, {}}}});
  }
  void run(std::uint64_t token, const Exit& exit) {
    say(TaskPrepared{{token}, 0});
    say(Launched{{token}});
    say(TaskStarted{{token}, 0});
    say(Started{{token}});
    say(TaskEnded{{token}, 0, exit});
    say(Ended{{token}});
  }
};

TEST(JobChecker, sees_a_gang_that_is_launched_in_part) {
  Reservation log;
  EXPECT_EQ(broken([&] { log.say(Launched{{1}}); }), "I10");
}

TEST(JobChecker, sees_a_success_that_no_program_had) {
  const Exit well{.kind = ExitKind::exited, .clean = true};
  Reservation honest, lie;
  honest.checker.program_ended({{1}, {1}, 0}, well);
  honest.run(1, well);
  honest.say(TaskSettled{{1}, 0});
  EXPECT_EQ(broken([&] { honest.say(Succeeded{}); }), "");
  lie.checker.program_ended({{1}, {1}, 0}, {.kind = ExitKind::exited, .code = 1});
  lie.run(1, well);
  lie.say(TaskSettled{{1}, 0});
  EXPECT_EQ(broken([&] { lie.say(Succeeded{}); }), "I9");
}

TEST(JobChecker, sees_a_job_that_is_tried_too_often) {
  const Exit failed{.kind = ExitKind::exited, .code = 1, .clean = true};
  Reservation log(1);
  log.run(1, failed);
  log.say(Requeued{Reason::program_failed, Instant{10}});
  log.reserve(2);
  log.run(2, failed);
  EXPECT_EQ(broken([&] { log.say(Requeued{Reason::program_failed, Instant{10}}); }), "B-G9");
}

TEST(JobChecker, sees_a_reservation_that_outlives_its_time_and_one_refused_as_old) {
  Reservation log;
  Batch late = log.batch(TaskPrepared{{1}, 0});
  late.events[0].at = Instant{100};
  EXPECT_EQ(broken([&] { log.checker.appended({1}, late, log.rows); }), "B-E17");
  Reservation refused;
  EXPECT_EQ(broken([&] {
              refused.say(Voided{.token = {1}, .text = "gpu was claimed with a later token"});
            }),
            "I3");
}

TEST(JobChecker, sees_a_write_of_a_leader_that_was_overtaken) {
  Log log;
  log.checker.took_over({2});
  EXPECT_EQ(broken([&] { log.say(Submitted{}); }), "I3");
}

TEST(TrafficChecker, sees_a_conversation_without_end) {
  TrafficChecker quiet, busy;
  for (int i = 0; i < 100; ++i) quiet.said();
  for (int i = 0; i < 10'000; ++i) busy.said();
  EXPECT_EQ(broken([&] { quiet.judge(1, minutes(1), seconds(2)); }), "");
  EXPECT_EQ(broken([&] { busy.judge(1, minutes(1), seconds(2)); }), "L6");
}

TEST(JobChecker, sees_a_restart_that_forgets) {
  Log log;
  log.say(Submitted{});
  State empty;
  EXPECT_EQ(broken([&] { log.checker.recovered(empty, log.rows); }), "I24");
  empty.restore(Seq{1}, Instant{10}, {});
  EXPECT_EQ(broken([&] { log.checker.recovered(empty, log.rows); }), "I5");
}

TEST(PromiseChecker, sees_a_promise_that_is_not_kept) {
  PromiseChecker checker;
  const SubmitKey key{"ana", "k"};
  const Digest said{{1}}, else_said{{2}};
  checker.acknowledged(key, said, {1});
  EXPECT_EQ(broken([&] { checker.acknowledged(key, said, {2}); }), "I7");
  EXPECT_EQ(broken([&] { checker.acknowledged(key, else_said, {1}); }), "I7");
  EXPECT_EQ(broken([&] { checker.conflicted(key, said, {1}); }), "I7");
  EXPECT_EQ(broken([&] { checker.conflicted(key, else_said, {2}); }), "I7");
  EXPECT_EQ(broken([&] { checker.conflicted(key, else_said, {1}); }), "");
  EXPECT_EQ(broken([&] { checker.kept(ModelRows{}); }), "I5");
  EXPECT_EQ(broken([&] { checker.canceled({1}, JobState::running); }), "I14");
  checker.canceled({1}, JobState::canceled);
  ModelRows rows;
  rows.jobs[{1}] = Job{.id = {1}, .owner = {.user = "ana"}, .said = said};
  EXPECT_EQ(broken([&] { checker.kept(rows); }), "I14");
}

}  // namespace
}  // namespace keel::sim
