#include "adapters/link/stream.h"

#include <utility>

#include "wire/convert.h"

namespace keel {
namespace {

ServerWelcomed welcomed(const pb::Welcome& welcome) {
  ServerWelcomed heard;
  for (const pb::TokenFloor& floor : welcome.floors()) {
    heard.terms.floors[DeviceId{floor.device()}] = FencingToken{floor.token()};
  }
  heard.terms.disconnect_stop = Duration{welcome.disconnect_stop_us()};
  heard.terms.heartbeat = Duration{welcome.heartbeat_us()};
  return heard;
}

std::optional<ServerMessage> asked_log(const pb::ReadTaskLog& asked) {
  auto job = parse_job_id(asked.job());
  if (!job || asked.offset() < 0 || asked.limit() < 0 || asked.wait_ms() < 0) return std::nullopt;
  return ServerAskedLog{asked.request(),
                        {*job, AttemptNo{asked.attempt()}, asked.task()},
                        asked.offset(),
                        asked.limit(),
                        milliseconds(asked.wait_ms())};
}

}  // namespace

void LinkStream::start(pb::Agents::Stub& stub, const std::string& token) {
  if (!token.empty()) call_.AddMetadata("authorization", "Bearer " + token);
  stub.async()->Connect(&call_, this);
  AddHold();  // close() gives it back
  StartRead(&incoming_);
  StartCall();
}

void LinkStream::send(pb::AgentMessage message) {
  bool full = false;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    if (message.has_hello()) node_ = NodeId{message.hello().inventory().name()};
    full = outgoing_.size() >= limits_.outgoing_max;
    if (!full) outgoing_.push_back(std::move(message));
  }
  if (full) {
    mail_.note_trouble("the control plane reads too slowly");
    return close();
  }
  write_next();
}

void LinkStream::write_next() {
  {
    std::lock_guard lock(mutex_);
    if (closed_ || writing_ || outgoing_.empty()) return;
    writing_ = true;
    writing_message_ = std::move(outgoing_.front());
    outgoing_.pop_front();
    AddHold();
  }
  StartWrite(&writing_message_);
  RemoveHold();
}

void LinkStream::close() {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    outgoing_.clear();
  }
  call_.TryCancel();
  RemoveHold();
}

void LinkStream::wait() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return done_; });
}

bool LinkStream::was_welcomed() const {
  std::lock_guard lock(mutex_);
  return welcomed_;
}

void LinkStream::OnReadDone(bool ok) {
  if (!ok) return close();
  auto heard = hear(incoming_);
  if (!heard) {
    mail_.note_trouble("the control plane said something that protocol 1 does not know");
    return close();
  }
  if (!mail_.put({connection_, std::move(*heard)})) {
    mail_.note_trouble("the agent hears too slowly");
    return close();
  }
  StartRead(&incoming_);
}

std::optional<ServerMessage> LinkStream::hear(const pb::ServerMessage& message) {
  NodeId node;
  {
    std::lock_guard lock(mutex_);
    node = node_;
    welcomed_ = welcomed_ || message.has_welcome();
  }
  if (message.has_welcome()) {
    mail_.note_trouble("");
    return welcomed(message.welcome());
  }
  if (message.has_ack()) return ServerAcknowledged{ReportNo{message.ack().report()}};
  if (message.has_read_log()) return asked_log(message.read_log());
  auto told = duty_from_pb(message, node);
  if (!told) return std::nullopt;
  return ServerTold{std::move(told->duty), told->answers, std::move(told->spec)};
}

void LinkStream::OnWriteDone(bool ok) {
  {
    std::lock_guard lock(mutex_);
    writing_ = false;
  }
  if (!ok) return close();
  write_next();
}

void LinkStream::OnDone(const grpc::Status& status) {
  if (!status.ok() && status.error_code() != grpc::StatusCode::CANCELLED) {
    mail_.note_trouble(status.error_message());
  }
  std::lock_guard lock(mutex_);
  closed_ = true;
  done_ = true;
  ended_.notify_all();  // with the lock held: who waits destroys this
}

}  // namespace keel
