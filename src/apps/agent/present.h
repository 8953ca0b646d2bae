// What an agent tells of its host at the moment: its devices, its condition, and what is amiss.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "adapters/processes/disk_gauge.h"
#include "adapters/processes/local_runtime.h"
#include "apps/agent/gpus.h"
#include "model/node.h"

namespace keel {

class Present {
 public:
  // host   what does not change while this agent lives
  // state  a directory on the disk that is looked at
  Present(NodeInventory host, std::string state, Bytes disk_wanted, const Gpus& gpus,
          const LocalRuntime& runtime)
      : host_(std::move(host)),
        limits_(runtime.warnings()),
        state_(std::move(state)),
        gauge_(disk_wanted),
        gpus_(gpus),
        runtime_(runtime) {}

  NodeInventory look();

  // Warnings that were not there at the look before, for the agent's own log.
  std::vector<std::string> take_news() { return std::exchange(news_, {}); }

 private:
  const NodeInventory host_;
  const std::vector<std::string> limits_;  // of this host, for good
  const std::string state_;
  DiskGauge gauge_;
  const Gpus& gpus_;
  const LocalRuntime& runtime_;
  std::set<std::string> warned_;
  std::vector<std::string> news_;
};

}  // namespace keel
