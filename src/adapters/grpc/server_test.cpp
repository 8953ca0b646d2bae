#include "adapters/grpc/server.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <future>

#include "adapters/door/door.h"
#include "adapters/door/raw_client.h"
#include "adapters/front/fakes.h"
#include "adapters/link/link.h"
#include "keel/v1/agents.grpc.pb.h"
#include "keel/v1/api.grpc.pb.h"
#include "wire/convert.h"
#include "wire/tree.h"

namespace keel {
namespace {

using fake::connect_as;
using fake::connect_here;
using fake::connect_to_port;
using fake::RawClient;
using ::testing::HasSubstr;

const std::string token = "0123456789abcdef0123456789abcdef";

struct House {
  fake::TemporaryDirectory directory;
  std::string path = directory.path + "/s";

  // The service is made before the sessions that it asks.
  struct Logs final : AgentLogs {
    AgentLogs* target{};
    void read_log(const NodeId& node, const LogQuestion& question, Answered answered) override {
      target->read_log(node, question, std::move(answered));
    }
  };
  Logs logs{};
  fake::Service service{Owner{"ops", 4242, 4242}, &logs};
  AgentSessions sessions{service.inbox, service.timer};
  Gate gate{token, 0};
  std::unique_ptr<GrpcServer> server;
  std::unique_ptr<Door> door;

  House() { open(); }
  ~House() { close(); }
  void open() {
    logs.target = &sessions;
    auto started =
        GrpcServer::start({service.front, sessions, service.files, service.timer, gate, 1000, 500});
    if (started) server = std::move(*started);
    open_door();
  }
  void open_door() {
    auto opened = Door::open({path, "127.0.0.1:0"},
                             {[this](int fd, const Peer& peer) { server->adopt(fd, peer); },
                              [](int fd, const Peer&) { ::close(fd); }});
    if (opened) door = std::move(*opened);
  }
  void close() {
    door.reset();
    service.inbox.close();
    service.feed.close();
    sessions.close();
    server.reset();
    service.stop();
  }
  std::string tcp_target() const { return "127.0.0.1:" + std::to_string(door->tcp_port()); }
};

std::shared_ptr<grpc::Channel> channel_to(const std::string& target,
                                          const std::string& authority = "") {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (!authority.empty()) arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, authority);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

// One unary call: its status, its response, and what went with it.
template <class Response>
struct Call {
  grpc::ClientContext context;
  Response response;
  grpc::Status status;

  template <class Request>
  Call(pb::Users::Stub& stub,
       grpc::Status (pb::Users::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
       const Request& request, const std::string& authorization = "") {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    if (!authorization.empty()) context.AddMetadata("authorization", authorization);
    status = (stub.*method)(&context, request, &response);
  }
};

pb::SubmitRequest train() {
  pb::SubmitRequest request;
  request.mutable_spec()->set_program("/bin/train");
  return request;
}

pb::GetJobRequest last() {
  pb::GetJobRequest request;
  request.set_job("last");
  return request;
}

// Submits on this connection, and gives the uid whose job it became.
std::uint32_t uid_seen_over(const std::shared_ptr<grpc::Channel>& channel) {
  pb::Users::Stub stub(channel);
  Call submitted(stub, &pb::Users::Stub::Submit, train());
  if (!submitted.status.ok()) return 999'999;
  Call seen(stub, &pb::Users::Stub::GetJob, last());
  return seen.status.ok() ? seen.response.job().owner().uid() : 999'998;
}

// A connection that this person has made.
std::shared_ptr<grpc::Channel> channel_of(House& house, std::uint32_t uid) {
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  return grpc::CreateCustomInsecureChannelFromFd("localhost", connect_as(house.path, uid),
                                                 arguments);
}

std::uint32_t uid_seen_as(House& house, std::uint32_t uid) {
  return uid_seen_over(channel_of(house, uid));
}

TEST(GrpcServer, every_call_on_the_unix_socket_has_its_connections_uid) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  House house;
  // The same descriptor numbers are given again and again to different people.
  for (std::uint32_t i = 0; i < 30; ++i) ASSERT_EQ(uid_seen_as(house, 1000 + i % 7), 1000 + i % 7);
}

TEST(GrpcServer, a_call_that_outlives_its_connection_does_not_lend_its_name) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  House house;
  ASSERT_EQ(uid_seen_as(house, 1000), 1000u);
  for (int round = 0; round < 5; ++round) {
    {  // a long poll whose caller goes away
      auto channel = channel_of(house, 2000);
      pb::Users::Stub stub(channel);
      Call submitted(stub, &pb::Users::Stub::Submit, train());
      ASSERT_TRUE(submitted.status.ok());
      pb::ListEventsRequest poll;
      poll.set_job("last");
      poll.set_after(1'000'000);
      poll.set_wait_ms(500);
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
      pb::ListEventsResponse response;
      EXPECT_EQ(stub.ListEvents(&context, poll, &response).error_code(),
                grpc::StatusCode::DEADLINE_EXCEEDED);
    }
    for (std::uint32_t uid : {3001u, 3002u, 3003u}) ASSERT_EQ(uid_seen_as(house, uid), uid);
  }
}

TEST(GrpcServer, tcp_takes_the_token_for_every_method_known_or_not) {
  House house;
  auto channel = channel_to(house.tcp_target());
  std::vector<std::string> methods{"/keel.v1.Users/Nothing", "/nothing",
                                   "/grpc.health.v1.Health/Check"};
  for (const auto* service : {pb::SubmitRequest::descriptor()->file()->FindServiceByName("Users"),
                              pb::Hello::descriptor()->file()->FindServiceByName("Agents")}) {
    ASSERT_TRUE(service);
    for (int i = 0; i < service->method_count(); ++i) {
      methods.push_back("/" + service->full_name() + "/" + service->method(i)->name());
    }
  }
  ASSERT_EQ(methods.size(), 13u);
  for (const std::string& method : methods) {
    for (const char* said : {"", "Bearer wrong"}) {
      grpc::GenericStub stub(channel);
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
      if (*said) context.AddMetadata("authorization", said);
      grpc::CompletionQueue queue;
      grpc::ByteBuffer response;
      grpc::Status status;
      grpc::Slice empty("");
      auto call = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(&empty, 1), &queue);
      call->StartCall();
      call->Finish(&response, &status, nullptr);
      void* tag{};
      bool ok{};
      queue.Next(&tag, &ok);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED)
          << method << " " << status.error_message();
    }
  }
  pb::Users::Stub stub(channel);
  Call served(stub, &pb::Users::Stub::ListNodes, pb::ListNodesRequest(), "Bearer " + token);
  EXPECT_TRUE(served.status.ok()) << served.status.error_message();
}

TEST(GrpcServer, a_foreign_authority_is_refused_on_both_sockets) {
  House house;
  for (const std::string& target : {house.tcp_target(), "unix:" + house.path}) {
    pb::Users::Stub foreign(channel_to(target, "evil.example"));
    Call refused(foreign, &pb::Users::Stub::ListNodes, pb::ListNodesRequest(), "Bearer " + token);
    EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << target;
    pb::Users::Stub own(channel_to(target, "localhost:1234"));
    Call served(own, &pb::Users::Stub::ListNodes, pb::ListNodesRequest(), "Bearer " + token);
    EXPECT_TRUE(served.status.ok()) << target << served.status.error_message();
  }
}

TEST(GrpcServer, only_root_and_the_token_may_be_agents) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  House house;
  auto file = house.service.files.put("bytes");
  ASSERT_TRUE(file);
  auto fetch = [&](const std::shared_ptr<grpc::Channel>& channel, const std::string& said) {
    pb::Agents::Stub stub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    if (!said.empty()) context.AddMetadata("authorization", said);
    pb::GetFileRequest request;
    request.set_digest(print(*file));
    pb::FileChunk chunk;
    auto reader = stub.GetFile(&context, request);
    while (reader->Read(&chunk)) {
    }
    return reader->Finish().error_code();
  };
  auto person = channel_of(house, 1001);
  auto root = channel_of(house, 0);
  EXPECT_EQ(fetch(person, "Bearer " + token), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(fetch(root, ""), grpc::StatusCode::OK);
  EXPECT_EQ(fetch(channel_to(house.tcp_target()), "Bearer " + token), grpc::StatusCode::OK);

  pb::Agents::Stub stub(person);
  grpc::ClientContext context;
  auto stream = stub.Connect(&context);
  pb::ServerMessage message;
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST(GrpcServer, a_refusal_carries_its_error_as_json_within_a_trailers_size) {
  House house;
  pb::SubmitRequest request = train();
  for (int i = 0; i < 200; ++i)
    request.mutable_spec()->add_files()->set_path("../" + std::to_string(i));
  pb::Users::Stub stub(channel_to("unix:" + house.path));
  Call refused(stub, &pb::Users::Stub::Submit, request);
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  auto tree = parse_json(refused.status.error_details());
  ASSERT_TRUE(tree) << refused.status.error_details();
  pb::ApiError error;
  ASSERT_TRUE(fill(error, *tree));
  EXPECT_EQ(error.code(), "invalid");
  EXPECT_THAT(error.field(), HasSubstr("files"));
}

TEST(GrpcServer, a_request_over_a_mebibyte_is_too_large_unless_it_is_a_file) {
  House house;
  pb::Users::Stub stub(channel_to("unix:" + house.path));
  pb::SubmitRequest request = train();
  request.mutable_spec()->add_args(std::string(2 << 20, 'x'));
  Call refused(stub, &pb::Users::Stub::Submit, request);
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  pb::PutFileRequest file;
  file.set_content(std::string(20 << 20, 'x'));
  Call stored(stub, &pb::Users::Stub::PutFile, file);
  EXPECT_TRUE(stored.status.ok()) << stored.status.error_message();
}

TEST(GrpcServer, a_peer_that_answers_no_ping_is_closed) {
  House house;
  RawClient half_open(connect_here(house.path));
  half_open.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  EXPECT_TRUE(half_open.is_closed_within(std::chrono::seconds(10)));
  RawClient garbage(connect_here(house.path));
  garbage.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string(1000, '\xff'));
  EXPECT_TRUE(garbage.is_closed_within(std::chrono::seconds(10)));
  pb::Users::Stub stub(channel_to("unix:" + house.path));
  Call served(stub, &pb::Users::Stub::ListNodes, pb::ListNodesRequest());
  EXPECT_TRUE(served.status.ok());
}

NodeInventory inventory(const std::string& name) {
  return {NodeId{name}, "agent", "boot", "127.0.0.1", {8000}, gibibytes(64), {}, {}};
}

// An agent's end of the stream, for saying what a ServerLink never would.
struct RawAgent {
  pb::Agents::Stub stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<pb::AgentMessage, pb::ServerMessage>> stream;

  explicit RawAgent(House& house) : stub(channel_to("unix:" + house.path)) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    stream = stub.Connect(&context);
  }
  bool hello(const std::string& name, std::uint32_t protocol = 1) {
    pb::AgentMessage message;
    message.mutable_hello()->set_protocol(protocol);
    *message.mutable_hello()->mutable_inventory() = to_pb(inventory(name));
    return stream->Write(message);
  }
  bool heartbeat(std::uint64_t number) {
    pb::AgentMessage message;
    message.mutable_report()->set_number(number);
    return stream->Write(message);
  }
  grpc::Status end() {
    pb::ServerMessage message;
    while (stream->Read(&message)) {
    }
    return stream->Finish();
  }
};

TEST(GrpcServer, an_agent_that_breaks_the_protocol_is_told_what_it_broke) {
  House house;
  RawAgent early(house), old(house), twice(house), odd(house), nothing(house);
  early.heartbeat(1);
  EXPECT_THAT(early.end().error_message(), HasSubstr("before the hello"));
  old.hello("n", 2);
  EXPECT_THAT(old.end().error_message(), HasSubstr("protocol"));
  twice.hello("n");
  twice.hello("n");
  EXPECT_THAT(twice.end().error_message(), HasSubstr("second hello"));
  odd.hello("n");
  pb::AgentMessage bad;
  bad.mutable_report()->set_number(1);
  bad.mutable_report()->set_full(true);
  bad.mutable_report()->add_tasks()->set_job("no job");
  odd.stream->Write(bad);
  auto status = odd.end();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("Report"));
  nothing.stream->Write(pb::AgentMessage());
  EXPECT_EQ(nothing.end().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST(GrpcServer, a_second_connection_of_a_node_replaces_the_first) {
  House house;
  RawAgent first(house);
  first.hello("n");
  auto connected = house.service.turns.next_agent_input();
  ASSERT_TRUE(connected && std::holds_alternative<AgentConnected>(*connected));
  RawAgent second(house);
  second.hello("n");
  EXPECT_THAT(first.end().error_message(), HasSubstr("replaced"));
  auto gone = house.service.turns.next_agent_input();
  ASSERT_TRUE(gone && std::holds_alternative<AgentGone>(*gone));
  auto again = house.service.turns.next_agent_input();
  ASSERT_TRUE(again && std::holds_alternative<AgentConnected>(*again));
  second.heartbeat(1);
  auto report = house.service.turns.next_agent_input();
  ASSERT_TRUE(report && std::holds_alternative<AgentReported>(*report));
  second.context.TryCancel();
  auto left = house.service.turns.next_agent_input();
  EXPECT_TRUE(left && std::holds_alternative<AgentGone>(*left));
}

// A stream that is ended by somebody else while it hears a message was once never finished.
TEST(GrpcServer, it_stops_also_when_connections_have_replaced_each_other_while_they_spoke) {
  auto house = std::make_unique<House>();
  std::vector<std::unique_ptr<RawAgent>> agents;
  for (int i = 0; i < 40; ++i) {
    agents.push_back(std::make_unique<RawAgent>(*house));
    agents.back()->hello("n");
    for (std::uint64_t number = 1; number <= 5; ++number) agents.back()->heartbeat(number);
  }
  house.reset();  // waits for every stream
  for (auto& agent : agents) EXPECT_FALSE(agent->end().ok());
}

TEST(GrpcServer, an_agent_that_does_not_read_loses_its_connection) {
  House house;
  RawAgent slow(house);
  slow.hello("n");
  auto connected = house.service.turns.next_agent_input();
  ASSERT_TRUE(connected);
  SessionNo session = std::get<AgentConnected>(*connected).session;
  Agents::Welcome large{Epoch{1}, {}, {}, {}};
  for (int i = 0; i < 1000; ++i)
    large.floors.push_back({DeviceId{std::string(100, 'x')}, FencingToken{1}});
  for (std::size_t i = 0; i < GrpcServer::outgoing_max + 200; ++i) {
    house.sessions.welcome(NodeId{"n"}, session, large);
  }
  auto gone = house.service.turns.next_agent_input();
  EXPECT_TRUE(gone && std::holds_alternative<AgentGone>(*gone));
}

// Waits for the next message of one kind; nothing within ten seconds.
template <class Kind>
std::optional<Kind> next(ServerLink& link) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < end) {
    pollfd waiting{link.wake_descriptor(), POLLIN, 0};
    poll(&waiting, 1, 1000);
    for (ServerMessage& message : link.take()) {
      if (auto* kind = std::get_if<Kind>(&message)) return std::move(*kind);
    }
  }
  return std::nullopt;
}

std::unique_ptr<ServerLink> link_to(const House& house, const std::string& name) {
  auto link = ServerLink::open({"unix:" + house.path});
  if (!link || !next<ServerConnected>(**link)) return nullptr;
  (*link)->introduce(inventory(name), {});
  return std::move(*link);
}

TEST(ServerLink, it_introduces_itself_reports_and_hears) {
  House house;
  auto link = link_to(house, "n");
  ASSERT_TRUE(link);
  auto connected = house.service.turns.next_agent_input();
  ASSERT_TRUE(connected && std::holds_alternative<AgentConnected>(*connected));
  EXPECT_EQ(std::get<AgentConnected>(*connected).inventory, inventory("n"));
  SessionNo session = std::get<AgentConnected>(*connected).session;

  NodeId node{"n"};
  house.sessions.welcome(
      node, session, {Epoch{3}, {{DeviceId{"GPU-1"}, FencingToken{8}}}, minutes(30), seconds(2)});
  auto welcomed = next<ServerWelcomed>(*link);
  ASSERT_TRUE(welcomed);
  EXPECT_EQ(welcomed->terms.floors.at(DeviceId{"GPU-1"}), FencingToken{8});
  EXPECT_EQ(welcomed->terms.disconnect_stop, minutes(30));
  EXPECT_EQ(link->trouble(), "");

  link->send({ReportNo{1}, true, inventory("n"), {}});
  auto reported = house.service.turns.next_agent_input();
  ASSERT_TRUE(reported && std::holds_alternative<AgentReported>(*reported));
  house.sessions.acknowledge(node, session, ReportNo{1});
  auto acknowledged = next<ServerAcknowledged>(*link);
  ASSERT_TRUE(acknowledged);
  EXPECT_EQ(acknowledged->report, ReportNo{1});

  TaskKey key{JobId{5}, AttemptNo{1}, 0};
  Duty duty{node, key, FencingToken{9}, Stop{StopCause::canceled}};
  house.sessions.send(session, Epoch{3}, ReportNo{1}, duty, nullptr);
  auto told = next<ServerTold>(*link);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->duty, duty);
  EXPECT_EQ(told->answers, ReportNo{1});

  link.reset();
  auto gone = house.service.turns.next_agent_input();
  EXPECT_TRUE(gone && std::holds_alternative<AgentGone>(*gone));
}

TEST(ServerLink, a_log_is_asked_and_answered_through_the_stream) {
  House house;
  auto link = link_to(house, "n");
  ASSERT_TRUE(link);
  ASSERT_TRUE(house.service.turns.next_agent_input());
  auto promise = std::make_shared<std::promise<std::string>>();
  auto answered = promise->get_future();
  house.sessions.read_log(NodeId{"n"}, {{JobId{5}, AttemptNo{2}, 3}, 10, 20, seconds(1)},
                          [promise](auto log) {
                            promise->set_value(log && *log ? (*log)->lines(0).text() : "nothing");
                          });
  auto asked = next<ServerAskedLog>(*link);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->key, (TaskKey{JobId{5}, AttemptNo{2}, 3}));
  EXPECT_EQ(asked->wait, seconds(1));
  link->send_log(asked->request,
                 LogPart{{{Instant{1}, false, false, "bytes \xff"}}, 30, false, false});
  ASSERT_EQ(answered.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  EXPECT_EQ(answered.get(), "bytes \xff");
}

TEST(ServerLink, a_file_is_fetched_whole_and_a_missing_one_is_an_error) {
  House house;
  std::string file(300'000, 'x');
  for (std::size_t i = 0; i < file.size(); i += 1000)
    file[i] = static_cast<char>('a' + i / 1000 % 26);
  auto digest = house.service.files.put(file);
  ASSERT_TRUE(digest);
  for (auto options : {ServerLink::Options{"unix:" + house.path},
                       ServerLink::Options{house.tcp_target(), token}}) {
    auto link = ServerLink::open(options);
    ASSERT_TRUE(link);
    std::string fetched;
    auto sink = [&](std::string_view piece) -> Result<Done, std::string> {
      fetched += piece;
      return Done{};
    };
    EXPECT_TRUE((*link)->fetch(*digest, sink));
    EXPECT_EQ(fetched, file);
    auto missing = (*link)->fetch(sha256("other"), sink);
    ASSERT_FALSE(missing);
    EXPECT_THAT(missing.error(), HasSubstr("no such file"));
    auto full = (*link)->fetch(*digest, [](std::string_view) -> Result<Done, std::string> {
      return std::string("disk full");
    });
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error(), "disk full");
  }
}

TEST(ServerLink, it_dials_again_when_the_server_comes_back_and_says_nothing_old) {
  House house;
  auto link = link_to(house, "n");
  ASSERT_TRUE(link);
  ASSERT_TRUE(house.service.turns.next_agent_input());
  house.door.reset();
  house.server.reset();
  ASSERT_TRUE(next<ServerDisconnected>(*link));
  house.open();
  // Meant for the connection that broke: on the new one it would come before the hello.
  for (int i = 0; i < 100; ++i) {
    link->send({ReportNo{1}, false, std::nullopt, {}});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_TRUE(next<ServerConnected>(*link)) << link->trouble();
  link->introduce(inventory("n"), FencingToken{77});
  auto input = house.service.turns.next_agent_input();
  while (input && std::holds_alternative<AgentGone>(*input))
    input = house.service.turns.next_agent_input();
  ASSERT_TRUE(input && std::holds_alternative<AgentConnected>(*input));
  EXPECT_EQ(std::get<AgentConnected>(*input).newest_token, FencingToken{77});
}

TEST(ServerLink, a_wrong_token_is_told_as_trouble_and_tried_again) {
  House house;
  auto link = ServerLink::open({house.tcp_target(), "wrong"});
  ASSERT_TRUE(link);
  EXPECT_TRUE(next<ServerDisconnected>(**link));
  EXPECT_TRUE(next<ServerDisconnected>(**link));
  EXPECT_THAT((*link)->trouble(), HasSubstr("token"));
}

TEST(ServerLink, nothing_is_dialed_beyond_this_host) {
  for (const char* target :
       {"example.com:80", "192.0.2.1:80", "dns:///localhost:80", "unix:", "localhost", "",
        "localhost:", "127.0.0.1.evil.example:80", "ipv4:192.0.2.1:80"}) {
    EXPECT_FALSE(ServerLink::open({target, token})) << target;
  }
}

}  // namespace
}  // namespace keel
