// One file on its way to an agent. For the .cpp files of this folder: it includes gRPC.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "adapters/front/files.h"
#include "keel/v1/agents.pb.h"
#include "model/ids.h"

namespace keel {

namespace pb = ::keel::v1;

// Reads a piece, writes it, reads the next. Deletes itself when gRPC is done with it.
class FileStream final : public grpc::ServerWriteReactor<pb::FileChunk> {
 public:
  static constexpr std::size_t chunk_bytes = 64 << 10;

  FileStream(Files& files, const Digest& digest) : files_(files), digest_(digest) { next(); }
  explicit FileStream(Files& files, const grpc::Status& refused) : files_(files) {
    Finish(refused);
  }

 private:
  void next();
  void OnWriteDone(bool ok) override;
  void OnDone() override { delete this; }

  Files& files_;
  Digest digest_;
  std::int64_t offset_{};
  pb::FileChunk chunk_;
};

}  // namespace keel
