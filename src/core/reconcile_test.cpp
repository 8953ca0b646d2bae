#include "core/reconcile.h"

#include <gtest/gtest.h>

#include "core/launch.h"

namespace keel {
namespace {

const Policy policy;
const NodeId n1{"n1"};
const FencingToken token{5};
const TaskKey key{{1}, {1}, 0};
using enum TaskPhase;

// Job 1, one task, brought to `state` on n1 with token 5; its task as far as that implies.
State world(JobState at) {
  State state;
  state.apply(Instant{1}, NodeFact{n1, NodeReported{{.id = n1}}});
  const auto say = [&](JobEvent event) { EXPECT_TRUE(state.apply(Instant{10}, {{1}, event})); };
  say(Submitted{});
  say(Admitted{});
  if (at == JobState::queued) return state;
  say(Reserved{.token = token, .claim_by = Instant{99}, .slots = {{n1, {}}}});
  if (at == JobState::reserved) return state;
  say(TaskPrepared{token, 0});
  say(Launched{token});
  if (at == JobState::launching) return state;
  say(TaskStarted{token, 0});
  say(Started{token});
  if (at == JobState::running) return state;
  if (at == JobState::canceled) {
    say(Canceled{});
    return state;
  }
  say(TaskEnded{token, 0, {.clean = true}});
  say(Ended{token});
  return state;  // finishing
}

std::string facts(const State& state, const Report& report) {
  std::string text;
  for (const JobFact& fact : facts_told(n1, report, state, Instant{20}, policy).facts) {
    text += (text.empty() ? "" : " ") + std::string(name_of(fact.event));
  }
  return text;
}

std::string orders(const State& state, const Report& report) {
  std::string text;
  for (const Duty& order : orders_due(n1, report, state)) {
    text += std::holds_alternative<Stop>(order.kind) ? "stop" : "release";
  }
  return text;
}

Report saying(TaskPhase phase, FencingToken with = token, Exit exit = {.clean = true}) {
  return {.full = true, .tasks = {{.key = key, .token = with, .phase = phase, .exit = exit}}};
}
Report of_attempt_before(TaskPhase phase) {
  Report report = saying(phase, FencingToken{4});
  report.tasks[0].key.attempt = {0};
  return report;
}
const Report silent{.full = true};

// The job's state; what the agent says of its task; the facts told; what is ordered at once.
struct Row {
  JobState state;
  Report report;
  const char* facts;
  const char* orders;
};
const Row table[] = {
    {JobState::reserved, saying(preparing), "", ""},
    {JobState::reserved, saying(prepared), "TaskPrepared", ""},
    // Launched after the copy was made that was put back.
    {JobState::reserved, saying(running), "TaskPrepared Launched TaskStarted", ""},
    {JobState::reserved, saying(ended), "TaskPrepared Launched TaskStarted TaskEnded", ""},
    {JobState::reserved, saying(settled), "TaskPrepared Launched TaskStarted TaskEnded TaskSettled",
     ""},
    {JobState::reserved, saying(refused), "Voided", ""},
    {JobState::reserved, saying(ended, token, {.kind = ExitKind::not_started, .clean = true}),
     "Voided", ""},
    {JobState::reserved, silent, "", ""},
    {JobState::launching, saying(prepared), "", ""},
    {JobState::launching, saying(running), "TaskStarted", ""},
    {JobState::launching, saying(ended), "TaskStarted TaskEnded", ""},
    {JobState::launching, saying(ended, token, {.kind = ExitKind::not_started, .clean = true}),
     "TaskEnded", ""},
    {JobState::launching, saying(refused), "TaskEnded", ""},
    {JobState::launching, silent, "TaskEnded", ""},
    {JobState::running, saying(running), "", ""},
    {JobState::running, saying(ended), "TaskEnded", ""},
    {JobState::running, saying(settled), "TaskEnded TaskSettled", ""},
    {JobState::running, silent, "TaskEnded", ""},
    {JobState::running, saying(running, FencingToken{}), "", ""},  // without a claim: not gone yet
    {JobState::finishing, saying(ended), "", ""},
    {JobState::finishing, saying(settled), "TaskSettled", ""},
    {JobState::finishing, silent, "Requeued", ""},
    {JobState::canceled, saying(running), "", ""},
    {JobState::canceled, saying(ended), "TaskEnded", ""},
    {JobState::canceled, silent, "TaskEnded", ""},
    // An older attempt, or a job that is not wanted there: stop it, then let it go.
    {JobState::queued, silent, "", ""},
    {JobState::running, of_attempt_before(preparing), "TaskEnded", "stop"},
    {JobState::running, of_attempt_before(prepared), "TaskEnded", "stop"},
    {JobState::running, of_attempt_before(running), "TaskEnded", "stop"},
    {JobState::running, of_attempt_before(ended), "TaskEnded", "release"},
    {JobState::running, of_attempt_before(settled), "TaskEnded", "release"},
    {JobState::running, of_attempt_before(refused), "TaskEnded", "release"},
};

TEST(Reconcile, every_report_against_every_state) {
  for (const Row& row : table) {
    SCOPED_TRACE(testing::Message() << print(row.state) << ", row " << &row - table);
    const State state = world(row.state);
    EXPECT_EQ(facts(state, row.report), row.facts);
    EXPECT_EQ(orders(state, row.report), row.orders);
  }
}

TEST(Reconcile, a_token_that_was_never_given_is_an_alarm_and_nothing_is_done_to_its_holder) {
  const State state = world(JobState::running);
  const Report report = saying(running, {6});
  EXPECT_EQ(facts_told(n1, report, state, Instant{20}, policy).alarms.size(), 1U);
  EXPECT_EQ(orders(state, report), "");
}

// The store was put back from a copy that was made after token 5.
TEST(Reconcile, what_was_given_after_the_copy_is_foreign_as_long_as_it_lives) {
  State state = world(JobState::running);
  state.restore(state.seq(), state.at(), {100}, {{token, {100}}});
  struct Case {
    TaskPhase phase;
    bool clean;
    bool foreign;
    const char* orders;
  };
  for (const Case& one :
       {Case{preparing, true, true, "stop"}, Case{prepared, true, true, "stop"},
        Case{running, true, true, ""}, Case{ended, false, true, ""},
        Case{ended, true, false, "release"}, Case{settled, true, false, "release"},
        Case{refused, true, false, "release"}}) {
    const Report report = saying(one.phase, {60}, {.clean = one.clean});
    const Told told = facts_told(n1, report, state, Instant{20}, policy);
    EXPECT_EQ(told.foreign.size(), one.foreign ? 1U : 0U) << print(one.phase);
    EXPECT_TRUE(told.alarms.empty());
    EXPECT_EQ(orders(state, report), one.orders) << print(one.phase);
    // Its key is that of our own attempt, of which nothing is there.
    EXPECT_EQ(facts(state, report), one.foreign ? "TaskEnded" : "") << print(one.phase);
  }
  EXPECT_TRUE(state.was_given(token));
  EXPECT_FALSE(state.was_given({6}));
  EXPECT_FALSE(state.was_given({100}));
  EXPECT_FALSE(state.was_given({101}));
}

TEST(Reconcile, a_task_of_an_unknown_job_is_stopped_and_released) {
  State state = world(JobState::running);
  Report report = saying(running);
  report.tasks[0].key.job = {77};
  EXPECT_EQ(orders(state, report), "stop");
  report.tasks[0].phase = ended;
  EXPECT_EQ(orders(state, report), "release");
}

TEST(Reconcile, a_task_reported_by_a_node_it_was_not_placed_on_is_stopped_there) {
  State state = world(JobState::running);
  const NodeId n2{"n2"};
  state.apply(Instant{20}, NodeFact{n2, NodeReported{{.id = n2}}});
  const Report report = saying(running);
  EXPECT_TRUE(facts_told(n2, report, state, Instant{20}, policy).facts.empty());
  ASSERT_EQ(orders_due(n2, report, state).size(), 1U);
}

TEST(Reconcile, a_lost_node_requeues_a_job_only_where_all_of_it_had_ended) {
  State state = world(JobState::finishing);
  EXPECT_TRUE(facts_of_loss(*state.find(JobId{1}), n1).empty());
  ASSERT_TRUE(state.apply(Instant{20}, {{1}, Silenced{}}));
  const auto facts = facts_of_loss(*state.find(JobId{1}), n1);
  ASSERT_EQ(facts.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<Heard>(facts[0].event));
  EXPECT_TRUE(std::holds_alternative<Requeued>(facts[1].event));
}

TEST(Reconcile, a_refusal_says_which_task_and_why_and_waits_longer_each_time) {
  const State state = world(JobState::reserved);
  Report report = saying(refused);
  report.tasks[0].refusal = Reason::prepare_failed;
  report.tasks[0].text = "the disk is full";
  const auto told = facts_told(n1, report, state, Instant{20}, policy).facts;
  const auto& voided = std::get<Voided>(told.at(0).event);
  EXPECT_EQ(voided.text, "the disk is full");
  EXPECT_EQ(voided.not_before, next_try(*state.find(JobId{1}), Instant{20}, policy));
  Job failed = *state.find(JobId{1});
  failed.infrastructure_failures = 3;
  EXPECT_GT(next_try(failed, Instant{20}, policy), voided.not_before);
  State after = state;
  ASSERT_TRUE(after.apply(Instant{20}, told[0]));
  EXPECT_EQ(after.find(JobId{1})->tasks[0].exit.text, "the disk is full");
}

TEST(Reconcile, a_lost_node_loses_what_ran_there_and_nothing_else) {
  EXPECT_EQ(facts_of_loss(*world(JobState::running).find(JobId{1}), n1).size(), 1U);
  EXPECT_TRUE(facts_of_loss(*world(JobState::running).find(JobId{1}), NodeId{"n2"}).empty());
}

}  // namespace
}  // namespace keel
