// What an agent tells of its host at the moment: its inventory, its condition, and what is amiss.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "adapters/processes/disk_gauge.h"
#include "adapters/processes/local_runtime.h"
#include "apps/agent/options.h"
#include "model/node.h"

namespace keel {

class Present {
 public:
  // inventory  what does not change while this agent lives
  Present(NodeInventory inventory, const AgentOptions& options)
      : inventory_(std::move(inventory)), state_(options.state), gauge_(options.disk_wanted) {}

  NodeInventory look(const LocalRuntime& runtime);

  // Warnings that were not there at the look before, for the agent's own log.
  std::vector<std::string> take_news() { return std::exchange(news_, {}); }

 private:
  NodeInventory inventory_;
  std::string state_;
  DiskGauge gauge_;
  std::set<std::string> warned_;
  std::vector<std::string> news_;
};

}  // namespace keel
