// One connection's stream. For the .cpp files of this folder: it includes gRPC.
//
// gRPC may call back at once on the thread that starts an operation, so none is started with the
// lock held. What is started outside of gRPC's own callbacks takes a hold first, which keeps gRPC
// from being done with the stream.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "adapters/link/mail.h"
#include "keel/v1/agents.grpc.pb.h"
#include "keel/v1/agents.pb.h"
#include "model/ids.h"

namespace keel {

namespace pb = ::keel::v1;

class LinkStream final : public grpc::ClientBidiReactor<pb::AgentMessage, pb::ServerMessage> {
 public:
  struct Limits {
    std::size_t outgoing_max{};
  };

  LinkStream(std::uint64_t connection, Mail& mail, Limits limits)
      : connection_(connection), mail_(mail), limits_(limits) {}

  // Must be followed by wait().
  void start(pb::Agents::Stub& stub, const std::string& token);

  void send(pb::AgentMessage message);

  // Ends it soon. Any number of times.
  void close();

  // Blocks until gRPC is done with the stream; then it may be destroyed.
  void wait();

  std::uint64_t connection() const { return connection_; }
  bool was_welcomed() const;

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  std::optional<ServerMessage> hear(const pb::ServerMessage& message);
  void write_next();

  const std::uint64_t connection_;
  Mail& mail_;
  const Limits limits_;
  grpc::ClientContext call_;
  pb::ServerMessage incoming_;  // gRPC's reads only

  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::deque<pb::AgentMessage> outgoing_;
  pb::AgentMessage writing_message_;
  NodeId node_;
  bool welcomed_{};
  bool writing_{};
  bool closed_{};
  bool done_{};
};

}  // namespace keel
