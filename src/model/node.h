// A GPU host as its agent reports it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"
#include "model/units.h"

namespace keel {

// Append only.
enum class DeviceHealth : std::uint8_t { healthy, degraded, dirty, draining, failed };
std::string_view print(DeviceHealth health);

struct Device {
  DeviceId id;
  std::string model{};  // "h100-80gb": lower case, as jobs ask for it
  Bytes memory{};
  DeviceHealth health{};
  bool emulated{};  // no hardware behind it: shown wherever the device is
  friend bool operator==(const Device&, const Device&) = default;
};

// Whether a host is fit for new work, as its agent sees it. Append only.
enum class NodeCondition : std::uint8_t {
  fit,
  disk_full,  // what runs there goes on; nothing new is placed there until there is room again
};
std::string_view print(NodeCondition condition);

// What an agent says of its host. Changes rarely; a heartbeat repeats none of it.
struct NodeInventory {
  NodeId id;
  std::string agent_id{};  // drawn once for each state directory: who holds the node's claims
  std::string boot_id{};   // changes when the host restarts: nothing from before still runs
  std::string address{};   // where the tasks of a gang reach each other
  Millicores cpu{};
  Bytes memory{};
  std::vector<Device> devices{};        // sorted by id
  std::vector<std::string> warnings{};  // what is amiss here, for people
  NodeCondition condition{};
  friend bool operator==(const NodeInventory&, const NodeInventory&) = default;
};

// Append only.
enum class NodeState : std::uint8_t {
  ready,
  unreachable,  // not heard for longer than `silence`: nothing new is placed there
};
std::string_view print(NodeState state);

// A task that runs on a host though this control plane never gave it this token: begun after the
// copy was made from which the store was put back, or (token 0) without a claim on the host's disk.
struct ForeignTask {
  TaskKey key;
  FencingToken token;
  friend auto operator<=>(const ForeignTask&, const ForeignTask&) = default;
};

struct Node {
  NodeInventory inventory{};
  NodeState state{};
  Instant since{};
  std::vector<ForeignTask> foreign{};  // in ascending order; nothing is placed beside them
  friend bool operator==(const Node&, const Node&) = default;
};

}  // namespace keel
