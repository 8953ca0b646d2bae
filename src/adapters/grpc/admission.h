// What every gRPC method asks first, and how it refuses. For the .cpp files of this folder: it
// includes gRPC.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "adapters/door/gate.h"
#include "adapters/door/peer.h"
#include "adapters/front/caller.h"
#include "adapters/front/error.h"
#include "base/result.h"

namespace keel {

// The status of a refused call: the sentence for people as its message, and ApiError as JSON text
// in its details, without further faults where those would not fit into a trailer.
grpc::Status status_of(const pb::ApiError& error);

class Admission {
 public:
  explicit Admission(const Gate& gate) : gate_(gate) {}

  void note(int descriptor, const Peer& peer) { peers_.note(descriptor, peer); }

  // Who makes this call.
  Result<Caller, pb::ApiError> user(const grpc::CallbackServerContext& call) const;

  // Likewise, for the agents' service.
  Result<Caller, pb::ApiError> agent(const grpc::CallbackServerContext& call) const;

 private:
  const Gate& gate_;
  Peers peers_;
};

}  // namespace keel
