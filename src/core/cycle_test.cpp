#include "core/cycle.h"

#include <gtest/gtest.h>

namespace keel {
namespace {

// One node of four h100, and jobs submitted one after the other: id, tasks x GPUs.
struct World {
  State state;
  Placeable placeable{{"n1"}};
  Instant now{1000};

  World() {
    NodeInventory inventory{.id = {"n1"}, .cpu = {64'000}, .memory = gibibytes(64)};
    for (const char* uuid : {"g0", "g1", "g2", "g3"}) {
      inventory.devices.push_back({.id = {uuid}, .model = "h100"});
    }
    state.apply(Instant{1}, NodeFact{{"n1"}, NodeReported{inventory}});
  }
  void queue(std::uint64_t id, std::uint32_t tasks, std::uint32_t gpus, std::string model = "") {
    const Instant at{static_cast<std::int64_t>(id)};
    const Shape shape{
        .gang = {.tasks = tasks, .gpus_per_task = gpus, .gpu_model = std::move(model)}};
    ASSERT_TRUE(state.apply(std::max(at, state.at()), {{id}, Submitted{.shape = shape}}));
    ASSERT_TRUE(state.apply(state.at(), {{id}, Admitted{}}));
  }
  // Takes a whole pass, folding each placement in as the controller does.
  std::vector<std::pair<std::uint64_t, Reason>> pass(Cursor& cursor) {
    std::vector<std::pair<std::uint64_t, Reason>> reasons;
    while (auto decision = examine_next(state, placeable, now, cursor)) {
      reasons.emplace_back(decision->job.value, decision->reason);
      if (decision->reason != Reason::none) continue;
      const Reserved reserved{.token = {state.last_token().value + 1},
                              .claim_by = Instant{9000},
                              .slots = decision->slots};
      EXPECT_TRUE(state.apply(now, {decision->job, reserved}));
    }
    return reasons;
  }
};

using Reasons = std::vector<std::pair<std::uint64_t, Reason>>;

TEST(Cycle, first_come_is_first_served_and_the_first_that_does_not_fit_stops_the_rest) {
  World world;
  world.queue(2, 1, 2);
  world.queue(3, 1, 3);
  world.queue(4, 1, 1);
  Cursor cursor;
  const Reasons stopped{{2, Reason::none}, {3, Reason::no_free_gpus}, {3, Reason::no_free_gpus}};
  EXPECT_EQ(world.pass(cursor), stopped) << "a placement is followed by one more look";
  EXPECT_EQ(why_waiting(world.state, world.placeable, world.now, {4}), Reason::behind_earlier_job);
  EXPECT_EQ(why_waiting(world.state, world.placeable, world.now, {3}), Reason::no_free_gpus);
  EXPECT_EQ(why_waiting(world.state, world.placeable, world.now, {2}), Reason::none);
}

TEST(Cycle, what_no_fleet_could_run_is_passed_over) {
  World world;
  world.queue(2, 1, 5);
  world.queue(3, 1, 1, "b200");
  world.queue(4, 1, 4);
  Cursor cursor;
  EXPECT_EQ(world.pass(cursor),
            (Reasons{{2, Reason::exceeds_fleet}, {3, Reason::no_such_model}, {4, Reason::none}}));
}

TEST(Cycle, a_pass_without_news_looks_at_nobody) {
  World world;
  world.queue(2, 1, 4);
  world.queue(3, 1, 1);
  Cursor cursor;
  world.pass(cursor);
  EXPECT_EQ(world.pass(cursor), Reasons{});
  world.queue(4, 1, 1);
  EXPECT_EQ(world.pass(cursor).front().first, 3U);
}

TEST(Cycle, a_dropped_cursor_changes_no_decision) {
  World kept, dropped;
  for (World* world : {&kept, &dropped}) {
    for (std::uint64_t id = 2; id < 12; ++id) world->queue(id, 1, id % 3 == 0 ? 9 : 1);
  }
  Cursor cursor;
  kept.pass(cursor);
  for (int i = 0; i < 40; ++i) {
    Cursor fresh;
    auto decision = examine_next(dropped.state, dropped.placeable, dropped.now, fresh);
    while (decision && decision->reason == Reason::exceeds_fleet) {
      decision = examine_next(dropped.state, dropped.placeable, dropped.now, fresh);
    }
    if (!decision || decision->reason != Reason::none) break;
    ASSERT_TRUE(dropped.state.apply(
        dropped.now, {decision->job, Reserved{.token = {dropped.state.last_token().value + 1},
                                              .claim_by = Instant{9000},
                                              .slots = decision->slots}}));
  }
  EXPECT_EQ(kept.state.jobs(), dropped.state.jobs());
}

TEST(Cycle, nothing_is_placed_before_the_fleet_was_heard) {
  World world;
  world.placeable.clear();
  world.queue(2, 1, 1);
  Cursor cursor;
  EXPECT_EQ(world.pass(cursor), (Reasons{{2, Reason::fleet_not_heard}}));
  State empty;
  ASSERT_TRUE(empty.apply(Instant{1}, {{2}, Submitted{.shape = {.gang = {.gpus_per_task = 1}}}}));
  ASSERT_TRUE(empty.apply(Instant{1}, {{2}, Admitted{}}));
  EXPECT_EQ(why_waiting(empty, {}, world.now, {2}), Reason::no_nodes);
}

TEST(Cycle, what_lies_free_on_nodes_that_are_not_heard_is_not_said_to_be_held_by_others) {
  World world;
  NodeInventory silent{.id = {"n2"}, .cpu = {64'000}, .memory = gibibytes(64)};
  for (const char* uuid : {"h0", "h1"}) {
    silent.devices.push_back({.id = {uuid}, .model = "h100"});
  }
  world.state.apply(Instant{1}, NodeFact{{"n2"}, NodeReported{silent}});
  world.queue(2, 3, 2);
  Cursor cursor;
  EXPECT_EQ(world.pass(cursor), (Reasons{{2, Reason::fleet_not_heard}}));
  world.placeable.insert({"n2"});
  EXPECT_EQ(why_waiting(world.state, world.placeable, world.now, {2}), Reason::not_looked_at);
}

TEST(Cycle, a_job_that_backs_off_lets_others_pass_and_keeps_its_place) {
  World world;
  world.queue(2, 1, 4);
  Cursor cursor;
  world.pass(cursor);
  ASSERT_TRUE(world.state.apply(
      world.now, {{2}, Voided{world.state.last_token(), Reason::claim_expired, Instant{5000}}}));
  world.queue(3, 1, 4);
  EXPECT_EQ(world.pass(cursor), (Reasons{{2, Reason::backing_off}, {3, Reason::none}}));
  world.now = Instant{5000};
  EXPECT_EQ(world.state.take_woken(world.now), (std::vector<JobId>{{2}}));
  EXPECT_EQ(world.pass(cursor).front(),
            (std::pair<std::uint64_t, Reason>{2, Reason::no_free_gpus}));
}

TEST(Cycle, a_rendezvous_port_is_unique_among_the_live_attempts_of_a_node) {
  World world;
  EXPECT_EQ(free_port(world.state, {"n1"}, 29400, 29401), 29400);
  for (const std::uint16_t port : {std::uint16_t{29400}, std::uint16_t{29401}}) {
    const std::uint64_t id = port;
    world.queue(id, 1, 1);
    const Slot slot{{"n1"}, {{"g" + std::to_string(port - 29400)}}};
    ASSERT_TRUE(world.state.apply(Instant{40000},
                                  {{id}, Reserved{.token = {id}, .port = port, .slots = {slot}}}));
  }
  EXPECT_EQ(free_port(world.state, {"n1"}, 29400, 29401), 0);
  ASSERT_TRUE(world.state.apply(Instant{40001}, {{29400}, Canceled{}}));
  EXPECT_EQ(free_port(world.state, {"n1"}, 29400, 29401), 29400);
}

}  // namespace
}  // namespace keel
