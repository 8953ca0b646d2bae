// gRPC for users and agents (proto/keel/v1: Users, Agents), on connections that the door hands
// over.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "adapters/door/gate.h"
#include "adapters/door/peer.h"
#include "adapters/front/files.h"
#include "adapters/front/front.h"
#include "adapters/grpc/sessions.h"
#include "base/result.h"

namespace keel {

class GrpcServer {
 public:
  // A request other than a file; a file may have limits::file_bytes_max.
  static constexpr std::size_t request_bytes_max = 1 << 20;
  // Messages that wait for one agent to read. Every duty is repeated, so an agent that falls behind
  // this far loses its connection and nothing else.
  static constexpr std::size_t outgoing_max = 4096;
  // A peer that does not answer a ping is gone: half-open connections end within the sum.
  static constexpr int ping_every_ms = 15'000;
  static constexpr int ping_answer_within_ms = 10'000;

  struct Parts {
    Front& front;
    AgentSessions& sessions;
    Files& files;
    Timer& timer;
    const Gate& gate;
    int ping_every_ms = GrpcServer::ping_every_ms;
    int ping_answer_within_ms = GrpcServer::ping_answer_within_ms;
  };
  static Result<std::unique_ptr<GrpcServer>, std::string> start(const Parts& parts);

  // Stops. Close the inbox, the feed and the sessions first, so that no call waits for an answer;
  // calls that are still under way after a second are cut.
  ~GrpcServer();

  // Serves a connection that begins with HTTP/2's preface, and owns its descriptor from here on.
  void adopt(int descriptor, const Peer& peer);

 private:
  struct Inside;
  explicit GrpcServer(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace keel
