// The agent's own disk: what it has promised, durable before it acts on it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/duty.h"
#include "model/ids.h"
#include "model/report.h"
#include "model/spec.h"

namespace keel {

struct Claim {
  TaskKey key;
  FencingToken token;
  Prepare order{};
  JobSpec spec{};
  TaskPhase phase{};
  Instant claim_until{};            // boot time: not started by then, it is dropped
  bool started{};                   // START was obeyed: from here on only an observed end ends it
  std::optional<StopCause> stop{};  // a stop was ordered
  Exit exit{};                      // ended, settled
  Reason refusal{};                 // refused
  std::string text{};               // refused
  friend bool operator==(const Claim&, const Claim&) = default;
};

class Claims {
 public:
  virtual ~Claims() = default;

  struct Kept {
    std::vector<Claim> claims{};                // ascending by key
    std::map<DeviceId, FencingToken> floors{};  // highest token seen for each device
  };

  // What an earlier agent on this host left. Claims of an earlier boot are given as they are.
  virtual Result<Kept, std::string> load() = 0;

  // Durable when it returns. After an error nothing that needs this promise may be done.
  virtual Result<Done, std::string> write(const Claim& claim) = 0;
  virtual Result<Done, std::string> write_floors(
      const std::map<DeviceId, FencingToken>& floors) = 0;
  virtual void erase(const TaskKey& key) = 0;
};

}  // namespace keel
