#include "adapters/client/users_client.h"

#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <mutex>
#include <optional>

#include "keel/v1/api.grpc.pb.h"
#include "wire/text.h"
#include "wire/tree.h"

namespace keel {
namespace {

using SystemClock = std::chrono::system_clock;  // gRPC takes its deadlines by this one

constexpr int answer_bytes_max = 16 << 20;  // pages are cut at 2 MiB, a log's part at 1 MiB
constexpr int reconnect_first_ms = 100;
constexpr int reconnect_max_ms = 1000;
// For one try. A busy host may take seconds to greet: that is no reason to say that nobody is
// there.
constexpr int greeting_within_ms = 20'000;
constexpr Duration file_answer_within = minutes(5);  // 64 MiB on a slow disk

SystemClock::time_point in(Duration duration) {
  return SystemClock::now() + std::chrono::microseconds(duration.us);
}

ClientError failure(ClientError::Code code, std::string help) {
  ClientError error{.code = code};
  error.error.set_code("unavailable");
  error.error.set_help(std::move(help));
  return error;
}

// The control plane's own words, where the status carries them.
std::optional<v1::ApiError> said_by_server(const grpc::Status& status) {
  if (status.error_details().empty()) return std::nullopt;
  const auto tree = parse_json(status.error_details());
  v1::ApiError error;
  if (!tree || !fill(error, *tree)) return std::nullopt;
  return error;
}

ClientError error_of(const grpc::Status& status) {
  if (auto error = said_by_server(status)) {
    return {.code = ClientError::Code::refused, .error = *std::move(error)};
  }
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::CANCELLED:
      return failure(ClientError::Code::cut, "The connection to the control plane broke.");
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return failure(ClientError::Code::cut, "The control plane did not answer in time.");
    default: break;
  }
  ClientError error = failure(ClientError::Code::refused,
                              "The control plane refused: " + shortened(status.error_message()));
  error.error.set_code("internal");
  return error;
}

// gRPC writes what it thinks of connections to stderr, where our own words belong.
void silence_grpc() {
  static std::once_flag once;
  std::call_once(once, [] { gpr_set_log_function([](gpr_log_func_args*) {}); });
}

std::shared_ptr<grpc::Channel> channel_to(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(answer_bytes_max);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, reconnect_first_ms);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, greeting_within_ms);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, reconnect_max_ms);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // it is on this host
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);     // who asks twice is decided above
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

struct UsersClient::Connection {
  Target target;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Users::Stub> stub;

  // Only a channel that is ready may be used: so an error after this one means that something may
  // have been sent.
  Result<Done, ClientError> connect() {
    const auto deadline = in(target.connect_within);
    grpc_connectivity_state state = channel->GetState(true);
    // The first failure that is seen may be an old one, from before the last back-off.
    bool has_tried = state != GRPC_CHANNEL_TRANSIENT_FAILURE;
    while (state != GRPC_CHANNEL_READY) {
      if (state == GRPC_CHANNEL_TRANSIENT_FAILURE && has_tried) {
        return failure(ClientError::Code::unreachable,
                       "Nobody answers at " + printable(target.address) + ".");
      }
      if (state == GRPC_CHANNEL_CONNECTING) has_tried = true;
      if (!channel->WaitForStateChange(state, deadline)) {
        return failure(ClientError::Code::cut, "The control plane did not answer in time.");
      }
      state = channel->GetState(true);
    }
    return Done{};
  }

  template <class Request, class Response>
  Result<Response, ClientError> call(grpc::Status (v1::Users::Stub::*method)(grpc::ClientContext*,
                                                                             const Request&,
                                                                             Response*),
                                     const Request& request, Duration within) {
    TRY(connected, connect());
    grpc::ClientContext call;
    call.set_deadline(in(within));
    if (!target.token.empty()) call.AddMetadata("authorization", "Bearer " + target.token);
    Response response;
    const grpc::Status status = (stub.get()->*method)(&call, request, &response);
    if (!status.ok()) return error_of(status);
    return response;
  }

  Duration waiting(std::int32_t wait_ms) const {
    return target.answer_within + milliseconds(wait_ms);
  }
};

UsersClient::UsersClient(Target target) : connection_(std::make_unique<Connection>()) {
  silence_grpc();
  connection_->channel = channel_to(target.address);
  connection_->stub = v1::Users::NewStub(connection_->channel);
  connection_->target = std::move(target);
}

UsersClient::~UsersClient() = default;

UsersClient::Answer<v1::SubmitResponse> UsersClient::submit(const v1::SubmitRequest& request) {
  return connection_->call(&v1::Users::Stub::Submit, request, connection_->waiting(0));
}

UsersClient::Answer<v1::PutFileResponse> UsersClient::put_file(const v1::PutFileRequest& request) {
  return connection_->call(&v1::Users::Stub::PutFile, request, file_answer_within);
}

UsersClient::Answer<v1::JobView> UsersClient::get_job(const v1::GetJobRequest& request) {
  return connection_->call(&v1::Users::Stub::GetJob, request, connection_->waiting(0));
}

UsersClient::Answer<v1::ListJobsResponse> UsersClient::list_jobs(
    const v1::ListJobsRequest& request) {
  return connection_->call(&v1::Users::Stub::ListJobs, request, connection_->waiting(0));
}

UsersClient::Answer<v1::CancelJobResponse> UsersClient::cancel_job(
    const v1::CancelJobRequest& request) {
  return connection_->call(&v1::Users::Stub::CancelJob, request, connection_->waiting(0));
}

UsersClient::Answer<v1::ListEventsResponse> UsersClient::list_events(
    const v1::ListEventsRequest& request) {
  return connection_->call(&v1::Users::Stub::ListEvents, request,
                           connection_->waiting(request.wait_ms()));
}

UsersClient::Answer<v1::ReadLogResponse> UsersClient::read_log(const v1::ReadLogRequest& request) {
  return connection_->call(&v1::Users::Stub::ReadLog, request,
                           connection_->waiting(request.wait_ms()));
}

UsersClient::Answer<v1::ListNodesResponse> UsersClient::list_nodes(
    const v1::ListNodesRequest& request) {
  return connection_->call(&v1::Users::Stub::ListNodes, request, connection_->waiting(0));
}

}  // namespace keel
