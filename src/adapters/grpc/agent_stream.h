// One agent's stream. For the .cpp files of this folder: it includes gRPC.
//
// gRPC may call back at once on the thread that starts an operation, so none is started with the
// lock held. Finish comes last: only when no write is under way and no thread is inside a call that
// it had already decided on (`calls_`), since gRPC destroys the call soon after.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "adapters/grpc/sessions.h"
#include "keel/v1/agents.pb.h"

namespace keel {

class AgentStream final : public grpc::ServerBidiReactor<pb::AgentMessage, pb::ServerMessage>,
                          public AgentLine,
                          public std::enable_shared_from_this<AgentStream> {
 public:
  static constexpr Duration hello_within = seconds(10);

  // Lives until gRPC is done with it, and nobody holds it any more.
  static AgentStream* start(grpc::CallbackServerContext& call, AgentSessions& sessions,
                            Timer& timer);

  AgentStream(grpc::CallbackServerContext& call, AgentSessions& sessions)
      : call_(call), sessions_(sessions) {}

  void send(pb::ServerMessage message) override;
  void close(const std::string& why) override;

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  std::optional<grpc::Status> hear(const pb::AgentMessage& message);
  std::optional<grpc::Status> hear_hello(const pb::Hello& hello);
  void end(grpc::Status status);
  void go_on(bool cancel = false);

  grpc::CallbackServerContext& call_;
  AgentSessions& sessions_;
  std::shared_ptr<AgentStream> self_;  // until OnDone

  // Touched by gRPC's reads only, which come one after the other.
  pb::AgentMessage incoming_;
  std::optional<SessionNo> session_;

  std::mutex mutex_;
  std::deque<pb::ServerMessage> outgoing_;
  pb::ServerMessage writing_message_;
  std::optional<grpc::Status> ending_;
  int calls_{};
  bool heard_hello_{};
  bool writing_{};
  bool finished_{};
};

}  // namespace keel
