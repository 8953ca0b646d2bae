#include "adapters/grpc/server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "adapters/grpc/admission.h"
#include "adapters/grpc/agent_stream.h"
#include "adapters/grpc/file_stream.h"
#include "keel/v1/agents.grpc.pb.h"
#include "keel/v1/api.grpc.pb.h"
#include "model/limits.h"

namespace keel {
namespace {

constexpr int streams_per_connection_max = 256;
constexpr int metadata_bytes_max = 16 << 10;

class UsersService final : public pb::Users::CallbackService {
 public:
  UsersService(Front& front, const Admission& admission) : front_(front), admission_(admission) {}

 private:
  using Call = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  // `response` is gRPC's until Finish, and a reactor may be finished before it is returned.
  template <class Request, class Response>
  Reactor* serve(Call* call, const Request* request, Response* response,
                 void (Front::*ask)(const Caller&, const Request&, Reply<Response>),
                 std::size_t bytes_max = GrpcServer::request_bytes_max) {
    Reactor* reactor = call->DefaultReactor();
    auto caller = admission_.user(*call);
    if (!caller) {
      reactor->Finish(status_of(caller.error()));
      return reactor;
    }
    if (request->ByteSizeLong() > bytes_max) {
      reactor->Finish(status_of(refuse(
          ErrorCode::too_large, {"", std::to_string(request->ByteSizeLong()) + " bytes",
                                 std::to_string(bytes_max) + " bytes", "Make it smaller."})));
      return reactor;
    }
    (front_.*ask)(*caller, *request, [reactor, response](Result<Response, pb::ApiError> result) {
      if (!result) return reactor->Finish(status_of(result.error()));
      *response = std::move(*result);
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

  Reactor* Submit(Call* call, const pb::SubmitRequest* request,
                  pb::SubmitResponse* response) override {
    return serve(call, request, response, &Front::submit);
  }
  Reactor* PutFile(Call* call, const pb::PutFileRequest* request,
                   pb::PutFileResponse* response) override {
    // The size of the content is the front's to judge.
    return serve(call, request, response, &Front::put_file, SIZE_MAX);
  }
  Reactor* GetJob(Call* call, const pb::GetJobRequest* request, pb::JobView* response) override {
    return serve(call, request, response, &Front::get_job);
  }
  Reactor* ListJobs(Call* call, const pb::ListJobsRequest* request,
                    pb::ListJobsResponse* response) override {
    return serve(call, request, response, &Front::list_jobs);
  }
  Reactor* CancelJob(Call* call, const pb::CancelJobRequest* request,
                     pb::CancelJobResponse* response) override {
    return serve(call, request, response, &Front::cancel_job);
  }
  Reactor* ListEvents(Call* call, const pb::ListEventsRequest* request,
                      pb::ListEventsResponse* response) override {
    return serve(call, request, response, &Front::list_events);
  }
  Reactor* ReadLog(Call* call, const pb::ReadLogRequest* request,
                   pb::ReadLogResponse* response) override {
    return serve(call, request, response, &Front::read_log);
  }
  Reactor* ListNodes(Call* call, const pb::ListNodesRequest* request,
                     pb::ListNodesResponse* response) override {
    return serve(call, request, response, &Front::list_nodes);
  }

  Front& front_;
  const Admission& admission_;
};

// A stream that is refused before anything was heard on it.
class RefusedStream final : public grpc::ServerBidiReactor<pb::AgentMessage, pb::ServerMessage> {
 public:
  explicit RefusedStream(const grpc::Status& status) { Finish(status); }

 private:
  void OnDone() override { delete this; }
};

class AgentsService final : public pb::Agents::CallbackService {
 public:
  AgentsService(const GrpcServer::Parts& parts, const Admission& admission)
      : sessions_(parts.sessions),
        files_(parts.files),
        timer_(parts.timer),
        admission_(admission) {}

 private:
  grpc::ServerBidiReactor<pb::AgentMessage, pb::ServerMessage>* Connect(
      grpc::CallbackServerContext* call) override {
    auto caller = admission_.agent(*call);
    if (!caller) return new RefusedStream(status_of(caller.error()));
    return AgentStream::start(*call, sessions_, timer_);
  }

  grpc::ServerWriteReactor<pb::FileChunk>* GetFile(grpc::CallbackServerContext* call,
                                                   const pb::GetFileRequest* request) override {
    auto caller = admission_.agent(*call);
    if (!caller) return new FileStream(files_, status_of(caller.error()));
    auto digest = parse_digest(request->digest());
    if (digest) return new FileStream(files_, *digest);
    return new FileStream(
        files_, status_of(refuse(ErrorCode::invalid, {"digest", request->digest(), "64 hex digits",
                                                      "Name a file by its SHA-256."})));
  }

  AgentSessions& sessions_;
  Files& files_;
  Timer& timer_;
  const Admission& admission_;
};

// Methods that do not exist. A stranger learns no more than that they are a stranger.
class NoSuchMethod final : public grpc::CallbackGenericService {
 public:
  explicit NoSuchMethod(const Admission& admission) : admission_(admission) {}

 private:
  class Stream final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Stream(const grpc::Status& status) { Finish(status); }

   private:
    void OnDone() override { delete this; }
  };

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* call) override {
    auto caller = admission_.user(*call);
    return new Stream(caller ? grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no such method")
                             : status_of(caller.error()));
  }

  const Admission& admission_;
};

}  // namespace

struct GrpcServer::Inside {
  explicit Inside(const Parts& parts)
      : admission(parts.gate),
        users(parts.front, admission),
        agents(parts, admission),
        no_such_method(admission) {}

  Admission admission;
  UsersService users;
  AgentsService agents;
  NoSuchMethod no_such_method;
  std::unique_ptr<grpc::Server> server;
};

Result<std::unique_ptr<GrpcServer>, std::string> GrpcServer::start(const Parts& parts) {
  auto inside = std::make_unique<Inside>(parts);
  grpc::ServerBuilder builder;
  builder.RegisterService(&inside->users);
  builder.RegisterService(&inside->agents);
  builder.RegisterCallbackGenericService(&inside->no_such_method);
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits::file_bytes_max + request_bytes_max));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, streams_per_connection_max);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, metadata_bytes_max);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, parts.ping_every_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, parts.ping_answer_within_ms);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // 0: as many as it takes
  // Agents ping as well, also while nothing is said.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 4'000);
  // A small message must not unpack into a large one.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  inside->server = builder.BuildAndStart();
  if (!inside->server) return std::string("the gRPC server did not start");
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(inside)));
}

GrpcServer::GrpcServer(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}

GrpcServer::~GrpcServer() {
  inside_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  inside_->server->Wait();
}

void GrpcServer::adopt(int descriptor, const Peer& peer) {
  inside_->admission.note(descriptor, peer);
  grpc::AddInsecureChannelFromFd(inside_->server.get(), descriptor);
}

}  // namespace keel
