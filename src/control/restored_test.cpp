// A store that was put back from an older copy (KNOWN-FAULTS, B-F6): what was given out after the
// copy is never given again, is left alone and is shown; nothing runs twice.
#include "control/test_world.h"
#include "core/reconcile.h"

namespace keel {
namespace {

constexpr FencingToken last_of_copy{10};
constexpr FencingToken forgotten{15};  // given after the copy was made
constexpr LostTokens lost{last_of_copy, {1000}};

// A copy in which this job was all there is, put back and marked.
Loaded marked(const Job& job) {
  return {.seq = {7},
          .at = {seconds(900).us},
          .last_token = lost.up_to,
          .jobs = {job},
          .nodes = {Node{.inventory = {.id = n1, .agent_id = "first"}}},
          .lost = {lost},
          .settling = true};
}

// Job 9: of one task with one GPU.
Job queued() {
  return {.id = {9},
          .owner = {.user = "ana"},
          .shape = {.gang = {.tasks = 1, .gpus_per_task = 1}},
          .time_limit = hours(1),
          .state = JobState::queued,
          .submitted = {seconds(800).us}};
}

Job reserved() {
  Job job = queued();
  job.state = JobState::reserved;
  job.attempt = {1};
  job.token = last_of_copy;
  job.claim_by = {seconds(1001).us};
  job.tasks = {{.node = n1, .devices = {{"g0"}}, .state = TaskState::reserved}};
  return job;
}

std::vector<TaskReport> saying(TaskPhase phase, FencingToken token, JobId job = {9},
                               Exit exit = {}) {
  return {{.key = {job, {1}, 0}, .token = token, .phase = phase, .exit = exit}};
}

Reason why_waiting(World& world, JobId job) {
  world.turn({ReasonsInput{{1}, {job}}});
  const auto& reasons = std::get<ReasonsAnswer>(world.last.answers.at(0).kind).reasons;
  return reasons.empty() ? Reason::none : reasons.front().second;
}

TEST(Restored, nothing_is_placed_until_all_that_is_not_heard_of_has_surely_ended) {
  World world(marked(queued()));
  world.connect();
  world.report({});
  EXPECT_EQ(why_waiting(world, {9}), Reason::restored_lately);
  const Duration wait = proof_of_loss(world.policy.grace_max, world.policy);
  for (Duration passed; passed < wait - seconds(5); passed = passed + seconds(1)) {
    world.pass(seconds(1));
    world.report({});
    ASSERT_FALSE(world.last.batch.settles);
  }
  EXPECT_EQ(world.state(9), JobState::queued);
  bool settled = false;
  for (int second = 0; second < 10; ++second) {
    world.now = world.now + seconds(1);
    settled = world.turn().batch.settles || settled;
  }
  EXPECT_TRUE(settled) << "said to the store, so that the next start need not wait";
  EXPECT_EQ(world.state(9), JobState::reserved);
  EXPECT_GT(world.rows.at({9}).token, lost.up_to);
}

TEST(Restored, a_reservation_of_the_copy_is_kept_and_taken_up_where_it_was_launched_after_it) {
  World world(marked(reserved()));
  world.pass(minutes(5));
  EXPECT_EQ(world.state(9), JobState::reserved) << "its agent was told START, for all we know";
  world.connect();
  EXPECT_EQ(world.sent<Prepare>(), 0) << "another attempt of it may have been begun since";
  world.report(saying(TaskPhase::running, last_of_copy));
  EXPECT_EQ(world.state(9), JobState::running);
  EXPECT_EQ(world.sent<Stop>(), 0);
}

// Found by a reviewer: prepared anew, it would have been launched beside its second attempt.
TEST(Restored, a_reservation_of_the_copy_is_not_launched_while_another_attempt_may_run) {
  World world(marked(reserved()));
  world.connect();
  std::vector<TaskReport> tasks = saying(TaskPhase::prepared, last_of_copy);
  tasks.push_back({.key = {{9}, {2}, 0}, .token = forgotten, .phase = TaskPhase::running});
  for (int second = 0; second < 30; ++second) {
    world.report(tasks);
    ASSERT_EQ(world.sent<Prepare>() + world.sent<Start>(), 0);
    world.pass(seconds(1));
  }
  EXPECT_EQ(world.state(9), JobState::reserved);
}

// Found by a reviewer: voided at the end of the wait, it would have been begun beside itself.
TEST(Restored, a_gang_that_was_launched_after_the_copy_is_taken_up_though_a_part_of_it_is_silent) {
  for (const TaskPhase phase : {TaskPhase::running, TaskPhase::ended}) {
    Job job = reserved();
    job.shape.gang.tasks = 2;
    job.tasks.push_back({.node = {"n2"}, .devices = {{"g9"}}, .state = TaskState::reserved});
    Loaded copy = marked(job);
    copy.nodes.push_back(Node{.inventory = {.id = {"n2"}, .agent_id = "second"}});
    World world(copy);
    world.connect();
    world.report(saying(phase, last_of_copy, {9}, {.clean = true}));
    EXPECT_EQ(world.state(9), JobState::launching) << print(phase);
    EXPECT_EQ(world.rows.at({9}).tasks[1].state, TaskState::prepared);
    EXPECT_EQ(world.controller.alarms(), 0U);
  }
}

// Found by a reviewer: a claim whose START was written and whose shim never came waits for ever.
TEST(Restored, what_was_prepared_after_the_copy_and_has_not_begun_never_will) {
  World world(marked(queued()));
  world.connect();
  world.report(saying(TaskPhase::prepared, forgotten));
  EXPECT_EQ(world.sent<Stop>(), 1);
}

TEST(Restored, a_second_agent_of_the_name_is_refused_while_the_firsts_forgotten_tasks_run) {
  World world(marked(queued()));
  world.connect();
  world.report(saying(TaskPhase::running, forgotten));
  world.turn({AgentGone{n1, {1}}});
  world.connect({2}, "second");
  ASSERT_EQ(world.last.to_agents.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<ToAgent::Refuse>(world.last.to_agents[0].message));
}

TEST(Restored, a_reservation_that_nobody_knows_of_is_void_in_the_end) {
  World world(marked(reserved()));
  world.connect();
  world.report({});
  world.pass(proof_of_loss(world.policy.grace_max, world.policy) + seconds(5));
  EXPECT_EQ(world.state(9), JobState::queued);
  EXPECT_TRUE(world.controller.state().use_of(n1).devices.empty());
}

TEST(Restored, what_was_begun_after_the_copy_is_left_alone_and_shown_and_nothing_is_put_beside_it) {
  World world(marked(queued()));
  world.connect();
  world.pass(proof_of_loss(world.policy.grace_max, world.policy) - seconds(5));
  world.report(saying(TaskPhase::running, forgotten));
  EXPECT_EQ(world.sent<Stop>() + world.sent<Release>(), 0);
  ASSERT_EQ(world.last.batch.nodes.size(), 1U);
  EXPECT_EQ(world.last.batch.nodes[0].foreign,
            (std::vector<ForeignTask>{{{{9}, {1}, 0}, forgotten}}));
  world.pass(seconds(8));
  world.report(saying(TaskPhase::running, forgotten));
  EXPECT_EQ(why_waiting(world, {9}), Reason::runs_unknown);
  EXPECT_EQ(world.controller.alarms(), 0U) << "it was to be expected";

  world.turn({world.submit(1, 1)});
  EXPECT_EQ(world.state(1), JobState::queued) << "the only node is in use, nobody knows how";
  world.report(saying(TaskPhase::ended, forgotten, {9}, {.clean = true}));
  EXPECT_EQ(world.sent<Release>(), 1);
  world.turn();
  EXPECT_EQ(world.state(9), JobState::reserved);
  EXPECT_EQ(world.state(1), JobState::reserved);
}

TEST(Restored, what_is_left_of_it_when_it_ended_unclean_still_uses_its_devices) {
  World world(marked(queued()));
  world.connect();
  world.report(saying(TaskPhase::ended, forgotten, {9}, {.clean = false}));
  EXPECT_EQ(world.controller.state().find(n1)->foreign.size(), 1U);
  EXPECT_EQ(world.sent<Release>(), 0);
}

TEST(Restored, what_runs_on_a_node_that_is_not_heard_any_more_is_over_one_day) {
  World world(marked(queued()));
  world.connect();
  world.report(saying(TaskPhase::running, forgotten));
  world.turn({AgentGone{n1, {1}}});
  world.pass(proof_of_loss(world.policy.grace_max, world.policy) + seconds(5));
  EXPECT_TRUE(world.controller.state().find(n1)->foreign.empty());
  EXPECT_EQ(why_waiting(world, {9}), Reason::fleet_not_heard);
}

// Somebody put a copy back and forgot to say so.
TEST(Restored, a_node_that_is_ahead_of_an_unmarked_copy_gets_nothing_and_is_named) {
  World world;
  world.connect({1}, "first", {15});
  world.report({});
  world.turn({world.submit(1, 1)});
  world.pass(seconds(30));
  EXPECT_EQ(world.state(1), JobState::queued);
  EXPECT_EQ(world.rows.at({1}).infrastructure_failures, 0U);
  const auto notices = world.controller.take_notices();
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_NE(notices[0].find("n1 has seen token 15"), std::string::npos) << notices[0];
  EXPECT_NE(notices[0].find("--restored"), std::string::npos);
}

}  // namespace
}  // namespace keel
