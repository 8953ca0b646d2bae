// Which agent this is: drawn at random once for each state directory, so that a control plane can
// tell an agent that lost its claims, or a second one of the same name, from the one that has them.
#pragma once

#include <string>

#include "base/result.h"

namespace keel {

struct AgentId {
  std::string digits;  // 32, hexadecimal
  friend bool operator==(const AgentId&, const AgentId&) = default;
};

// Kept in STATE/agent-id, and made where that is not there.
Result<AgentId, std::string> agent_id(const std::string& state);

}  // namespace keel
