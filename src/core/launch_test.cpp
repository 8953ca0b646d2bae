#include "core/launch.h"

#include <gtest/gtest.h>

#include <functional>

namespace keel {
namespace {

const Policy policy;
const FencingToken token{1};
const Exit good{.clean = true};
const Exit code_3{.kind = ExitKind::exited, .code = 3, .clean = true};
const Exit lost{.kind = ExitKind::lost, .clean = true};

Exit stopped(StopCause cause) {
  return {.kind = ExitKind::signaled, .code = 15, .cause = cause, .clean = true};
}

// A gang of two on one node, and what has happened to it.
struct World {
  State state;

  explicit World(std::uint32_t retries = 0) {
    NodeInventory inventory{.id = {"n1"}, .address = "10.0.0.1"};
    for (const char* uuid : {"g0", "g1"})
      inventory.devices.push_back({.id = {uuid}, .model = "h100"});
    state.apply(Instant{1}, NodeFact{{"n1"}, NodeReported{inventory}});
    say({Submitted{.shape = {.gang = {.tasks = 2, .gpus_per_task = 1}},
                   .retries = retries,
                   .start_deadline = seconds(100)},
         Admitted{}});
  }
  World& say(const std::vector<JobEvent>& events) {
    for (const JobEvent& event : events) {
      EXPECT_TRUE(state.apply(Instant{10}, {{1}, event})) << name_of(event);
    }
    return *this;
  }
  World& reserve() {
    return say({Reserved{.token = {state.last_token().value + 1},
                         .claim_by = Instant{10} + policy.claim_for,
                         .port = 29400,
                         .slots = {{{"n1"}, {{"g0"}}}, {{"n1"}, {{"g1"}}}}}});
  }
  World& run() {
    const FencingToken now = reserve().state.last_token();
    return say({TaskPrepared{now, 0}, TaskPrepared{now, 1}, Launched{now}, TaskStarted{now, 0},
                TaskStarted{now, 1}, Started{now}});
  }
  World& end(const Exit& first, const Exit& second) {
    const FencingToken now = state.last_token();
    return say({TaskEnded{now, 0, first}, TaskEnded{now, 1, second}});
  }
  const Job& job() const { return *state.find(JobId{1}); }
  std::string step(Instant now = Instant{10}) const {
    const auto next = next_step(job(), now, policy);
    return next ? std::string(name_of(*next)) : "";
  }
  std::vector<Duty> due() const { return duties(job(), state, policy); }
};

TEST(Launch, nothing_is_started_before_every_task_is_prepared) {
  World world;
  EXPECT_EQ(world.step(), "") << "it waits for the scheduler";
  world.reserve();
  EXPECT_EQ(world.due().size(), 2U);
  for (const Duty& due : world.due()) EXPECT_TRUE(std::holds_alternative<Prepare>(due.kind));
  world.say({TaskPrepared{token, 0}});
  EXPECT_EQ(world.step(), "");
  ASSERT_EQ(world.due().size(), 1U);
  EXPECT_EQ(world.due().front().key.task, 1U);
  world.say({TaskPrepared{token, 1}});
  EXPECT_EQ(world.step(), "Launched");
  EXPECT_TRUE(world.due().empty()) << "START is not sent before Launched is stored";
  world.say({Launched{token}});
  for (const Duty& due : world.due()) EXPECT_TRUE(std::holds_alternative<Start>(due.kind));
  EXPECT_EQ(world.due().size(), 2U);
}

TEST(Launch, every_task_is_told_where_the_first_one_listens) {
  World world;
  const auto due = world.reserve().due();
  const auto& prepare = std::get<Prepare>(due[1].kind);
  EXPECT_EQ(prepare.master_address, "10.0.0.1");
  EXPECT_EQ(prepare.master_port, 29400);
  EXPECT_EQ(prepare.tasks, 2U);
  EXPECT_EQ(prepare.devices, (std::vector<DeviceId>{{"g1"}}));
}

TEST(Launch, a_claim_that_is_not_prepared_in_time_is_void) {
  World world;
  world.reserve().say({TaskPrepared{token, 0}});
  const Instant just_before{world.job().claim_by.us - 1};
  EXPECT_EQ(world.step(just_before), "");
  EXPECT_EQ(world.step(world.job().claim_by), "Voided");
}

TEST(Launch, one_failed_task_stops_the_others_and_one_that_ends_well_does_not) {
  World world;
  world.run().say({TaskEnded{token, 0, good}});
  EXPECT_TRUE(world.due().empty());
  EXPECT_EQ(world.step(), "");
  World failing;
  failing.run().say({TaskEnded{token, 0, code_3}});
  ASSERT_EQ(failing.due().size(), 1U);
  EXPECT_EQ(failing.due().front().key.task, 1U);
  EXPECT_EQ(std::get<Stop>(failing.due().front().kind).cause, StopCause::sibling_failed);
  EXPECT_EQ(failing.step(), "") << "its sibling still runs";
}

TEST(Launch, a_success_waits_for_its_outputs) {
  World world;
  world.run().end(good, good);
  EXPECT_EQ(world.step(), "Ended");
  world.say({Ended{token}});
  EXPECT_EQ(world.step(), "");
  for (const Duty& due : world.due()) EXPECT_TRUE(std::holds_alternative<Commit>(due.kind));
  EXPECT_EQ(world.due().size(), 2U);
  world.say({TaskSettled{token, 0}, TaskSettled{token, 1}});
  EXPECT_EQ(world.step(), "Succeeded");
}

TEST(Launch, a_dirty_device_keeps_the_attempt_open) {
  World world;
  world.run().end(good, Exit{.clean = false});
  EXPECT_EQ(world.step(), "");
  world.say({TaskEnded{token, 1, Exit{.clean = true}}});
  EXPECT_EQ(world.step(), "Ended");
}

// name, retries, exits of both tasks, what follows the end, its reason.
struct Row {
  const char* name;
  std::uint32_t retries;
  Exit first, second;
  const char* step;
  Reason reason;
};
const Row table[] = {
    {"both did well", 0, good, good, "", Reason::none},
    {"the program failed", 0, code_3, stopped(StopCause::sibling_failed), "Failed",
     Reason::program_failed},
    {"the program failed and may try again", 1, code_3, stopped(StopCause::sibling_failed),
     "Requeued", Reason::program_failed},
    {"stopped by the sibling's failure first", 0, stopped(StopCause::sibling_failed), code_3,
     "Failed", Reason::program_failed},
    {"its time was over", 5, stopped(StopCause::time_limit), good, "Failed",
     Reason::time_limit_reached},
    {"no such program", 5, Exit{.kind = ExitKind::not_started, .clean = true}, good, "Failed",
     Reason::program_not_started},
    {"the node was lost", 0, lost, good, "Requeued", Reason::node_lost},
    {"the lease ended", 0, stopped(StopCause::lease), good, "Requeued", Reason::lease_ended},
    {"preempted", 0, stopped(StopCause::preempted), stopped(StopCause::preempted), "Requeued",
     Reason::preempted},
};

TEST(Launch, what_follows_an_end) {
  for (const Row& row : table) {
    SCOPED_TRACE(row.name);
    World world(row.retries);
    world.run().end(row.first, row.second).say({Ended{token}});
    EXPECT_EQ(world.step(), row.step);
    EXPECT_EQ(verdict(world.job()).reason, row.reason);
  }
}

TEST(Launch, failures_of_the_platform_have_a_bound_of_their_own_and_growing_pauses) {
  World world;
  Duration pause{};
  for (std::uint32_t i = 0; i < policy.infrastructure_failures_max; ++i) {
    world.run().end(lost, good);
    world.say({Ended{world.state.last_token()}});
    const auto step = next_step(world.job(), Instant{10}, policy);
    ASSERT_TRUE(step && std::holds_alternative<Requeued>(*step));
    const Duration next = std::get<Requeued>(*step).not_before - Instant{10};
    EXPECT_GT(next, pause);
    EXPECT_LE(next, policy.backoff_max);
    pause = next;
    world.say({*step});
  }
  world.run().end(lost, good);
  world.say({Ended{world.state.last_token()}});
  const auto step = next_step(world.job(), Instant{10}, policy);
  ASSERT_TRUE(step && std::holds_alternative<Failed>(*step));
  EXPECT_EQ(std::get<Failed>(*step).reason, Reason::retries_exhausted);
}

TEST(Launch, a_canceled_job_stops_what_may_run_and_nothing_else_is_due) {
  World world;
  world.run().say({TaskEnded{token, 0, good}, Canceled{}});
  const auto due = world.due();
  ASSERT_EQ(due.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<Release>(due[0].kind));
  EXPECT_EQ(std::get<Stop>(due[1].kind).cause, StopCause::canceled);
  EXPECT_EQ(world.step(), "");
}

TEST(Launch, a_job_not_started_by_its_deadline_expires) {
  World world;
  EXPECT_EQ(world.step(Instant{seconds(100).us}), "");
  EXPECT_EQ(world.step(Instant{10} + seconds(100)), "Expired");
  world.run();
  EXPECT_EQ(world.step(Instant{10} + seconds(200)), "") << "it has started";
}

TEST(Launch, an_unheard_job_goes_on_and_its_late_failure_still_stops_the_siblings) {
  World world;
  world.run().say({Silenced{}});
  EXPECT_TRUE(world.due().empty());
  world.say({TaskEnded{token, 0, code_3}});
  ASSERT_EQ(world.due().size(), 1U);
  EXPECT_EQ(std::get<Stop>(world.due().front().kind).cause, StopCause::sibling_failed);
}

}  // namespace
}  // namespace keel
