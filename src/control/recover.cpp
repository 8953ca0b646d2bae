#include "control/recover.h"

#include <map>
#include <set>
#include <string>

#include "core/lifecycle.h"

namespace keel {
namespace {

StoreError amiss(const DeviceId& device, const std::string& what) {
  return StoreError{StoreError::Code::unreadable, "device " + device.uuid + ": " + what};
}

// A task is on a node that was reported.
Result<Done, StoreError> check_nodes(const Loaded& loaded) {
  std::set<NodeId> nodes;
  for (const Node& node : loaded.nodes) nodes.insert(node.inventory.id);
  for (const Job& job : loaded.jobs) {
    for (const Task& task : job.tasks) {
      if (nodes.contains(task.node)) continue;
      return StoreError{StoreError::Code::unreadable, "job " + print(job.id) + " is on node " +
                                                          task.node.name + ", which has no row"};
    }
  }
  return Done{};
}

// Each device is held by the task that the jobs' rows name, and by no other. A holding without its
// task would keep its device for ever.
Result<Done, StoreError> check_holdings(const Loaded& loaded) {
  std::map<DeviceId, Holding> expected;
  for (const Job& job : loaded.jobs) {
    for (std::uint32_t rank = 0; rank < job.tasks.size(); ++rank) {
      const Task& task = job.tasks[rank];
      if (!holds_devices(task)) continue;
      for (const DeviceId& device : task.devices) {
        const Holding holding{device, {job.id, job.attempt, rank}, job.token};
        const auto [other, fresh] = expected.emplace(device, holding);
        if (!fresh) {
          return amiss(device,
                       print(holding.key) + " has it, and so has " + print(other->second.key));
        }
      }
    }
  }
  for (const Holding& holding : loaded.holdings) {
    const auto task = expected.find(holding.device);
    if (task == expected.end() || task->second != holding) {
      return amiss(holding.device, "held by " + print(holding.key) + ", which does not have it");
    }
    expected.erase(task);
  }
  if (expected.empty()) return Done{};
  const auto& [device, holding] = *expected.begin();
  return amiss(device, print(holding.key) + " has it and does not hold it");
}

}  // namespace

Result<Recovered, StoreError> recover(Store& store) {
  TRY(epoch, store.take_over());
  TRY(loaded, store.load());
  TRY(known, check_nodes(loaded));
  TRY(held, check_holdings(loaded));
  return Recovered{epoch, std::move(loaded)};
}

}  // namespace keel
