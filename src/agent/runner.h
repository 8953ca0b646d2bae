// Carries out what the agent's mind decides: takes what was heard and seen, gives it to AgentCore,
// and does what comes back, in order. Holds no state of its own but log readers who wait, and what
// the host's last trouble was.
#pragma once

#include <optional>
#include <span>
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

  // Hears, looks, decides and acts once; never blocks for long.
  void step();

  // Why the host does not do what it is told, for people; empty where all is well.
  const std::string& trouble() const { return trouble_; }

  // When to step again even if nothing wakes the agent.
  Instant next_wake() const;

  void inventory_changed(NodeInventory inventory) { core_.inventory_changed(std::move(inventory)); }
  const AgentCore& core() const { return core_; }

 private:
  Runner(NodeInventory inventory, Claims::Kept kept, AgentPorts ports)
      : ports_(ports), core_(std::move(inventory), std::move(kept)) {}

  void hear(const ServerMessage& message, Instant now);
  void act(std::span<const AgentAction> actions);
  Result<Done, std::string> write(const AgentAction& action);
  void carry_out(const AgentAction& action);
  void answer_log_readers(Instant now);

  struct LogReader {
    ServerAskedLog question;
    Instant until{};
  };

  AgentPorts ports_;
  AgentCore core_;
  std::vector<LogReader> log_readers_;
  std::string trouble_;
};

}  // namespace keel
