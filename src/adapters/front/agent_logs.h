// The logs of tasks lie with the agents that ran them: ask there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "keel/v1/api.pb.h"
#include "model/ids.h"
#include "model/units.h"

namespace keel {

struct LogQuestion {
  TaskKey key;
  std::int64_t offset{};  // bytes from the log's beginning
  std::int32_t limit{};   // bytes
  Duration wait;          // how long the agent may wait for more where there is none
};

enum class LogFailure : std::uint8_t {
  not_connected,  // the node's agent is not connected, or went away before it answered
  timed_out,      // the agent is connected and did not answer in time
  busy,           // too many questions wait for answers
};

class AgentLogs {
 public:
  virtual ~AgentLogs() = default;

  // Nothing: the agent keeps no such log.
  using Answered = std::function<void(Result<std::optional<v1::ReadLogResponse>, LogFailure>)>;

  // Calls `answered` once, on any thread or before it returns. Never blocks.
  virtual void read_log(const NodeId& node, const LogQuestion& question, Answered answered) = 0;
};

}  // namespace keel
