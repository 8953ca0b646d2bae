#include "core/place.h"

#include <algorithm>
#include <set>
#include <string>

namespace keel {
namespace {

// What one node has left for one model.
struct Room {
  const NodeId* node{};
  std::vector<DeviceId> devices;
  std::int64_t cpu{};
  std::int64_t memory{};
};

const NodeUse idle;

Room room_on(const NodeInventory& inventory, const NodeUse& use, const std::string& model) {
  Room room{.node = &inventory.id,
            .devices = {},
            .cpu = inventory.cpu.count - use.cpu.count,
            .memory = inventory.memory.count - use.memory.count};
  for (const Device& device : inventory.devices) {
    if (device.model != model || device.health != DeviceHealth::healthy) continue;
    if (!use.devices.contains(device.id)) room.devices.push_back(device.id);
  }
  return room;
}

// How often a task of this shape fits, by each resource.
struct Fits {
  std::int64_t gpus{};
  std::int64_t cpu{};
  std::int64_t memory{};
  std::int64_t all() const { return std::min({gpus, cpu, memory}); }
};

Fits fits(const Shape& shape, const Room& room) {
  constexpr std::int64_t unbounded = INT64_MAX;
  const std::int64_t gpus = shape.gang.gpus_per_task;
  const auto by = [](std::int64_t left, std::int64_t each) {
    return each == 0 ? unbounded : std::max<std::int64_t>(left, 0) / each;
  };
  return {
      .gpus = by(static_cast<std::int64_t>(room.devices.size()), gpus),
      .cpu = shape.cpu_per_task ? by(room.cpu, shape.cpu_per_task->count) : unbounded,
      .memory = shape.memory_per_task ? by(room.memory, shape.memory_per_task->count) : unbounded};
}

std::set<std::string> models_for(const Gang& gang, const State& state) {
  if (!gang.gpu_model.empty()) return {gang.gpu_model};
  if (gang.gpus_per_task == 0) return {""};  // no device is looked at
  std::set<std::string> models;
  for (const auto& [id, node] : state.nodes()) {
    for (const Device& device : node.inventory.devices) models.insert(device.model);
  }
  return models;
}

// Fills the rooms in order. Less than all tasks: the gang does not fit.
std::vector<Slot> fill(const Shape& shape, std::vector<Room> rooms) {
  std::vector<Slot> slots;
  const std::size_t gpus = shape.gang.gpus_per_task;
  for (const Room& room : rooms) {
    const std::int64_t count = fits(shape, room).all();
    for (std::int64_t i = 0; i < count && slots.size() < shape.gang.tasks; ++i) {
      const auto first = room.devices.begin() + static_cast<std::ptrdiff_t>(gpus) * i;
      slots.push_back({*room.node, {first, first + static_cast<std::ptrdiff_t>(gpus)}});
    }
  }
  return slots;
}

// Why the gang does not fit: the first resource that alone is already too little.
Reason scarce(const Shape& shape, const std::vector<Room>& rooms) {
  const auto tasks = static_cast<std::int64_t>(shape.gang.tasks);
  const auto sum = [&](auto count) {
    std::int64_t total = 0;
    for (const Room& room : rooms) total += std::min(count(fits(shape, room)), tasks);
    return total;
  };
  if (sum([](const Fits& f) { return f.gpus; }) < tasks) return Reason::no_free_gpus;
  if (sum([](const Fits& f) { return std::min(f.gpus, f.cpu); }) < tasks) {
    return Reason::no_free_cpu;
  }
  return Reason::no_free_memory;
}

}  // namespace

Result<std::vector<Slot>, Reason> place(const Shape& shape, const State& state,
                                        const Placeable& placeable) {
  Reason why = Reason::no_such_model;
  for (const std::string& model : models_for(shape.gang, state)) {
    std::vector<Room> rooms;
    for (const NodeId& id : placeable) {
      if (const Node* node = state.find(id)) {
        rooms.push_back(room_on(node->inventory, state.use_of(id), model));
      }
    }
    std::vector<Slot> slots = fill(shape, rooms);
    if (slots.size() == shape.gang.tasks) return slots;
    if (why == Reason::no_such_model) why = scarce(shape, rooms);
  }
  return why;
}

Reason never_fits(const Shape& shape, const State& state) {
  if (state.nodes().empty()) return Reason::no_nodes;
  bool seen = shape.gang.gpus_per_task == 0;
  for (const std::string& model : models_for(shape.gang, state)) {
    std::vector<Room> rooms;
    for (const auto& [id, node] : state.nodes()) {
      rooms.push_back(room_on(node.inventory, idle, model));
      seen = seen || std::ranges::any_of(node.inventory.devices, [&](const Device& device) {
               return device.model == model;
             });
    }
    if (fill(shape, std::move(rooms)).size() == shape.gang.tasks) return Reason::none;
  }
  return seen ? Reason::exceeds_fleet : Reason::no_such_model;
}

}  // namespace keel
