#include <algorithm>

#include "control/test_world.h"

namespace keel {
namespace {

TEST(Controller, a_job_goes_from_submission_to_success) {
  World world;
  world.connect();
  world.report({});
  world.turn({world.submit(2, 2)});
  EXPECT_EQ(world.state(1), JobState::reserved);
  EXPECT_EQ(world.sent<Prepare>(), 2);
  world.report(world.all({1}, TaskPhase::prepared));
  EXPECT_EQ(world.state(1), JobState::launching);
  EXPECT_EQ(world.sent<Start>(), 2);
  world.report(world.all({1}, TaskPhase::running));
  EXPECT_EQ(world.state(1), JobState::running);
  world.report(world.all({1}, TaskPhase::ended));
  EXPECT_EQ(world.state(1), JobState::finishing);
  EXPECT_EQ(world.sent<Commit>(), 2);
  world.report(world.all({1}, TaskPhase::settled));
  EXPECT_EQ(world.state(1), JobState::succeeded);
  EXPECT_EQ(world.sent<Release>(), 2);
  EXPECT_TRUE(world.controller.state().jobs().empty()) << "it leaves memory; the store keeps it";
  EXPECT_EQ(world.controller.alarms(), 0U);
}

TEST(Controller, nothing_is_placed_on_a_node_before_its_first_full_report) {
  World world;
  world.connect();
  world.turn({world.submit(1, 1)});
  EXPECT_EQ(world.state(1), JobState::queued);
  world.report({});
  EXPECT_EQ(world.state(1), JobState::reserved);
}

TEST(Controller, a_key_makes_one_job_and_names_it_ever_after) {
  World world;
  world.turn({world.submit(1, 1, "k"), world.submit(1, 1, "k"), world.submit(1, 1, "k", 2)});
  ASSERT_EQ(world.last.answers.size(), 3U);
  EXPECT_FALSE(std::get<SubmitAnswer>(world.last.answers[0].kind).existing);
  EXPECT_TRUE(std::get<SubmitAnswer>(world.last.answers[1].kind).existing);
  EXPECT_EQ(std::get<KeyConflict>(world.last.answers[2].kind).first, JobId{1});
  EXPECT_EQ(world.rows.size(), 1U);
  Lookups stored;
  stored.keys[{"ana", "k"}] = {JobId{77}, Digest{{1}}};
  world.turn({world.submit(1, 1, "k"), world.submit(1, 1, "k", 2)}, stored);
  EXPECT_EQ(std::get<SubmitAnswer>(world.last.answers[0].kind).job, JobId{77});
  EXPECT_EQ(std::get<KeyConflict>(world.last.answers[1].kind).first, JobId{77});
  auto another = world.submit(1, 1, "k");
  another.owner.user = "ben";
  world.turn({another});
  EXPECT_FALSE(std::get<SubmitAnswer>(world.last.answers[0].kind).existing) << "keys are per user";
}

TEST(Controller, two_jobs_that_want_more_than_there_is_take_turns) {
  World world;
  world.connect();
  world.report({});
  world.turn({world.submit(1, 3), world.submit(1, 2)});
  EXPECT_EQ(world.state(1), JobState::reserved);
  EXPECT_EQ(world.state(2), JobState::queued);
  world.turn({ReasonsInput{{9}, {{2}, {1}}}});
  const auto& reasons = std::get<ReasonsAnswer>(world.last.answers[0].kind).reasons;
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_EQ(reasons[0].second, Reason::no_free_gpus);
  world.turn({CancelInput{{2}, {1}}});
  EXPECT_EQ(world.state(1), JobState::canceled);
  EXPECT_EQ(world.state(2), JobState::reserved) << "nothing of job 1 was started";
}

TEST(Controller, devices_of_a_canceled_job_are_free_only_once_its_end_was_observed) {
  World world;
  world.connect();
  world.report({});
  world.turn({world.submit(1, 4), world.submit(1, 1)});
  world.report(world.all({1}, TaskPhase::prepared));
  world.turn({CancelInput{{2}, {1}}});
  EXPECT_EQ(world.state(1), JobState::canceled);
  EXPECT_EQ(world.sent<Stop>(), 1) << "START may have arrived";
  EXPECT_EQ(world.state(2), JobState::queued);
  world.turn({CancelInput{{3}, {1}}});
  EXPECT_EQ(std::get<CancelAnswer>(world.last.answers[0].kind).state, JobState::canceled);
  world.report(world.all({1}, TaskPhase::running));
  EXPECT_EQ(world.sent<Stop>(), 1) << "said until it is heard";
  EXPECT_EQ(world.state(2), JobState::queued);
  world.report(
      world.all({1}, TaskPhase::ended, {.kind = ExitKind::signaled, .code = 15, .clean = true}));
  EXPECT_EQ(world.state(2), JobState::reserved);
}

TEST(Controller, a_cancel_of_a_job_that_is_over_tells_how_it_ended) {
  World world;
  Lookups stored;
  stored.jobs[{5}] = Job{.id = {5}, .state = JobState::failed};
  world.turn({CancelInput{{1}, {5}}, CancelInput{{2}, {6}}}, stored);
  EXPECT_EQ(std::get<CancelAnswer>(world.last.answers[0].kind).state, JobState::failed);
  EXPECT_EQ(std::get<NoSuchJob>(world.last.answers[1].kind).job, JobId{6});
  EXPECT_TRUE(world.log.empty());
}

TEST(Controller, one_failed_task_stops_the_gang_and_the_job_names_it) {
  World world;
  world.connect();
  world.report({});
  world.turn({world.submit(2, 1)});
  world.report(world.all({1}, TaskPhase::prepared));
  world.report(world.all({1}, TaskPhase::running));
  auto tasks = world.all({1}, TaskPhase::running);
  tasks[1].phase = TaskPhase::ended;
  tasks[1].exit = {.kind = ExitKind::exited, .code = 3, .clean = true};
  world.report(tasks);
  EXPECT_EQ(world.sent<Stop>(), 1) << "for the other one";
  tasks[0].phase = TaskPhase::ended;
  tasks[0].exit = {
      .kind = ExitKind::signaled, .code = 15, .cause = StopCause::sibling_failed, .clean = true};
  world.report(tasks);
  EXPECT_EQ(world.state(1), JobState::failed);
  EXPECT_EQ(world.rows.at({1}).first_failed, 1U);
  EXPECT_EQ(world.rows.at({1}).reason, Reason::program_failed);
}

TEST(Controller, a_silent_node_leaves_its_job_unknown_and_its_return_brings_it_back) {
  World world;
  world.run_a_job(1);
  world.pass(world.policy.silence);
  EXPECT_EQ(world.state(1), JobState::unknown);
  EXPECT_EQ(world.controller.state().find(n1)->state, NodeState::unreachable);
  world.connect({2});
  world.report(world.all({1}, TaskPhase::running), {2});
  EXPECT_EQ(world.state(1), JobState::running);
}

// B-E18
TEST(Controller, a_report_that_comes_in_the_turn_that_would_give_its_node_up_counts) {
  World world;
  world.run_a_job(1);
  world.pass(world.policy.silence - seconds(1));
  world.now = world.now + seconds(1);
  world.report(world.all({1}, TaskPhase::running));
  EXPECT_EQ(world.controller.state().find(n1)->state, NodeState::ready);
  EXPECT_EQ(world.state(1), JobState::running);
  world.pass(world.policy.silence - milliseconds(1));
  EXPECT_EQ(world.state(1), JobState::running) << "the whole time counts from that report";
  world.pass(milliseconds(1) + seconds(1));
  EXPECT_EQ(world.state(1), JobState::unknown);
}

TEST(Controller, a_job_is_started_over_only_after_the_proof_that_it_was_stopped) {
  World world;
  world.run_a_job(1);
  const Duration bound = world.policy.disconnect_stop + world.policy.kill_bound;
  world.pass(bound);
  EXPECT_EQ(world.state(1), JobState::unknown) << "its clock may run slow";
  world.pass(Duration{bound.us / 100} + seconds(2));
  EXPECT_EQ(world.state(1), JobState::queued);
  EXPECT_EQ(world.rows.at({1}).reason, Reason::node_lost);
}

TEST(Controller, its_own_absence_is_nobodys_silence) {
  World world;
  world.run_a_job(1);
  world.now = world.now + hours(5);
  world.turn();
  EXPECT_EQ(world.state(1), JobState::running);
  EXPECT_EQ(world.controller.state().find(n1)->state, NodeState::ready);
  world.pass(world.policy.silence);
  EXPECT_EQ(world.state(1), JobState::unknown);
}

TEST(Controller, connecting_again_and_again_is_not_being_heard) {
  World world;
  world.run_a_job(1);
  for (std::uint64_t session = 2; session <= 2 + 10; ++session) {
    world.pass(seconds(1));
    world.connect({session});
  }
  EXPECT_EQ(world.state(1), JobState::unknown);
}

TEST(Controller, a_report_of_a_session_that_was_replaced_is_not_heard) {
  World world;
  world.connect({2});
  world.report({}, {1});
  world.turn({world.submit(1, 1)});
  EXPECT_EQ(world.state(1), JobState::queued);
  world.report({}, {2});
  EXPECT_EQ(world.state(1), JobState::reserved);
}

TEST(Controller, a_heartbeat_stores_nothing_and_is_acknowledged) {
  World world;
  world.connect();
  world.report({});
  const std::size_t before = world.log.size();
  world.turn({AgentReported{n1, {1}, {.number = {9}}}});
  EXPECT_EQ(world.log.size(), before);
  ASSERT_EQ(world.last.to_agents.size(), 1U);
  EXPECT_EQ(std::get<ToAgent::Ack>(world.last.to_agents[0].message).report, ReportNo{9});
}

TEST(Controller, a_pass_stops_at_its_bound_and_goes_on_in_the_next_turn) {
  World world;
  world.policy.candidates_per_turn_max = 2;
  Controller bounded(world.policy, Epoch{1}, Loaded{}, world.now);
  std::vector<Input> inputs;
  Lookups lookups;
  for (std::uint64_t id = 1; id <= 5; ++id) {
    inputs.push_back(world.submit(1, 99));
    lookups.fresh_ids.push_back({id});
  }
  NodeInventory inventory{.id = n1, .devices = {{.id = {"g"}, .model = "m"}}};
  bounded.decide(world.now, {AgentConnected{n1, {1}, inventory}}, {});
  bounded.decide(world.now, std::move(inputs), lookups);
  EXPECT_EQ(bounded.next_wake(), world.now) << "three are still to be looked at";
  bounded.decide(world.now, {}, {});
  bounded.decide(world.now, {}, {});
  bounded.decide(world.now, {}, {});
  EXPECT_GT(bounded.next_wake(), world.now);
}

TEST(Controller, what_recovery_reads_is_what_was_in_memory) {
  World world;
  world.connect();
  world.report({});
  world.turn({world.submit(2, 1), world.submit(1, 4), world.submit(1, 1)});
  world.report(world.all({1}, TaskPhase::prepared));
  Loaded loaded{.seq = {world.log.size()},
                .at = world.now,
                .last_token = world.controller.state().last_token()};
  for (const auto& [id, job] : world.rows) loaded.jobs.push_back(job);
  loaded.nodes.push_back(*world.controller.state().find(n1));
  Controller next(world.policy, Epoch{2}, loaded, world.now);
  EXPECT_EQ(next.state().jobs(), world.controller.state().jobs());
  EXPECT_EQ(next.state().line(), world.controller.state().line());
  EXPECT_EQ(next.state().use_of(n1).devices, world.controller.state().use_of(n1).devices);
  EXPECT_EQ(next.state().use_of(n1).ports, world.controller.state().use_of(n1).ports);
  const Turn first = next.decide(world.now, {}, {});
  EXPECT_TRUE(first.batch.events.empty());
  EXPECT_TRUE(first.to_agents.empty()) << "nobody is connected yet";
}

TEST(Controller, folding_the_log_gives_the_rows) {
  World world;
  world.connect();
  world.report({});
  world.turn({world.submit(2, 1), world.submit(1, 4), world.submit(1, 1)});
  world.report(world.all({1}, TaskPhase::prepared));
  world.report(world.all({1}, TaskPhase::running));
  world.turn({CancelInput{{1}, {2}}});
  world.report(world.all({1}, TaskPhase::ended));
  world.report(world.all({1}, TaskPhase::settled));
  State state;
  std::map<JobId, Job> folded;
  for (const StoredEvent& event : world.log) {
    if (const auto* fact = std::get_if<JobFact>(&event.fact)) {
      ASSERT_TRUE(state.apply(event.at, *fact));
      folded[fact->job] = *state.find(fact->job);
    } else {
      state.apply(event.at, std::get<NodeFact>(event.fact));
    }
  }
  EXPECT_EQ(folded, world.rows);
}

// Whether the last turn has turned a connection away.
bool refused(const Turn& turn) {
  return std::ranges::any_of(turn.to_agents, [](const ToAgent& out) {
    return std::holds_alternative<ToAgent::Refuse>(out.message);
  });
}

TEST(Controller, an_agent_that_lost_its_disk_waits_until_what_ran_there_has_surely_ended) {
  World world;
  world.run_a_job(4);
  world.turn({AgentGone{n1, {1}}});
  world.connect({2}, "second");
  EXPECT_TRUE(refused(world.last));
  world.report({}, {2});
  EXPECT_EQ(world.state(1), JobState::running) << "nobody has proved anything";

  const Duration proof = world.policy.disconnect_stop + world.policy.kill_bound;
  world.pass(proof);
  EXPECT_EQ(world.state(1), JobState::unknown);
  world.connect({3}, "second");
  EXPECT_TRUE(refused(world.last)) << "one per cent and the grace are missing";
  world.pass(minutes(2));
  EXPECT_EQ(world.state(1), JobState::queued);
  world.connect({4}, "second");
  EXPECT_FALSE(refused(world.last));
  world.report({}, {4});
  world.now = world.now + world.policy.backoff_first;
  world.turn();
  EXPECT_EQ(world.state(1), JobState::reserved);
}

TEST(Controller, the_agent_that_has_the_claims_is_taken_back_and_a_stranger_is_not) {
  World world;
  world.connect();
  world.report({});
  world.turn({world.submit(1, 1)});
  const auto running = world.all({1}, TaskPhase::running);
  world.report(world.all({1}, TaskPhase::prepared));
  world.report(running);
  world.turn({AgentGone{n1, {1}}});
  world.connect({2}, "stranger");
  EXPECT_TRUE(refused(world.last));
  world.connect({3});
  EXPECT_FALSE(refused(world.last));
  world.report(running, {3});
  EXPECT_EQ(world.state(1), JobState::running);
}

TEST(Controller, a_node_that_holds_nothing_may_get_another_agent) {
  World world;
  world.connect();
  world.report({});
  world.turn({AgentGone{n1, {1}}});
  world.connect({2}, "second");
  EXPECT_FALSE(refused(world.last));
}

TEST(Controller, a_report_that_was_overtaken_is_not_heard) {
  World world;
  world.run_a_job(4);
  const std::uint64_t latest = world.reports;
  world.reports = 0;
  world.report({});  // number 1 once more: it knew nothing of the job
  EXPECT_EQ(world.state(1), JobState::running);
  world.reports = latest;
  world.report({});
  EXPECT_EQ(world.state(1), JobState::queued) << "this one does know";
}

TEST(Controller, a_node_where_something_runs_without_a_claim_gets_nothing_new) {
  World world;
  world.connect();
  const TaskReport stray{{{77}, {1}, 0}, {}, TaskPhase::running};
  world.report({stray});
  world.turn({world.submit(1, 1)});
  EXPECT_EQ(world.state(1), JobState::queued);
  world.report({});
  EXPECT_EQ(world.state(1), JobState::reserved);
}

TEST(Controller, a_node_whose_disk_is_full_keeps_what_runs_and_gets_nothing_new) {
  World world;
  world.run_a_job(1);
  NodeInventory inventory = world.controller.state().find(n1)->inventory;
  const auto say = [&](NodeCondition condition) {
    inventory.condition = condition;
    world.turn({AgentReported{
        n1, {1}, {{++world.reports}, true, inventory, world.all({1}, TaskPhase::running)}}});
  };
  say(NodeCondition::disk_full);
  world.turn({world.submit(1, 1)});
  world.turn({world.submit(1, 0)});
  world.pass(seconds(5));
  EXPECT_EQ(world.state(1), JobState::running);
  EXPECT_EQ(world.state(2), JobState::queued);
  EXPECT_EQ(world.state(3), JobState::queued) << "nor what needs no device";
  say(NodeCondition::fit);
  world.turn();
  EXPECT_EQ(world.state(2), JobState::reserved);
  EXPECT_EQ(world.state(3), JobState::reserved);
}

TEST(Controller, a_job_that_came_to_its_end_after_a_node_fell_silent_is_given_up_in_time_as_well) {
  World world;
  world.run_a_job(1);
  world.report(world.all({1}, TaskPhase::ended));
  EXPECT_EQ(world.state(1), JobState::finishing);
  world.turn({AgentGone{n1, {1}}});
  world.pass(world.policy.silence);
  EXPECT_EQ(world.state(1), JobState::unknown);
  world.pass(world.policy.disconnect_stop + minutes(2));
  EXPECT_EQ(world.state(1), JobState::queued) << "its outputs are gone with the node";
}

TEST(Controller, a_device_is_on_one_node) {
  World world;
  world.connect();
  world.report({});
  const NodeId n2{"n2"};
  const NodeInventory twin{.id = n2, .agent_id = "other", .devices = {{.id = {"g3"}}}};
  world.turn({AgentConnected{n2, {2}, twin}});
  ASSERT_TRUE(refused(world.last));
  EXPECT_NE(std::get<ToAgent::Refuse>(world.last.to_agents.back().message).why.find("g3"),
            std::string::npos);
  EXPECT_EQ(world.controller.state().find(n2), nullptr) << "nothing is stored of it";
  world.turn({AgentGone{n1, {1}}});
  world.pass(world.policy.silence);
  world.turn({AgentConnected{n2, {3}, twin}});
  EXPECT_FALSE(refused(world.last)) << "it was carried over";
  world.connect({4});
  EXPECT_TRUE(refused(world.last)) << "and is not where it was";
}

TEST(Controller, a_device_that_turns_up_in_a_report_is_looked_at_as_well) {
  World world;
  world.connect();
  world.report({});
  const NodeId n2{"n2"};
  NodeInventory second{.id = n2, .agent_id = "other"};
  world.turn({AgentConnected{n2, {2}, second}});
  ASSERT_FALSE(refused(world.last));
  second.devices = {{.id = {"g3"}}};
  world.turn({AgentReported{n2, {2}, {{1}, true, second, {}}}});
  EXPECT_TRUE(refused(world.last));
  EXPECT_TRUE(world.controller.state().find(n2)->inventory.devices.empty());
}

}  // namespace
}  // namespace keel
