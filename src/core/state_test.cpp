#include "core/state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/launch.h"
#include "core/place.h"

namespace keel {
namespace {

const NodeId nodes[] = {{"n1"}, {"n2"}, {"n3"}};

State fleet_of_three() {
  State state;
  for (const NodeId& id : nodes) {
    NodeInventory inventory{.id = id, .cpu = {64'000}, .memory = gibibytes(64)};
    for (int i = 0; i < 4; ++i) {
      inventory.devices.push_back({.id = {id.name + "-" + std::to_string(i)}, .model = "h100"});
    }
    state.apply(Instant{1}, NodeFact{id, NodeReported{inventory}});
  }
  return state;
}

// Every index, computed anew from the jobs alone, against the one that was kept.
void expect_indexes_to_agree(const State& state) {
  std::set<Place> line;
  Instant wake = never;
  std::map<NodeId, std::map<DeviceId, TaskKey>> devices;
  std::map<NodeId, std::map<JobId, std::uint32_t>> open;
  std::map<NodeId, std::int64_t> cpu;
  std::map<NodeId, std::set<std::uint16_t>> ports;
  for (const auto& [id, job] : state.jobs()) {
    if (job.state == JobState::queued) line.insert({job.submitted, id});
    wake = std::min(wake, wake_at(job));
    for (std::uint32_t rank = 0; rank < job.tasks.size(); ++rank) {
      const Task& task = job.tasks[rank];
      if (task.state != TaskState::settled) open[task.node][id] += 1;
      if (!holds_devices(task)) continue;
      for (const DeviceId& device : task.devices) {
        EXPECT_TRUE(devices[task.node].emplace(device, TaskKey{id, job.attempt, rank}).second);
      }
      cpu[task.node] += job.shape.cpu_per_task->count;
      if (rank == 0) ports[task.node].insert(task.port);
    }
  }
  EXPECT_EQ(state.line(), line);
  EXPECT_EQ(state.next_wake(), wake);
  for (const NodeId& node : nodes) {
    EXPECT_EQ(state.use_of(node).devices, devices[node]);
    EXPECT_EQ(state.use_of(node).cpu.count, cpu[node]);
    EXPECT_EQ(state.use_of(node).ports, ports[node]);
    EXPECT_EQ(state.jobs_on(node), open[node]);
  }
}

struct Walk {
  State state = fleet_of_three();
  std::mt19937 random;
  Instant now{1000};
  std::uint64_t jobs = 0;
  std::set<std::pair<DeviceId, FencingToken>> held;  // as the changes tell it
  int applied = 0;

  std::uint32_t draw(std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
  }
  Exit some_exit() {
    return {.kind = static_cast<ExitKind>(draw(0, 3)),
            .code = static_cast<std::int32_t>(draw(0, 1)),
            .cause = static_cast<StopCause>(draw(0, 6)),
            .clean = draw(0, 3) > 0};
  }
  JobEvent some_event(const Job& job) {
    const FencingToken token{job.token.value - draw(0, job.token.value > 0 ? 1 : 0)};
    const std::uint32_t task = draw(0, 2);
    switch (draw(0, 17)) {
      case 0: return Admitted{};
      case 1: return Expired{};
      case 2:
      case 3:
      case 4: {
        const auto slots = place(job.shape, state, {nodes[0], nodes[1], nodes[2]});
        if (!slots) return Heard{};
        return Reserved{.token = {state.last_token().value + 1},
                        .claim_by = now + seconds(draw(1, 9)),
                        .port = static_cast<std::uint16_t>(state.last_token().value + 1),
                        .slots = *slots};
      }
      case 5: return Voided{token, Reason::claim_expired, now + seconds(draw(0, 3))};
      case 6: return TaskPrepared{token, task};
      case 7: return Launched{token};
      case 8: return TaskStarted{token, task};
      case 9: return Started{token};
      case 10: return TaskEnded{token, task, some_exit()};
      case 11: return Ended{token};
      case 12: return TaskSettled{token, task};
      case 13: return Succeeded{};
      case 14: return Requeued{Reason::program_failed, now};
      case 15: return Silenced{};
      case 16: return Heard{};
      default: return Canceled{};
    }
  }
  void step() {
    now.us += draw(0, 500'000);
    if (draw(0, 9) == 0 || state.jobs().empty()) {
      const Submitted event{
          .shape = {.gang = {.tasks = draw(1, 3), .gpus_per_task = draw(0, 2)},
                    .cpu_per_task = Millicores{draw(1, 2000)}},
          .start_deadline = draw(0, 1) ? std::optional(seconds(draw(1, 60))) : std::nullopt};
      EXPECT_TRUE(state.apply(now, {{++jobs}, event}));
      return;
    }
    auto job = state.jobs().begin();
    std::advance(job, draw(0, static_cast<std::uint32_t>(state.jobs().size()) - 1));
    const JobFact fact{job->first, some_event(job->second)};
    // Half of the time what would really follow, so that walks get far.
    const auto next = next_step(job->second, now, Policy{});
    const Seq before = state.seq();
    const auto outcome = state.apply(now, next && draw(0, 1) ? JobFact{job->first, *next} : fact);
    EXPECT_EQ(state.seq().value, before.value + (outcome ? 1 : 0));
    applied += outcome ? 1 : 0;
    state.forget_if_over(fact.job);
  }
  void hear_changes() {
    for (const HoldingChange& change : state.take_holding_changes()) {
      const std::pair entry{change.device, change.token};
      EXPECT_TRUE(change.taken ? held.insert(entry).second : held.erase(entry) == 1);
    }
    std::set<std::pair<DeviceId, FencingToken>> now_held;
    for (const NodeId& node : nodes) {
      for (const auto& [device, key] : state.use_of(node).devices) {
        now_held.insert({device, state.find(key.job)->token});
      }
    }
    EXPECT_EQ(held, now_held);
  }
};

TEST(State, every_index_is_what_the_jobs_say_after_every_event) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed=" << seed);
  Walk walk;
  walk.random.seed(seed);
  for (int i = 0; i < 2000 && !testing::Test::HasFailure(); ++i) {
    walk.step();
    walk.hear_changes();
    expect_indexes_to_agree(walk.state);
  }
  EXPECT_GT(walk.applied, 200) << "the walk got nowhere";
}

TEST(State, what_wakes_is_given_once_and_a_later_deadline_is_kept) {
  State state = fleet_of_three();
  ASSERT_TRUE(state.apply(Instant{10}, {{1}, Submitted{.start_deadline = seconds(60)}}));
  ASSERT_TRUE(state.apply(Instant{10}, {{1}, Admitted{}}));
  ASSERT_TRUE(state.apply(
      Instant{10},
      {{1}, Reserved{.token = {1}, .claim_by = Instant{500}, .slots = {{nodes[0], {}}}}}));
  ASSERT_TRUE(state.apply(Instant{20}, {{1}, Voided{{1}, Reason::claim_expired, Instant{900}}}));
  EXPECT_EQ(state.next_wake(), Instant{900});
  EXPECT_EQ(state.take_woken(Instant{900}), (std::vector<JobId>{{1}}));
  EXPECT_EQ(state.take_woken(Instant{900}), std::vector<JobId>{});
  EXPECT_EQ(state.next_wake(), Instant{10} + seconds(60));
  EXPECT_EQ(state.rebuilt().next_wake(), state.next_wake()) << "given again by a new index";
  EXPECT_EQ(state.take_woken(Instant{10} + seconds(60)), (std::vector<JobId>{{1}}));
  EXPECT_EQ(state.rebuilt().next_wake(), never);
}

TEST(State, a_new_index_gives_what_was_not_given) {
  State state = fleet_of_three();
  ASSERT_TRUE(state.apply(Instant{10}, {{1}, Submitted{.start_deadline = seconds(1)}}));
  ASSERT_EQ(state.take_woken(Instant{5}), std::vector<JobId>{});
  State fresh = state.rebuilt();
  EXPECT_EQ(fresh.take_woken(Instant{10} + seconds(1)), (std::vector<JobId>{{1}}));
}

TEST(State, a_token_that_was_given_is_never_given_again) {
  State state = fleet_of_three();
  for (const std::uint64_t id : {1U, 2U}) {
    ASSERT_TRUE(state.apply(Instant{10}, {{id}, Submitted{}}));
    ASSERT_TRUE(state.apply(Instant{10}, {{id}, Admitted{}}));
  }
  const Reserved reserved{.token = {5}, .slots = {{nodes[0], {}}}};
  ASSERT_TRUE(state.apply(Instant{10}, {{1}, reserved}));
  EXPECT_EQ(state.apply(Instant{10}, {{2}, reserved}).error(), TransitionError::impossible);
}

TEST(State, a_job_leaves_memory_only_when_nothing_of_it_is_left) {
  State state = fleet_of_three();
  ASSERT_TRUE(state.apply(Instant{10}, {{1}, Submitted{}}));
  const Slot slot{nodes[0], {{"n1-0"}}};
  for (const JobEvent& event :
       std::vector<JobEvent>{Admitted{}, Reserved{.token = {1}, .slots = {slot}},
                             TaskPrepared{{1}, 0}, Launched{{1}}, Canceled{}}) {
    ASSERT_TRUE(state.apply(Instant{10}, {{1}, event}));
  }
  state.forget_if_over(JobId{1});
  ASSERT_NE(state.find(JobId{1}), nullptr) << "its task may run";
  ASSERT_TRUE(state.apply(Instant{10}, {{1}, TaskEnded{{1}, 0, {.clean = true}}}));
  state.forget_if_over(JobId{1});
  EXPECT_EQ(state.find(JobId{1}), nullptr);
}

}  // namespace
}  // namespace keel
