// How long a connection may be gone before following a job gives up.
#pragma once

#include <chrono>
#include <optional>

#include "adapters/client/users_client.h"

namespace keel::cli {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds reconnect_for{60};

// True for an error that may be over in a moment: no connection, a busy or stopping control plane,
// an agent that reconnects.
bool is_passing(const ClientError& error);

class Patience {
 public:
  explicit Patience(std::chrono::milliseconds limit) : limit_(limit) {}

  // After an error: true after a short sleep, or false where it will not pass or went on too long.
  bool again(const ClientError& error);

  // After a success.
  void restore() { began_.reset(); }

 private:
  std::chrono::milliseconds limit_;
  std::optional<SteadyClock::time_point> began_;
};

}  // namespace keel::cli
