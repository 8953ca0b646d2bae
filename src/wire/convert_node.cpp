#include <algorithm>

#include "wire/convert.h"
#include "wire/convert_part.h"
#include "wire/task_key.h"
#include "wire/text.h"

namespace keel {
namespace {

Result<Device, BadBytes> device_from_pb(const pb::Device& sent) {
  constexpr int last = static_cast<int>(DeviceHealth::failed);
  TRY(id, device_from(sent.uuid(), "Device.uuid"));
  TRY(memory, amount_from(sent.memory_bytes(), "Device.memory_bytes"));
  TRY(health, enumerator_from(sent.health(), last, "Device.health"));
  return Device{.id = std::move(id),
                .model = sent.model(),
                .memory = {memory},
                .health = static_cast<DeviceHealth>(health),
                .emulated = sent.emulated()};
}

}  // namespace

pb::NodeInventory to_pb(const NodeInventory& inventory) {
  pb::NodeInventory sent;
  sent.set_name(inventory.id.name);
  sent.set_agent_id(inventory.agent_id);
  sent.set_boot_id(inventory.boot_id);
  sent.set_address(inventory.address);
  sent.set_cpu_millicores(inventory.cpu.count);
  sent.set_memory_bytes(inventory.memory.count);
  for (const Device& device : inventory.devices) {
    pb::Device& next = *sent.add_devices();
    next.set_uuid(device.id.uuid);
    next.set_model(device.model);
    next.set_memory_bytes(device.memory.count);
    next.set_health(static_cast<pb::DeviceHealth>(static_cast<int>(device.health) + 1));
    next.set_emulated(device.emulated);
  }
  for (const std::string& warning : inventory.warnings) sent.add_warnings(as_utf8(warning));
  sent.set_condition(static_cast<pb::NodeCondition>(static_cast<int>(inventory.condition) + 1));
  return sent;
}

Result<NodeInventory, BadBytes> from_pb(const pb::NodeInventory& sent) {
  NodeInventory inventory;
  TRY(id, node_from(sent.name(), "NodeInventory.name"));
  TRY(cpu, amount_from(sent.cpu_millicores(), "NodeInventory.cpu_millicores"));
  TRY(memory, amount_from(sent.memory_bytes(), "NodeInventory.memory_bytes"));
  inventory.id = std::move(id);
  inventory.agent_id = sent.agent_id();
  inventory.boot_id = sent.boot_id();
  inventory.address = sent.address();
  inventory.cpu = Millicores{cpu};
  inventory.memory = Bytes{memory};
  for (const pb::Device& device : sent.devices()) {
    TRY(ours, device_from_pb(device));
    inventory.devices.push_back(std::move(ours));
  }
  // The order is promised to readers of the model, so it is not left to the sender.
  std::sort(inventory.devices.begin(), inventory.devices.end(),
            [](const Device& a, const Device& b) { return a.id < b.id; });
  const auto twice =
      std::adjacent_find(inventory.devices.begin(), inventory.devices.end(),
                         [](const Device& a, const Device& b) { return a.id == b.id; });
  if (twice != inventory.devices.end()) {
    return bad("NodeInventory.devices", "\"" + twice->id.uuid + "\" stands twice");
  }
  // Stored nodes and agents of earlier versions know no conditions.
  if (sent.condition() != pb::NODE_CONDITION_UNSPECIFIED) {
    constexpr int last = static_cast<int>(NodeCondition::disk_full);
    TRY(condition, enumerator_from(sent.condition(), last, "NodeInventory.condition"));
    inventory.condition = static_cast<NodeCondition>(condition);
  }
  inventory.warnings.assign(sent.warnings().begin(), sent.warnings().end());
  return inventory;
}

pb::ForeignTask foreign_to_pb(const ForeignTask& task) {
  pb::ForeignTask sent;
  set_task_key(sent, task.key);
  sent.set_token(task.token.value);
  return sent;
}

Result<std::vector<ForeignTask>, BadBytes> foreign_from(
    const google::protobuf::RepeatedPtrField<pb::ForeignTask>& sent, std::string_view field) {
  std::vector<ForeignTask> tasks;
  for (const pb::ForeignTask& task : sent) {
    TRY(job, job_from(task.job(), std::string(field) + ".job"));
    tasks.push_back({{job, {task.attempt()}, task.task()}, {task.token()}});
  }
  return tasks;
}

pb::Node to_pb(const Node& node) {
  pb::Node sent;
  *sent.mutable_inventory() = to_pb(node.inventory);
  sent.set_state(static_cast<pb::NodeState>(static_cast<int>(node.state) + 1));
  sent.set_since_us(node.since.us);
  for (const ForeignTask& task : node.foreign) *sent.add_foreign() = foreign_to_pb(task);
  return sent;
}

Result<Node, BadBytes> from_pb(const pb::Node& sent) {
  constexpr int last = static_cast<int>(NodeState::unreachable);
  TRY(inventory, from_pb(sent.inventory()));
  TRY(state, enumerator_from(sent.state(), last, "Node.state"));
  TRY(foreign, foreign_from(sent.foreign(), "Node.foreign"));
  return Node{.inventory = std::move(inventory),
              .state = static_cast<NodeState>(state),
              .since = {sent.since_us()},
              .foreign = std::move(foreign)};
}

}  // namespace keel
