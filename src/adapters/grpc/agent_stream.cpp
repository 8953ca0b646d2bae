#include "adapters/grpc/agent_stream.h"

#include <utility>

#include "adapters/grpc/server.h"
#include "wire/convert.h"

namespace keel {
namespace {

constexpr std::uint32_t protocol = 1;

grpc::Status bad(const std::string& what) { return {grpc::StatusCode::INVALID_ARGUMENT, what}; }

grpc::Status replaced() { return {grpc::StatusCode::ABORTED, "this session has ended"}; }

}  // namespace

AgentStream* AgentStream::start(grpc::CallbackServerContext& call, AgentSessions& sessions,
                                Timer& timer) {
  auto stream = std::make_shared<AgentStream>(call, sessions);
  stream->self_ = stream;
  timer.after(hello_within, [weak = std::weak_ptr(stream)] {
    auto late = weak.lock();
    if (!late) return;
    {
      std::lock_guard lock(late->mutex_);
      if (late->heard_hello_) return;
    }
    late->end(bad("no hello came"));
  });
  stream->StartSendInitialMetadata();
  stream->StartRead(&stream->incoming_);
  return stream.get();
}

void AgentStream::send(pb::ServerMessage message) {
  bool too_slow = false;
  {
    std::lock_guard lock(mutex_);
    if (ending_) return;
    too_slow = outgoing_.size() >= GrpcServer::outgoing_max;
    if (!too_slow) outgoing_.push_back(std::move(message));
  }
  if (too_slow) return end({grpc::StatusCode::RESOURCE_EXHAUSTED, "the agent reads too slowly"});
  go_on();
}

void AgentStream::close(const std::string& why) { end({grpc::StatusCode::ABORTED, why}); }

void AgentStream::end(grpc::Status status) {
  bool cancel = false;
  {
    std::lock_guard lock(mutex_);
    if (ending_) return;
    ending_ = std::move(status);
    outgoing_.clear();
    cancel = writing_;  // it may hang for as long as the agent does not read
  }
  go_on(cancel);
}

// Starts what is due next: a write, or the end.
void AgentStream::go_on(bool cancel) {
  enum class Next : std::uint8_t { nothing, write, finish } next{};
  grpc::Status status;
  {
    std::lock_guard lock(mutex_);
    if (finished_) return;
    if (!ending_ && !writing_ && !outgoing_.empty()) {
      next = Next::write;
      writing_ = true;
      writing_message_ = std::move(outgoing_.front());
      outgoing_.pop_front();
    } else if (ending_ && !writing_ && calls_ == 0) {
      next = Next::finish;
      finished_ = true;
      status = *ending_;
    }
    if (next != Next::finish) ++calls_;
  }
  if (next == Next::finish) return Finish(status);
  if (next == Next::write) StartWrite(&writing_message_);
  if (cancel) call_.TryCancel();
  bool last = false;
  {
    std::lock_guard lock(mutex_);
    last = --calls_ == 0 && ending_ && !writing_;
  }
  if (last) go_on();
}

void AgentStream::OnWriteDone(bool ok) {
  {
    std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok && !ending_) ending_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, "not written");
  }
  go_on();
}

void AgentStream::OnReadDone(bool ok) {
  if (!ok) {
    if (session_) sessions_.gone(*session_);
    return end(grpc::Status::OK);
  }
  {
    std::lock_guard lock(mutex_);
    if (ending_) return;
    ++calls_;  // the stream must outlive the next StartRead
  }
  auto refused = hear(incoming_);
  if (!refused) StartRead(&incoming_);
  {
    std::lock_guard lock(mutex_);
    --calls_;
  }
  if (refused) {
    if (session_) sessions_.gone(*session_);
    end(*refused);
  }
  // Also where it was ended meanwhile, by a newer connection say: whoever did that left the finish
  // to us, and a stream that is never finished keeps the server from stopping.
  go_on();
}

std::optional<grpc::Status> AgentStream::hear(const pb::AgentMessage& message) {
  switch (message.message_case()) {
    case pb::AgentMessage::kHello: return hear_hello(message.hello());
    case pb::AgentMessage::kReport: {
      if (!session_) return bad("a report before the hello");
      auto report = from_pb(message.report());
      if (!report) return bad(report.error().what);
      if (sessions_.report(*session_, std::move(*report))) return std::nullopt;
      return bad("Report: of another node, out of order, or of a session that has ended");
    }
    case pb::AgentMessage::kLog:
      if (!session_) return bad("a log before the hello");
      if (sessions_.log_answer(*session_, message.log())) return std::nullopt;
      return replaced();
    case pb::AgentMessage::MESSAGE_NOT_SET: break;
  }
  return bad("AgentMessage: nothing that protocol 1 knows");
}

std::optional<grpc::Status> AgentStream::hear_hello(const pb::Hello& hello) {
  if (session_) return bad("a second hello");
  if (hello.protocol() != protocol) return bad("Hello.protocol: only 1 is spoken here");
  auto inventory = from_pb(hello.inventory());
  if (!inventory) return bad(inventory.error().what);
  {
    std::lock_guard lock(mutex_);
    heard_hello_ = true;
  }
  const auto session = sessions_.connect(std::move(*inventory), shared_from_this(),
                                         FencingToken{hello.newest_token()});
  if (!session) return grpc::Status(grpc::StatusCode::UNAVAILABLE, session.error());
  session_ = *session;
  return std::nullopt;
}

void AgentStream::OnCancel() { end({grpc::StatusCode::CANCELLED, "canceled"}); }

void AgentStream::OnDone() {
  if (session_) sessions_.gone(*session_);
  self_.reset();  // possibly the last use of this
}

}  // namespace keel
