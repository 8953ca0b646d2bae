// Carries out what the agent's mind decides: takes what was heard and seen, gives it to AgentCore,
// and does what comes back, in order. Holds no state of its own but log readers who wait.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/attempt.h"
#include "ports/claims.h"
#include "ports/clock.h"
#include "ports/runtime.h"
#include "ports/server.h"

namespace keel {

struct AgentPorts {
  Clock& clock;  // boot time
  Server& server;
  Runtime& runtime;
  Claims& claims;
  Preparations& preparations;
};

class Runner {
 public:
  // Begins from what an earlier agent left on this host's disk.
  static Result<Runner, std::string> open(NodeInventory inventory, AgentPorts ports);

  // Hears, looks, decides and acts once; never blocks for long. An error is a disk that does not
  // keep what must be kept: the agent has to end, and its tasks go on without it.
  Result<Done, std::string> step();

  // When to step again even if nothing wakes the agent.
  Instant next_wake() const;

  void inventory_changed(NodeInventory inventory) { core_.inventory_changed(std::move(inventory)); }
  const AgentCore& core() const { return core_; }

 private:
  Runner(NodeInventory inventory, Claims::Kept kept, AgentPorts ports)
      : ports_(ports), core_(std::move(inventory), std::move(kept)) {}

  Result<Done, std::string> hear(const ServerMessage& message, Instant now);
  Result<Done, std::string> act(const std::vector<AgentAction>& actions);
  Result<Done, std::string> act(const AgentAction& action);
  void answer_log_readers(Instant now);

  struct LogReader {
    ServerAskedLog question;
    Instant until{};
  };

  AgentPorts ports_;
  AgentCore core_;
  std::vector<LogReader> log_readers_;
};

}  // namespace keel
