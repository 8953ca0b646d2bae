#include "core/place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace keel {
namespace {

NodeInventory node(std::string name, const std::string& model, int gpus, std::int64_t cores = 64,
                   std::int64_t gib = 64) {
  NodeInventory inventory{.id = {name}, .cpu = {cores * 1000}, .memory = gibibytes(gib)};
  for (int i = 0; i < gpus; ++i) {
    inventory.devices.push_back({.id = {name + "-" + std::to_string(i)}, .model = model});
  }
  return inventory;
}

State fleet(const std::vector<NodeInventory>& nodes) {
  State state;
  for (const NodeInventory& inventory : nodes) {
    state.apply(Instant{1}, NodeFact{inventory.id, NodeReported{inventory}});
  }
  return state;
}

Placeable all_of(const State& state) {
  Placeable placeable;
  for (const auto& [id, node] : state.nodes()) placeable.insert(id);
  return placeable;
}

Shape shape(std::uint32_t tasks, std::uint32_t gpus, std::string model = "") {
  return {.gang = {.tasks = tasks, .gpus_per_task = gpus, .gpu_model = std::move(model)}};
}

TEST(Place, a_gang_is_placed_whole_on_the_first_nodes_that_hold_it) {
  const State state = fleet({node("n1", "h100", 4), node("n2", "h100", 4)});
  const auto slots = place(shape(3, 2), state, all_of(state));
  ASSERT_TRUE(slots);
  EXPECT_EQ(*slots, (std::vector<Slot>{{{"n1"}, {{"n1-0"}, {"n1-1"}}},
                                       {{"n1"}, {{"n1-2"}, {"n1-3"}}},
                                       {{"n2"}, {{"n2-0"}, {"n2-1"}}}}));
}

// name, tasks x GPUs, model, CPU cores and GiB per task (0: not said), answer on two nodes of
// 4 h100, 8 cores and 16 GiB and one of 2 a100.
struct Row {
  const char* name;
  std::uint32_t tasks, gpus;
  const char* model;
  std::int64_t cores, gib;
  Reason now, ever;
};
const Row table[] = {
    {"all of it fits", 2, 4, "h100", 0, 0, Reason::none, Reason::none},
    {"part of it does not count", 3, 4, "h100", 0, 0, Reason::no_free_gpus, Reason::exceeds_fleet},
    {"a task does not span nodes", 1, 5, "", 0, 0, Reason::no_free_gpus, Reason::exceeds_fleet},
    {"models are not mixed", 10, 1, "", 0, 0, Reason::no_free_gpus, Reason::exceeds_fleet},
    {"unknown model", 1, 1, "b200", 0, 0, Reason::no_free_gpus, Reason::no_such_model},
    {"CPU is the obstacle", 2, 1, "h100", 9, 0, Reason::no_free_cpu, Reason::exceeds_fleet},
    {"memory is the obstacle", 5, 1, "h100", 1, 8, Reason::no_free_memory, Reason::exceeds_fleet},
    {"no GPUs asked, none needed", 24, 0, "", 1, 0, Reason::none, Reason::none},
    {"one CPU task too many", 25, 0, "", 1, 0, Reason::no_free_cpu, Reason::exceeds_fleet},
};

TEST(Place, says_the_true_obstacle) {
  const State state = fleet(
      {node("n1", "h100", 4, 8, 16), node("n2", "h100", 4, 8, 16), node("n3", "a100", 2, 8, 16)});
  for (const Row& row : table) {
    SCOPED_TRACE(row.name);
    Shape asked = shape(row.tasks, row.gpus, row.model);
    if (row.cores > 0) asked.cpu_per_task = Millicores{row.cores * 1000};
    if (row.gib > 0) asked.memory_per_task = gibibytes(row.gib);
    const auto slots = place(asked, state, all_of(state));
    EXPECT_EQ(slots ? Reason::none : slots.error(), row.now);
    EXPECT_EQ(never_fits(asked, state), row.ever);
  }
}

TEST(Place, sick_devices_and_silent_nodes_get_nothing) {
  NodeInventory sick = node("n1", "h100", 2);
  sick.devices[0].health = DeviceHealth::failed;
  const State state = fleet({sick, node("n2", "h100", 8)});
  const auto slots = place(shape(2, 1), state, {{"n1"}});
  EXPECT_EQ(slots.error(), Reason::no_free_gpus);
  EXPECT_EQ(place(shape(1, 1), state, {{"n1"}})->front().devices.front().uuid, "n1-1");
}

// An independent answer to "does it fit": for each model, whether the nodes hold enough whole
// tasks.
bool oracle(const Shape& asked, const std::vector<NodeInventory>& nodes) {
  std::set<std::string> models;
  for (const auto& one : nodes) models.insert(one.devices.front().model);
  for (const std::string& model : models) {
    if (!asked.gang.gpu_model.empty() && asked.gang.gpu_model != model) continue;
    std::uint32_t tasks = 0;
    for (const auto& one : nodes) {
      auto left = one.devices.size();
      while (one.devices.front().model == model && left >= asked.gang.gpus_per_task) {
        left -= asked.gang.gpus_per_task;
        ++tasks;
      }
    }
    if (tasks >= asked.gang.tasks) return true;
  }
  return false;
}

TEST(Place, finds_a_place_exactly_when_there_is_one_and_never_gives_a_device_twice) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed=" << seed);
  std::mt19937 random(seed);
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int placed = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<NodeInventory> nodes;
    for (int i = draw(1, 4); i > 0; --i) {
      nodes.push_back(node("n" + std::to_string(i), draw(0, 1) ? "h100" : "a100", draw(1, 4)));
    }
    const State state = fleet(nodes);
    const Shape asked = shape(static_cast<std::uint32_t>(draw(1, 5)),
                              static_cast<std::uint32_t>(draw(1, 4)), draw(0, 1) ? "" : "h100");
    const auto slots = place(asked, state, all_of(state));
    ASSERT_EQ(slots.has_value(), oracle(asked, nodes));
    if (!slots) continue;
    ++placed;
    std::set<DeviceId> given;
    for (const Slot& slot : *slots) {
      ASSERT_EQ(slot.devices.size(), asked.gang.gpus_per_task);
      for (const DeviceId& device : slot.devices) ASSERT_TRUE(given.insert(device).second);
    }
  }
  EXPECT_GT(placed, 200);
}

}  // namespace
}  // namespace keel
