#include "agent/attempt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "agent/environment.h"

namespace keel {
namespace {

const TaskKey key{{1}, {1}, 0};
const DeviceId g0{"GPU-0"};
const DeviceId g1{"GPU-1"};
const JobSpec spec{.name = "train", .program = "train", .env = {{"A", "1"}, {"RANK", "9"}}};

// A host with two GPUs whose agent is connected and has sent its first full report at time 0.
struct Host {
  AgentCore core{{.id = {"n1"}, .devices = {{.id = g0}, {.id = g1}}}, {}};
  Instant now{};

  Host() {
    core.connected();
    core.welcomed({.disconnect_stop = minutes(30), .heartbeat = seconds(2)}, now);
    EXPECT_TRUE(core.report_due(now)->full);
  }
  std::vector<AgentAction> tell(TaskKey task, std::uint64_t token, DutyKind kind) {
    return core.told({{"n1"}, task, {token}, std::move(kind)}, ReportNo{1}, &spec, now);
  }
  std::vector<AgentAction> prepare(TaskKey task, std::uint64_t token, DeviceId device) {
    return tell(task, token, Prepare{.devices = {device}, .claim_for = seconds(60), .tasks = 2});
  }
  void run(TaskKey task, std::uint64_t token, DeviceId device) {
    prepare(task, token, device);
    core.prepared(task, Done{});
    tell(task, token, Start{});
    core.observed({{.key = task, .phase = Observed::Phase::running}});
  }
  const Claim& claim(TaskKey task) const { return core.claims().at(task); }
};

// The kinds of the actions, in order: "write floors begin".
std::string names(const std::vector<AgentAction>& actions) {
  constexpr const char* words[] = {"write", "floors", "erase",   "begin", "start",
                                   "stop",  "commit", "release", "extend"};
  std::string text;
  for (const AgentAction& action : actions) {
    text += (text.empty() ? "" : " ") + std::string(words[action.index()]);
  }
  return text;
}

TEST(Attempt, a_claim_is_on_disk_before_anything_is_prepared) {
  Host host;
  EXPECT_EQ(names(host.prepare(key, 5, g0)), "write floors begin");
  EXPECT_EQ(host.claim(key).phase, TaskPhase::preparing);
  EXPECT_EQ(names(host.core.prepared(key, Done{})), "write");
  EXPECT_EQ(host.core.report_due(host.now)->tasks.at(0).phase, TaskPhase::prepared);
}

// An answer to each repetition would itself be answered by one.
TEST(Attempt, prepare_said_twice_is_done_once_and_needs_no_report_of_its_own) {
  Host host;
  host.prepare(key, 5, g0);
  host.core.prepared(key, Done{});
  EXPECT_TRUE(host.core.report_due(host.now));
  EXPECT_EQ(names(host.prepare(key, 5, g0)), "");
  EXPECT_FALSE(host.core.report_due(host.now));
}

// Found by a simulated world in which a copy of a PREPARE and of its START came after the RELEASE,
// and the job's next attempt was running: a task without devices has no token floor.
TEST(Attempt, a_prepare_from_before_its_release_begins_nothing) {
  Host host;
  const Prepare order{.devices = {}, .claim_for = seconds(60), .tasks = 2};
  host.tell(key, 5, order);
  host.core.prepared(key, Done{});
  ASSERT_TRUE(host.core.report_due(host.now));  // the second
  EXPECT_EQ(names(host.tell(key, 5, Release{})), "release erase");
  for (const std::uint64_t answers : {1U, 2U}) {
    EXPECT_EQ(names(host.core.told({{"n1"}, key, {5}, order}, ReportNo{answers}, &spec, host.now)),
              "");
  }
  ASSERT_TRUE(host.core.report_due(host.now));  // the third says that it is gone
  EXPECT_EQ(names(host.core.told({{"n1"}, key, {5}, order}, ReportNo{3}, &spec, host.now)),
            "write begin")
      << "an answer to that is meant";
}

TEST(Attempt, a_prepare_with_devices_from_before_its_release_is_refused_on_record) {
  Host host;
  host.prepare(key, 5, g0);
  host.core.prepared(key, Done{});
  host.tell(key, 5, Stop{StopCause::canceled});
  EXPECT_EQ(names(host.tell(key, 5, Release{})), "release erase");
  EXPECT_EQ(names(host.prepare(key, 5, g0)), "write");
  EXPECT_EQ(host.claim(key).phase, TaskPhase::refused);
}

TEST(Attempt, of_an_agent_that_died_between_claim_and_floor_still_refuses_what_is_older) {
  Host host;
  host.prepare(key, 5, g0);
  AgentCore next{{.id = {"n1"}, .devices = {{.id = g0}}}, {.claims = {host.claim(key)}}};
  EXPECT_EQ(next.floors().at(g0), FencingToken{5});
  EXPECT_EQ(names(next.resumed()), "begin");
}

TEST(Attempt, prepare_said_while_it_is_being_done_is_no_reason_to_report) {
  Host host;
  host.prepare(key, 5, g0);
  EXPECT_EQ(host.core.report_due(host.now)->tasks.at(0).phase, TaskPhase::preparing);
  EXPECT_EQ(names(host.prepare(key, 5, g0)), "");
  EXPECT_FALSE(host.core.report_due(host.now)) << "it would be answered by PREPARE, without end";
}

TEST(Attempt, start_is_stored_before_it_is_obeyed_and_starts_one_shim) {
  Host host;
  host.prepare(key, 5, g0);
  EXPECT_EQ(names(host.tell(key, 5, Start{})), "") << "nothing is started before it is prepared";
  host.core.prepared(key, Done{});
  EXPECT_EQ(names(host.tell(key, 5, Start{})), "write start");
  host.core.observed({{.key = key, .phase = Observed::Phase::running}});
  EXPECT_EQ(names(host.tell(key, 5, Start{})), "");
}

TEST(Attempt, a_device_goes_only_to_a_later_token_and_never_from_under_a_task_that_may_run) {
  Host host;
  host.run(key, 5, g0);
  const TaskKey second{{2}, {1}, 0};
  host.prepare(second, 6, g0);
  EXPECT_EQ(host.claim(second).refusal, Reason::claim_refused);
  EXPECT_NE(host.claim(second).text.find(print(key)), std::string::npos) << "says who holds it";
  const TaskKey third{{3}, {1}, 0};
  host.prepare(third, 7, g1);
  EXPECT_EQ(host.claim(third).phase, TaskPhase::preparing);
  const TaskKey fourth{{4}, {1}, 0};
  host.prepare(fourth, 7, g1);
  EXPECT_EQ(host.claim(fourth).phase, TaskPhase::refused) << "equal is not later";
  const TaskKey fifth{{5}, {1}, 0};
  host.prepare(fifth, 8, g1);
  EXPECT_EQ(host.claim(fifth).phase, TaskPhase::preparing);
  EXPECT_EQ(host.claim(third).exit.kind, ExitKind::not_started) << "void, for nothing was started";
}

TEST(Attempt, token_floors_survive_a_lost_disk_by_the_control_planes_word) {
  Host host;
  host.core.connected();
  EXPECT_EQ(names(host.core.welcomed({.floors = {{g0, {9}}}, .heartbeat = seconds(2)}, host.now)),
            "floors");
  (void)host.core.report_due(host.now);
  host.prepare(key, 8, g0);
  EXPECT_EQ(host.claim(key).refusal, Reason::claim_refused);
  const TaskKey live{{2}, {1}, 0};
  host.prepare(live, 9, g0);
  EXPECT_EQ(host.claim(live).phase, TaskPhase::preparing) << "the live reservation itself";
}

TEST(Attempt, a_device_that_is_not_here_is_refused) {
  Host host;
  host.prepare(key, 5, DeviceId{"GPU-9"});
  EXPECT_EQ(host.claim(key).refusal, Reason::claim_refused);
}

TEST(Attempt, durations_count_from_the_report_that_a_duty_answers) {
  Host host;
  host.now = Instant{seconds(59).us};
  host.prepare(key, 5, g0);
  EXPECT_EQ(host.claim(key).claim_until, Instant{seconds(60).us}) << "report 1 was sent at 0";
  const TaskKey late{{2}, {1}, 0};
  host.now = Instant{seconds(60).us};
  host.prepare(late, 6, g1);
  EXPECT_EQ(host.claim(late).refusal, Reason::claim_expired);
  EXPECT_EQ(
      names(host.core.told({{"n1"}, {{3}, {1}, 0}, {7}, Prepare{}}, ReportNo{77}, &spec, host.now)),
      "")
      << "an answer to a report of another connection is not heard";
}

TEST(Attempt, a_claim_without_start_is_given_up_at_its_deadline_and_start_then_is_refused) {
  Host host;
  host.prepare(key, 5, g0);
  host.core.prepared(key, Done{});
  EXPECT_EQ(names(host.core.tick(Instant{seconds(60).us - 1})), "");
  EXPECT_EQ(names(host.core.tick(Instant{seconds(60).us})), "write release");
  EXPECT_EQ(host.claim(key).refusal, Reason::claim_expired);
  EXPECT_EQ(names(host.tell(key, 5, Start{})), "");
}

TEST(Attempt, nothing_is_cleared_away_while_it_is_being_prepared) {
  Host host;
  host.prepare(key, 5, g0);
  EXPECT_EQ(names(host.core.tick(Instant{seconds(60).us})), "write");
  EXPECT_EQ(names(host.tell(key, 5, Release{})), "erase");
  EXPECT_EQ(names(host.core.observed({{.key = key, .phase = Observed::Phase::prepared}})), "");
  EXPECT_EQ(names(host.core.prepared(key, Done{})), "release");
}

TEST(Attempt, a_stop_before_start_needs_no_shim_and_one_after_is_durable_first) {
  Host host;
  host.prepare(key, 5, g0);
  EXPECT_EQ(names(host.tell(key, 5, Stop{StopCause::canceled})), "write");
  EXPECT_EQ(host.claim(key).exit.kind, ExitKind::not_started);
  EXPECT_EQ(names(host.core.prepared(key, Done{})), "release") << "what came of it is cleared away";
  const TaskKey running{{2}, {1}, 0};
  host.run(running, 6, g1);
  EXPECT_EQ(names(host.tell(running, 6, Stop{StopCause::canceled})), "write stop");
  const auto again = host.tell(running, 6, Stop{StopCause::preempted});
  ASSERT_EQ(names(again), "stop") << "the host may not have been able to, the first time";
  EXPECT_EQ(std::get<StopTask>(again[0]).cause, StopCause::canceled) << "the first cause stays";
}

TEST(Attempt, an_older_token_is_never_obeyed) {
  Host host;
  host.run(key, 5, g0);
  EXPECT_EQ(names(host.tell(key, 4, Stop{StopCause::canceled})), "");
  EXPECT_EQ(names(host.tell(key, 6, Release{})), "");
}

TEST(Attempt, the_end_is_what_was_observed_and_is_told_until_it_is_released) {
  Host host;
  host.run(key, 5, g0);
  const Exit exit{.kind = ExitKind::exited, .code = 3, .clean = false};
  EXPECT_EQ(
      names(host.core.observed({{.key = key, .phase = Observed::Phase::ended, .exit = exit}})),
      "write");
  EXPECT_EQ(names(host.tell(key, 5, Release{})), "") << "a process may be left";
  const Exit clean{.kind = ExitKind::exited, .code = 3, .clean = true};
  host.core.observed({{.key = key, .phase = Observed::Phase::ended, .exit = clean}});
  EXPECT_EQ(host.core.report_due(host.now)->tasks.at(0).exit, clean);
  EXPECT_EQ(names(host.tell(key, 5, Release{})), "release erase");
  EXPECT_TRUE(host.core.report_due(host.now)->tasks.empty());
}

TEST(Attempt, outputs_are_committed_once_and_only_of_a_clean_end) {
  Host host;
  host.run(key, 5, g0);
  EXPECT_EQ(names(host.tell(key, 5, Commit{})), "");
  host.core.observed({{.key = key, .phase = Observed::Phase::ended, .exit = {.clean = true}}});
  EXPECT_EQ(names(host.tell(key, 5, Commit{})), "commit");
  EXPECT_EQ(names(host.core.committed(key, RuntimeError{"disk full"})), "");
  EXPECT_EQ(names(host.core.committed(key, Done{})), "write");
  EXPECT_EQ(host.claim(key).phase, TaskPhase::settled);
  EXPECT_EQ(names(host.tell(key, 5, Commit{})), "");
}

TEST(Attempt, a_new_agent_adopts_what_runs_and_starts_nothing_by_itself) {
  Host old;
  old.run(key, 5, g0);
  const TaskKey unstarted{{2}, {1}, 0};
  old.prepare(unstarted, 6, g1);
  old.core.prepared(unstarted, Done{});
  old.tell(unstarted, 6, Start{});  // stored, and then the agent died: there is no shim
  Claims::Kept kept{.floors = old.core.floors()};
  for (const auto& [one, claim] : old.core.claims()) kept.claims.push_back(claim);
  AgentCore next({.id = {"n1"}, .devices = {{.id = g0}, {.id = g1}}}, kept);
  EXPECT_EQ(names(next.resumed()), "");
  const Exit exit{.kind = ExitKind::exited, .code = 7, .clean = true};
  next.observed({{.key = key, .phase = Observed::Phase::ended, .exit = exit},
                 {.key = unstarted, .phase = Observed::Phase::prepared}});
  EXPECT_EQ(next.claims().at(key).exit, exit) << "it ended while no agent lived";
  EXPECT_EQ(next.claims().at(unstarted).phase, TaskPhase::prepared);
  next.connected();
  next.welcomed({.disconnect_stop = minutes(30), .heartbeat = seconds(2)}, Instant{});
  (void)next.report_due(Instant{});
  EXPECT_EQ(names(next.told({{"n1"}, unstarted, {6}, Start{}}, ReportNo{1}, nullptr, Instant{})),
            "extend start");
}

// B-E9
TEST(Attempt, a_thousand_jobs_that_failed_before_they_ran_leave_nothing_held) {
  Host host;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    const TaskKey failing{{i}, {1}, 0};
    host.prepare(failing, i, g0);
    host.core.prepared(failing, RuntimeError{"no such program"});
    ASSERT_EQ(host.claim(failing).phase, TaskPhase::refused);
    host.tell(failing, i, Release{});
    ASSERT_TRUE(host.core.claims().empty()) << "after " << i;
    ASSERT_TRUE(host.core.started().empty());
  }
  EXPECT_EQ(host.core.floors().size(), 1u);
  EXPECT_TRUE(host.core.report_due(host.now)->tasks.empty());
  EXPECT_EQ(names(host.prepare({{1001}, {1}, 0}, 1001, g0)), "write floors begin");
}

// B-E11
TEST(Attempt, what_has_ended_stays_as_it_ended_though_a_later_job_has_its_devices) {
  Host old;
  const TaskKey finished{{1}, {1}, 0};
  const TaskKey later{{2}, {1}, 0};
  old.run(finished, 5, g0);
  const Exit success{.kind = ExitKind::exited, .code = 0, .clean = true};
  const Observed end{.key = finished, .phase = Observed::Phase::ended, .exit = success};
  old.core.observed({end});
  old.tell(finished, 5, Commit{});
  old.core.committed(finished, Done{});
  old.run(later, 6, g0);
  Claims::Kept kept{.floors = old.core.floors()};
  for (const auto& [one, claim] : old.core.claims()) kept.claims.push_back(claim);
  AgentCore next({.id = {"n1"}, .devices = {{.id = g0}}}, kept);
  EXPECT_EQ(names(next.resumed()), "");
  // The record of its end is still there; or something has removed it. Neither is news.
  const Observed running{.key = later, .phase = Observed::Phase::running};
  for (const std::vector<Observed>& seen :
       {std::vector<Observed>{end, running}, std::vector<Observed>{running}}) {
    EXPECT_EQ(names(next.observed(seen)), "");
    EXPECT_EQ(next.claims().at(finished).phase, TaskPhase::settled);
    EXPECT_EQ(next.claims().at(finished).exit, success);
    EXPECT_EQ(next.claims().at(later).phase, TaskPhase::running);
  }
}

// B-E2
TEST(Attempt, neither_a_restart_nor_a_new_connection_gives_a_task_more_time) {
  Host old;
  old.run(key, 5, g0);
  Claims::Kept kept{.floors = old.core.floors()};
  for (const auto& [one, claim] : old.core.claims()) kept.claims.push_back(claim);
  AgentCore next({.id = {"n1"}, .devices = {{.id = g0}}}, kept);
  const Instant late{minutes(29).us};
  std::string done = names(next.resumed());
  done += names(next.observed({{.key = key, .phase = Observed::Phase::running}}));
  next.connected();
  done += names(next.welcomed({.disconnect_stop = minutes(30), .heartbeat = seconds(2)}, late));
  const auto report = next.report_due(late);
  done += names(next.tick(late));
  EXPECT_EQ(done, "") << "its shim would be told of a lease that nobody has granted";
  ASSERT_TRUE(report);
  const auto heard = next.acknowledged(report->number, late);
  ASSERT_EQ(names(heard), "extend");
  EXPECT_EQ(std::get<ExtendLease>(heard[0]).lease, late + minutes(30));
}

TEST(Attempt, a_task_that_nobody_claimed_is_stopped_and_then_cleared_away) {
  Host host;
  EXPECT_EQ(names(host.core.observed({{.key = key, .phase = Observed::Phase::running}})), "stop");
  const Observed unclean{.key = key, .phase = Observed::Phase::ended};
  EXPECT_EQ(names(host.core.observed({unclean})), "") << "somebody else is at it";
  const Observed clean{.key = key, .phase = Observed::Phase::ended, .exit = {.clean = true}};
  EXPECT_EQ(names(host.core.observed({clean})), "release");
}

TEST(Attempt, what_runs_without_a_claim_is_told_until_nothing_is_left_of_it) {
  Host host;
  host.core.observed({{.key = key, .phase = Observed::Phase::running}});
  auto report = host.core.report_due(host.now);
  ASSERT_TRUE(report && report->full);
  ASSERT_EQ(report->tasks.size(), 1U);
  EXPECT_EQ(report->tasks[0].token, FencingToken{});
  EXPECT_EQ(report->tasks[0].phase, TaskPhase::running);
  host.core.observed({{.key = key, .phase = Observed::Phase::ended}});
  EXPECT_FALSE(host.core.report_due(host.now)) << "not clean: it is as it was";
  host.core.observed({});
  report = host.core.report_due(host.now);
  ASSERT_TRUE(report && report->full);
  EXPECT_TRUE(report->tasks.empty());
}

TEST(Attempt, an_agent_that_was_not_accepted_leaves_alone_what_runs_here) {
  AgentCore stranger({.id = {"n1"}}, {});
  const Observed running{.key = key, .phase = Observed::Phase::running};
  EXPECT_EQ(names(stranger.observed({running})), "");
  stranger.connected();
  EXPECT_EQ(names(stranger.observed({running})), "");
  stranger.welcomed({.disconnect_stop = minutes(30), .heartbeat = seconds(2)}, Instant{});
  stranger.disconnected();
  EXPECT_EQ(names(stranger.observed({running})), "stop");
}

TEST(Attempt, a_started_task_is_looked_for_until_it_has_ended_clean) {
  Host host;
  host.prepare(key, 5, g0);
  host.core.prepared(key, Done{});
  EXPECT_TRUE(host.core.started().empty());
  host.tell(key, 5, Start{});
  ASSERT_EQ(host.core.started().size(), 1U);
  EXPECT_EQ(host.core.started()[0].key, key);
  EXPECT_FALSE(host.core.started()[0].ran);
  host.core.observed({{.key = key, .phase = Observed::Phase::running}});
  EXPECT_TRUE(host.core.started()[0].ran);
  host.core.observed({{.key = key, .phase = Observed::Phase::ended}});
  EXPECT_EQ(host.core.started().size(), 1U) << "a process may be left";
  host.core.observed({{.key = key, .phase = Observed::Phase::ended, .exit = {.clean = true}}});
  EXPECT_TRUE(host.core.started().empty());
}

// What the runner does with a disk that keeps nothing from the first write on.
std::vector<AgentAction> on_full_disk(AgentCore& core, const std::vector<AgentAction>& actions) {
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const bool writes = std::holds_alternative<WriteClaim>(actions[i]) ||
                        std::holds_alternative<WriteFloors>(actions[i]);
    if (writes) return core.unkept(std::span(actions).subspan(i), "No space left on device");
  }
  return {};
}

TEST(Attempt, a_claim_that_the_disk_does_not_keep_is_refused_and_nothing_is_prepared) {
  Host host;
  EXPECT_EQ(names(on_full_disk(host.core, host.prepare(key, 5, g0))), "");
  const auto report = host.core.report_due(host.now);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->tasks.at(0).phase, TaskPhase::refused);
  EXPECT_EQ(report->tasks.at(0).refusal, Reason::prepare_failed);
  EXPECT_NE(report->tasks.at(0).text.find("No space left on device"), std::string::npos);
  EXPECT_EQ(names(host.tell(key, 5, Start{})), "");
  EXPECT_EQ(names(host.tell(key, 5, Release{})), "release erase");
  EXPECT_EQ(names(host.core.tick(Instant{seconds(2).us})), "floors") << "those are still owed";
}

TEST(Attempt, a_start_that_the_disk_does_not_keep_starts_nothing_until_it_does) {
  Host host;
  host.prepare(key, 5, g0);
  host.core.prepared(key, Done{});
  EXPECT_EQ(names(on_full_disk(host.core, host.tell(key, 5, Start{}))), "");
  EXPECT_EQ(names(host.tell(key, 5, Start{})), "write start") << "not before the disk has it";
}

TEST(Attempt, a_stop_that_the_disk_does_not_keep_is_done_all_the_same_and_written_later) {
  Host host;
  host.run(key, 5, g0);
  EXPECT_EQ(names(on_full_disk(host.core, host.tell(key, 5, Stop{StopCause::canceled}))), "stop");
  host.now = Instant{seconds(2).us};
  const auto again = host.core.tick(host.now);
  ASSERT_EQ(names(again), "write");
  EXPECT_EQ(std::get<WriteClaim>(again[0]).claim.stop, StopCause::canceled);
  on_full_disk(host.core, again);
  EXPECT_EQ(names(host.core.tick(host.now)), "") << "not as fast as it can";
  EXPECT_EQ(names(host.core.tick(Instant{seconds(3).us})), "write");
  EXPECT_EQ(names(host.core.tick(Instant{seconds(5).us})), "") << "the disk has it";
}

// B-E2
TEST(Attempt, leases_follow_the_last_report_that_was_acknowledged_not_the_last_sent) {
  Host host;
  host.run(key, 5, g0);
  host.now = Instant{seconds(20).us};
  const auto second = host.core.report_due(host.now);
  ASSERT_TRUE(second);
  EXPECT_EQ(names(host.core.acknowledged(ReportNo{1}, host.now)), "") << "nothing new was heard";
  const auto actions = host.core.acknowledged(second->number, host.now);
  ASSERT_EQ(names(actions), "extend");
  EXPECT_EQ(std::get<ExtendLease>(actions[0]).lease, Instant{seconds(20).us} + minutes(30));
}

TEST(Attempt, a_heartbeat_is_short_and_a_full_report_comes_every_minute) {
  Host host;
  EXPECT_EQ(host.core.report_due(Instant{seconds(1).us}), std::nullopt);
  const auto beat = host.core.report_due(Instant{seconds(2).us});
  ASSERT_TRUE(beat);
  EXPECT_FALSE(beat->full);
  EXPECT_EQ(beat->inventory, std::nullopt);
  EXPECT_TRUE(host.core.report_due(Instant{seconds(60).us})->full);
  host.core.disconnected();
  EXPECT_EQ(host.core.report_due(Instant{seconds(300).us}), std::nullopt);
}

TEST(Attempt, the_environment_has_the_rendezvous_and_no_spec_overrides_it) {
  const auto env = environment(
      {{1}, {2}, 1},
      {.devices = {g1, g0}, .tasks = 2, .master_address = "10.0.0.1", .master_port = 29400}, spec);
  const auto value = [&](const std::string& name) {
    const auto found = std::ranges::find(env, name, &std::pair<std::string, std::string>::first);
    return found == env.end() ? "absent" : found->second;
  };
  EXPECT_EQ(value("MASTER_ADDR"), "10.0.0.1");
  EXPECT_EQ(value("MASTER_PORT"), "29400");
  EXPECT_EQ(value("WORLD_SIZE"), "2");
  EXPECT_EQ(value("RANK"), "1");
  EXPECT_EQ(value("LOCAL_RANK"), "0");
  EXPECT_EQ(value("CUDA_VISIBLE_DEVICES"), "GPU-1,GPU-0");
  EXPECT_EQ(value("KEEL_ATTEMPT"), "2");
  EXPECT_EQ(value("A"), "1");
  EXPECT_EQ(std::ranges::count(env, "RANK", &std::pair<std::string, std::string>::first), 1);
}

}  // namespace
}  // namespace keel
