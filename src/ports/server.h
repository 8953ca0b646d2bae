// The control plane, as an agent sees it; and the slow work that an agent has done aside.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/duty.h"
#include "model/ids.h"
#include "model/report.h"
#include "model/spec.h"
#include "ports/runtime.h"

namespace keel {

// What the control plane says at the beginning of a connection.
struct AgentTerms {
  std::map<DeviceId, FencingToken> floors{};  // the token of each device's live reservation
  Duration disconnect_stop{};
  Duration heartbeat{};
};

struct ServerConnected {};
struct ServerDisconnected {};
struct ServerWelcomed {
  AgentTerms terms;
};
struct ServerAcknowledged {
  ReportNo report{};
};
struct ServerTold {
  Duty duty;
  ReportNo answers{};
  std::optional<JobSpec> spec{};  // of a Prepare
};
struct ServerAskedLog {
  std::uint64_t request{};
  TaskKey key;
  std::int64_t offset{};
  std::int64_t limit{};
  Duration wait{};  // how long to wait for a line where there is none
};
using ServerMessage = std::variant<ServerConnected, ServerDisconnected, ServerWelcomed,
                                   ServerAcknowledged, ServerTold, ServerAskedLog>;

class Server {
 public:
  virtual ~Server() = default;

  // All that was heard since the last call, in order. Never blocks.
  virtual std::vector<ServerMessage> take() = 0;

  // Dropped where the connection is gone. Never blocks.
  virtual void send(const Report& report) = 0;
  virtual void send_log(std::uint64_t request, const std::optional<LogPart>& part) = 0;

  // What a new connection begins with.
  virtual void introduce(const NodeInventory& inventory, FencingToken newest) = 0;
};

// Fetches a task's files and makes it ready, aside. The outcome of each order is given once.
class Preparations {
 public:
  virtual ~Preparations() = default;
  virtual void begin(const PrepareOrder& order) = 0;
  virtual std::vector<std::pair<TaskKey, Result<Done, RuntimeError>>> take() = 0;
};

}  // namespace keel
