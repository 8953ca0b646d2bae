#include "adapters/link/link.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "adapters/link/mail.h"
#include "adapters/link/stream.h"
#include "adapters/link/target.h"
#include "wire/convert.h"

namespace keel {
namespace {

constexpr std::uint32_t protocol = 1;
constexpr auto fetch_within = std::chrono::minutes(1);
constexpr auto look_up_every = std::chrono::milliseconds(100);

std::shared_ptr<grpc::Channel> dial(const std::string& target) {
  auto ms = [](Duration time) { return static_cast<int>(time.us / 1000); };
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of one's own
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);          // loopback needs none, whatever is set
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, ms(ServerLink::backoff_first));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, ms(ServerLink::backoff_max));
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, ms(ServerLink::backoff_max));
  // A control plane that was frozen or cut off is noticed even if the kernel keeps the connection.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

pb::LogAnswer answer_of(std::uint64_t request, const std::optional<LogPart>& part) {
  pb::LogAnswer answer;
  answer.set_request(request);
  answer.set_found(part.has_value());
  if (!part) return answer;
  pb::ReadLogResponse& log = *answer.mutable_log();
  for (const LogLine& line : part->lines) {
    pb::LogLine& sent = *log.add_lines();
    sent.set_at_us(line.at.us);
    sent.set_error(line.error);
    sent.set_partial(line.partial);
    sent.set_text(line.text);
  }
  log.set_next(part->next);
  log.set_end(part->end);
  log.set_dropped(part->dropped);
  log.set_size(part->size);
  return answer;
}

}  // namespace

struct ServerLink::Inside {
  explicit Inside(const Options& said)
      : options(said),
        mail(waiting_max),
        channel(dial(said.target)),
        stub(pb::Agents::NewStub(channel)) {}

  void run();
  void hold_connection(std::uint64_t number);
  bool wait_for_channel();
  bool sleep(Duration time);
  void say(pb::AgentMessage message);

  const Options options;
  Mail mail;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<pb::Agents::Stub> stub;
  std::uint64_t taken{};  // the connection that take() told of last; of its thread

  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<LinkStream> stream;  // the one that is open
  Duration backoff = backoff_first;
  std::set<grpc::ClientContext*> fetches;
  bool fetching_over{};
  bool stopping{};
  std::thread thread;
};

void ServerLink::Inside::run() {
  for (std::uint64_t number = 1; wait_for_channel(); ++number) {
    hold_connection(number);
    Duration wait = backoff;
    backoff = std::min(wait + wait, backoff_max);
    if (!sleep(wait)) return;
  }
}

void ServerLink::Inside::hold_connection(std::uint64_t number) {
  auto open = std::make_shared<LinkStream>(number, mail, LinkStream::Limits{waiting_max});
  open->start(*stub, options.token);
  bool stop = false;
  {
    std::lock_guard lock(mutex);
    stream = open;
    stop = stopping;
  }
  if (stop) open->close();
  mail.put({number, ServerConnected{}});
  open->wait();
  if (open->was_welcomed()) backoff = backoff_first;
  {
    std::lock_guard lock(mutex);
    stream.reset();
  }
  mail.put({number, ServerDisconnected{}});
}

// False when it is time to stop.
bool ServerLink::Inside::wait_for_channel() {
  while (!channel->WaitForConnected(std::chrono::system_clock::now() + look_up_every)) {
    std::lock_guard lock(mutex);
    if (stopping) return false;
  }
  std::lock_guard lock(mutex);
  return !stopping;
}

bool ServerLink::Inside::sleep(Duration time) {
  std::unique_lock lock(mutex);
  changed.wait_for(lock, std::chrono::microseconds(time.us), [this] { return stopping; });
  return !stopping;
}

void ServerLink::Inside::say(pb::AgentMessage message) {
  std::shared_ptr<LinkStream> open;
  {
    std::lock_guard lock(mutex);
    open = stream;
  }
  if (open && open->connection() == taken) open->send(std::move(message));
}

Result<std::unique_ptr<ServerLink>, std::string> ServerLink::open(const Options& options) {
  if (!stays_on_this_host(options.target)) {
    return options.target +
           ": must be unix:PATH, or a port of 127.0.0.1, [::1] or localhost; nothing goes beyond "
           "loopback without TLS";
  }
  auto inside = std::make_unique<Inside>(options);
  inside->thread = std::thread([raw = inside.get()] { raw->run(); });
  return std::unique_ptr<ServerLink>(new ServerLink(std::move(inside)));
}

ServerLink::ServerLink(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}

void ServerLink::give_up_fetching() {
  std::lock_guard lock(inside_->mutex);
  inside_->fetching_over = true;
  for (grpc::ClientContext* fetch : inside_->fetches) fetch->TryCancel();
}

ServerLink::~ServerLink() {
  give_up_fetching();
  std::shared_ptr<LinkStream> open;
  {
    std::lock_guard lock(inside_->mutex);
    inside_->stopping = true;
    open = inside_->stream;
  }
  inside_->changed.notify_all();
  if (open) open->close();
  inside_->thread.join();
  std::unique_lock lock(inside_->mutex);
  inside_->changed.wait(lock, [this] { return inside_->fetches.empty(); });
}

int ServerLink::wake_descriptor() const { return inside_->mail.descriptor(); }

std::string ServerLink::trouble() const { return inside_->mail.trouble(); }

std::vector<ServerMessage> ServerLink::take() {
  std::vector<ServerMessage> messages;
  for (Mail::Heard& heard : inside_->mail.take()) {
    inside_->taken = heard.connection;
    messages.push_back(std::move(heard.message));
  }
  return messages;
}

void ServerLink::introduce(const NodeInventory& inventory, FencingToken newest) {
  pb::AgentMessage message;
  message.mutable_hello()->set_protocol(protocol);
  *message.mutable_hello()->mutable_inventory() = to_pb(inventory);
  message.mutable_hello()->set_newest_token(newest.value);
  inside_->say(std::move(message));
}

void ServerLink::send(const Report& report) {
  pb::AgentMessage message;
  *message.mutable_report() = to_pb(report);
  inside_->say(std::move(message));
}

void ServerLink::send_log(std::uint64_t request, const std::optional<LogPart>& part) {
  pb::AgentMessage message;
  *message.mutable_log() = answer_of(request, part);
  inside_->say(std::move(message));
}

Result<Done, std::string> ServerLink::fetch(const Digest& file, const Sink& sink) {
  grpc::ClientContext call;
  call.set_wait_for_ready(true);
  call.set_deadline(std::chrono::system_clock::now() + fetch_within);
  if (!inside_->options.token.empty()) {
    call.AddMetadata("authorization", "Bearer " + inside_->options.token);
  }
  {
    std::lock_guard lock(inside_->mutex);
    if (inside_->fetching_over) return std::string("the agent is stopping");
    inside_->fetches.insert(&call);
  }
  pb::GetFileRequest request;
  request.set_digest(print(file));
  auto reader = inside_->stub->GetFile(&call, request);
  pb::FileChunk chunk;
  Result<Done, std::string> outcome = Done{};
  while (outcome && reader->Read(&chunk)) outcome = sink(chunk.content());
  if (!outcome) call.TryCancel();
  grpc::Status status = reader->Finish();
  if (outcome && !status.ok()) outcome = "file " + print(file) + ": " + status.error_message();
  std::lock_guard lock(inside_->mutex);
  inside_->fetches.erase(&call);
  inside_->changed.notify_all();
  return outcome;
}

}  // namespace keel
