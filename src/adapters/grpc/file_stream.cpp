#include "adapters/grpc/file_stream.h"

#include <utility>

namespace keel {

void FileStream::next() {
  auto piece = files_.read(digest_, offset_, chunk_bytes);
  if (!piece) {
    bool missing = piece.error().code == FilesError::Code::not_found;
    return Finish(missing ? grpc::Status(grpc::StatusCode::NOT_FOUND, "there is no such file")
                          : grpc::Status(grpc::StatusCode::UNAVAILABLE, "it cannot be read now"));
  }
  if (piece->empty()) return Finish(grpc::Status::OK);
  offset_ += static_cast<std::int64_t>(piece->size());
  chunk_.set_content(std::move(*piece));
  StartWrite(&chunk_);
}

void FileStream::OnWriteDone(bool ok) {
  if (!ok) return Finish({grpc::StatusCode::CANCELLED, "the agent went away"});
  next();
}

}  // namespace keel
