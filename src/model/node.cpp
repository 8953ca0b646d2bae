#include "model/node.h"

#include "base/check.h"

namespace keel {

std::string_view print(DeviceHealth health) {
  switch (health) {
    case DeviceHealth::healthy: return "healthy";
    case DeviceHealth::degraded: return "degraded";
    case DeviceHealth::dirty: return "dirty";
    case DeviceHealth::draining: return "draining";
    case DeviceHealth::failed: return "failed";
  }
  check(false, "every device health has a word");
  return {};
}

std::string_view print(NodeCondition condition) {
  switch (condition) {
    case NodeCondition::fit: return "fit";
    case NodeCondition::disk_full: return "disk_full";
  }
  check(false, "every node condition has a word");
  return {};
}

std::string_view print(NodeState state) {
  switch (state) {
    case NodeState::ready: return "ready";
    case NodeState::unreachable: return "unreachable";
  }
  check(false, "every node state has a word");
  return {};
}

}  // namespace keel
