#include "agent/environment.h"

#include <algorithm>

namespace keel {
namespace {

std::string joined(const std::vector<DeviceId>& devices) {
  std::string text;
  for (const DeviceId& device : devices) text += (text.empty() ? "" : ",") + device.uuid;
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> environment(const TaskKey& key,
                                                             const Prepare& order,
                                                             const JobSpec& spec) {
  const std::string rank = std::to_string(key.task);
  std::vector<std::pair<std::string, std::string>> env = {
      {"MASTER_ADDR", order.master_address},
      {"MASTER_PORT", std::to_string(order.master_port)},
      {"WORLD_SIZE", std::to_string(order.tasks)},
      {"RANK", rank},
      {"NODE_RANK", rank},
      // A task sees its own devices only, so to its programs it is a host of its own.
      {"LOCAL_RANK", "0"},
      {"LOCAL_WORLD_SIZE", "1"},
      {"CUDA_VISIBLE_DEVICES", joined(order.devices)},
      {"KEEL_GPU_UUIDS", joined(order.devices)},
      {"KEEL_JOB_ID", print(key.job)},
      {"KEEL_JOB_NAME", spec.name},
      {"KEEL_ATTEMPT", std::to_string(key.attempt.value)},
      {"KEEL_TASK_RANK", rank},
      {"KEEL_TASKS", std::to_string(order.tasks)},
  };
  for (const auto& [name, value] : spec.env) {
    const bool ours = std::ranges::any_of(env, [&](const auto& one) { return one.first == name; });
    if (!ours) env.emplace_back(name, value);
  }
  return env;
}

}  // namespace keel
