#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <future>

#include "adapters/door/door.h"
#include "adapters/door/raw_client.h"
#include "adapters/front/fakes.h"
#include "adapters/http/server.h"
#include "model/limits.h"

namespace keel {
namespace {

using fake::connect_as;
using fake::connect_here;
using fake::connect_to_port;
using fake::RawClient;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string token = "0123456789abcdef0123456789abcdef";
const std::string json = "Content-Type: application/json\r\n";

// The whole stack behind real sockets.
struct House {
  fake::TemporaryDirectory directory;
  std::string path = directory.path + "/s";
  fake::Service service;
  Gate gate{token, 0};
  Rest rest{service.front, gate};
  std::unique_ptr<HttpServer> server;
  std::unique_ptr<Door> door;

  explicit House(std::uint32_t read_within_ms = 5000) {
    server = std::make_unique<HttpServer>(rest, HttpServer::Options{read_within_ms, 2});
    Door::Rooms rooms{
        [](int descriptor, const Peer&) { close(descriptor); },
        [this](int descriptor, const Peer& peer) { server->adopt(descriptor, peer); }};
    auto opened = Door::open({path, "127.0.0.1:0"}, rooms);
    if (opened) door = std::move(*opened);
  }
  ~House() {
    door.reset();
    service.stop();
    server.reset();
  }
  RawClient over_tcp() { return RawClient(connect_to_port(door->tcp_port())); }
  RawClient over_unix() { return RawClient(connect_here(path)); }
};

std::string request(const std::string& method, const std::string& target,
                    const std::string& headers = "", const std::string& body = "",
                    const std::string& host = "localhost") {
  std::string text = method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + headers;
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + body;
}

std::string answer(RawClient client, const std::string& text) {
  client.send(text);
  return client.read_answer();
}

unsigned status(const std::string& answer) {
  if (!answer.starts_with("HTTP/1.1 ")) return 0;
  return static_cast<unsigned>(std::strtoul(answer.c_str() + 9, nullptr, 10));
}

std::string body(const std::string& answer) {
  auto end = answer.find("\r\n\r\n");
  return end == answer.npos ? "" : answer.substr(end + 4);
}

std::string with_token(const std::string& value = token) {
  return "Authorization: Bearer " + value + "\r\n";
}

std::string path_of(const Rest::Route& route) {
  std::string path(route.path);
  if (auto open = path.find("{job}"); open != path.npos) path.replace(open, 5, "0000000000001");
  return path;
}

const std::string job_body = R"({"spec": {"program": "/bin/true"}})";

std::string submit(House& house, const std::string& text = job_body) {
  std::string answered = body(answer(house.over_unix(), request("POST", "/v1/jobs", json, text)));
  auto at = answered.find("\"job\": \"");
  return at == answered.npos ? "refused: " + answered : answered.substr(at + 8, 13);
}

TEST(Http, without_the_token_every_route_and_every_other_path_is_401_on_tcp) {
  House house;
  std::vector<std::pair<std::string, std::string>> asked;
  for (const Rest::Route& route : Rest::routes()) {
    for (const char* method : {"GET", "PUT", "POST", "DELETE", "OPTIONS", "PATCH", "BREW"}) {
      if (!route.open) asked.emplace_back(method, path_of(route));
    }
  }
  asked.insert(asked.end(), {{"GET", "/"},
                             {"GET", "/v1"},
                             {"GET", "/v2/jobs"},
                             {"GET", "/v1/jobs/"},
                             {"POST", "/healthz"},
                             {"GET", "/healthz/x"},
                             {"GET", "/../healthz"},
                             {"GET", "/v1/jobs?%zz"},
                             {"GET", "//healthz"}});
  ASSERT_GT(asked.size(), 60u);
  for (const auto& [method, target] : asked) {
    for (const std::string& header : {std::string(), with_token("wrong")}) {
      std::string refused = answer(house.over_tcp(), request(method, target, header));
      EXPECT_EQ(status(refused), 401u) << method << " " << target << "\n" << refused;
      EXPECT_THAT(refused, HasSubstr("WWW-Authenticate: Bearer"));
    }
  }
}

TEST(Http, an_answer_to_head_has_no_body) {
  House house;
  RawClient client = house.over_tcp();
  client.send(request("HEAD", "/v1/jobs", "Connection: close\r\n"));
  std::string refused = client.read_all();
  EXPECT_EQ(status(refused), 401u);
  EXPECT_EQ(body(refused), "");
}

TEST(Http, with_the_token_tcp_is_served_and_health_needs_none) {
  House house;
  EXPECT_EQ(status(answer(house.over_tcp(), request("GET", "/v1/jobs", with_token()))), 200u);
  std::string health = answer(house.over_tcp(), request("GET", "/healthz"));
  EXPECT_EQ(status(health), 200u);
  EXPECT_EQ(body(health), "ok\n");
}

TEST(Http, foreign_hosts_and_origins_are_refused_for_every_method_even_with_the_token) {
  House house;
  for (const Rest::Route& route : Rest::routes()) {
    for (const char* method : {"GET", "PUT", "POST", "DELETE", "OPTIONS"}) {
      SCOPED_TRACE(std::string(method) + " " + std::string(route.path));
      std::string path = path_of(route);
      EXPECT_EQ(
          status(answer(house.over_tcp(), request(method, path, with_token(), "", "evil.example"))),
          403u);
      EXPECT_EQ(
          status(answer(house.over_tcp(),
                        request(method, path, with_token() + "Origin: http://evil.example\r\n"))),
          403u);
      EXPECT_EQ(status(answer(house.over_tcp(),
                              request(method, path, with_token() + "Origin: null\r\n"))),
                403u);
      EXPECT_EQ(status(answer(house.over_unix(), request(method, path, "", "", "evil.example"))),
                403u);
    }
  }
  std::string own = "Origin: http://127.0.0.1:" + std::to_string(house.door->tcp_port()) + "\r\n";
  EXPECT_EQ(status(answer(house.over_tcp(), request("GET", "/v1/jobs", with_token() + own))), 200u);
}

TEST(Http, a_request_without_host_or_with_two_is_refused) {
  House house;
  EXPECT_EQ(status(answer(house.over_tcp(), "GET /healthz HTTP/1.1\r\n\r\n")), 403u);
  EXPECT_EQ(status(answer(house.over_unix(), "GET /healthz HTTP/1.1\r\n\r\n")), 200u);
  EXPECT_EQ(status(answer(house.over_tcp(), request("GET", "/healthz", "Host: evil.example\r\n"))),
            400u);
  EXPECT_EQ(
      status(answer(house.over_tcp(), request("GET", "/healthz", with_token() + with_token("x")))),
      400u);
}

TEST(Http, the_unix_socket_knows_its_caller_by_uid) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  House house;
  for (std::uint32_t uid : {12345u, 23456u, 12345u, 34567u}) {
    RawClient client(connect_as(house.path, uid));
    client.send(request("POST", "/v1/jobs", json, job_body));
    ASSERT_EQ(status(client.read_answer()), 200u);
    client.send(request("GET", "/v1/jobs/last"));
    std::string view = client.read_answer();
    EXPECT_THAT(view, HasSubstr("\"uid\": " + std::to_string(uid)));
  }
  RawClient stranger(connect_as(house.path, 999));
  stranger.send(request("POST", "/v1/jobs/0000000000001:cancel"));
  EXPECT_EQ(status(stranger.read_answer()), 403u);
}

TEST(Http, a_job_is_submitted_seen_and_canceled) {
  House house;
  std::string job = submit(house);
  ASSERT_EQ(job.size(), 13u) << job;
  std::string view = answer(house.over_unix(), request("GET", "/v1/jobs/" + job));
  EXPECT_EQ(status(view), 200u);
  EXPECT_THAT(view, HasSubstr("\"state\": \"queued\""));
  EXPECT_THAT(view, HasSubstr("no_free_gpus"));
  EXPECT_THAT(answer(house.over_unix(), request("GET", "/v1/jobs?states=queued&limit=5")),
              HasSubstr(job));
  EXPECT_THAT(answer(house.over_unix(), request("GET", "/v1/jobs?states=running")),
              Not(HasSubstr(job)));
  std::string canceled = answer(house.over_unix(), request("POST", "/v1/jobs/" + job + ":cancel"));
  EXPECT_EQ(status(canceled), 200u);
  EXPECT_THAT(canceled, HasSubstr("canceled"));
  EXPECT_THAT(answer(house.over_unix(), request("GET", "/v1/jobs/" + job + "/events")),
              HasSubstr("\"next\": 2"));
}

TEST(Http, a_malformed_body_is_400_with_a_pointer_and_nothing_is_stored) {
  House house;
  struct Row {
    std::string body;
    std::string pointer;
  };
  const Row rows[] = {
      {"null", "object"},
      {"[]", "object"},
      {"3", "object"},
      {"\"x\"", "object"},
      {"{", "line"},
      {"not json", "line"},
      {"{\"spec\": {}}", "program"},
      {"{}", "program"},
      {R"({"spec": {"program": ["x"]}})", "program"},
      {R"({"spec": []})", "spec"},
      {R"({"spek": {}})", "spec"},
      {R"({"spec": {"program": "x", "gang": {"tasks": -1}}})", "gang.tasks"},
      {R"({"spec": {"program": "x", "gang": {"tasks": 1e18}}})", "gang.tasks"},
      {R"({"spec": {"program": "x"}, "key": "a b"})", "key"},
      {"{\"spec\": {\"program\": \"\xff\"}}", "UTF-8"},
      {std::string(20'000, '['), ""},
      {std::string(900'000, ' '), ""},
  };
  for (const Row& row : rows) {
    std::string refused = answer(house.over_unix(), request("POST", "/v1/jobs", json, row.body));
    EXPECT_EQ(status(refused), 400u) << row.body.substr(0, 80) << "\n" << refused;
    EXPECT_THAT(refused, HasSubstr("\"error\"")) << row.body.substr(0, 80);
    EXPECT_THAT(refused, HasSubstr(row.pointer)) << row.body.substr(0, 80);
  }
  EXPECT_EQ(status(answer(house.over_unix(), request("POST", "/v1/jobs", json))), 400u)
      << "no body";
  EXPECT_EQ(house.service.records.job_count(), 0u);
  EXPECT_EQ(submit(house).size(), 13u) << "still alive";
}

TEST(Http, unknown_paths_methods_and_types_have_their_own_status) {
  House house;
  EXPECT_EQ(status(answer(house.over_unix(), request("GET", "/v1/job"))), 404u);
  EXPECT_EQ(status(answer(house.over_unix(), request("GET", "/v1/jobs/zzz"))), 404u);
  std::string method = answer(house.over_unix(), request("DELETE", "/v1/jobs"));
  EXPECT_EQ(status(method), 405u);
  EXPECT_THAT(method, HasSubstr("Allow: POST, GET"));
  EXPECT_EQ(status(answer(house.over_unix(), request("POST", "/v1/jobs", "", job_body))), 415u);
  EXPECT_EQ(status(answer(house.over_unix(),
                          request("POST", "/v1/jobs", "Content-Type: text/plain\r\n", job_body))),
            415u);
  EXPECT_EQ(status(answer(house.over_unix(),
                          request("POST", "/v1/jobs",
                                  "Content-Type: Application/JSON ; charset=utf-8\r\n", job_body))),
            200u);
}

TEST(Http, query_parameters_are_parsed_strictly) {
  House house;
  std::string job = submit(house);
  for (const char* target : {"/v1/jobs?limit=x",
                             "/v1/jobs?limit=",
                             "/v1/jobs?limit=1001",
                             "/v1/jobs?limit=-1",
                             "/v1/jobs?limt=1",
                             "/v1/jobs?limit=1&limit=2",
                             "/v1/jobs?states=sleeping",
                             "/v1/jobs?states",
                             "/v1/jobs?user=%ff",
                             "/v1/jobs?a=%0",
                             "/v1/jobs?limit=1e1",
                             "/v1/jobs?limit=0x10",
                             "/v1/jobs?limit=99999999999",
                             "/v1/jobs?before=zz",
                             "/v1/jobs/0000000000001?job=0000000000001",
                             "/v1/jobs/0000000000001/events?wait_ms=30001",
                             "/v1/jobs/0000000000001/logs?task=1",
                             "/v1/nodes?x=1",
                             "/v1/jobs/%ff",
                             "/v1/jobs/%f"}) {
    std::string refused = answer(house.over_unix(), request("GET", target));
    EXPECT_EQ(status(refused), 400u) << target << "\n" << refused;
  }
  EXPECT_EQ(status(answer(house.over_unix(), request("GET", "/v1/jobs?user=123&before=" + job))),
            200u)
      << "digits may be text";
  EXPECT_EQ(status(answer(house.over_unix(), request("GET", "/v1/jobs/%6c%61st"))), 200u);
  EXPECT_EQ(status(answer(house.over_unix(), request("GET", "/v1/jobs/a%2Fb"))), 404u);
}

TEST(Http, the_key_may_come_by_header_and_must_agree) {
  House house;
  std::string key = "Idempotency-Key: k1\r\n";
  std::string first = answer(house.over_unix(), request("POST", "/v1/jobs", json + key, job_body));
  std::string second = answer(house.over_unix(), request("POST", "/v1/jobs", json + key, job_body));
  EXPECT_THAT(first, HasSubstr("\"existing\": false"));
  EXPECT_THAT(second, HasSubstr("\"existing\": true"));
  std::string both = R"({"spec": {"program": "/bin/true"}, "key": "k1"})";
  EXPECT_EQ(status(answer(house.over_unix(), request("POST", "/v1/jobs", json + key, both))), 200u);
  EXPECT_EQ(status(answer(house.over_unix(),
                          request("POST", "/v1/jobs", json + "Idempotency-Key: k2\r\n", both))),
            400u);
  std::string other = R"({"spec": {"program": "/bin/false"}})";
  EXPECT_EQ(status(answer(house.over_unix(), request("POST", "/v1/jobs", json + key, other))),
            409u);
}

TEST(Http, bodies_over_the_limit_are_refused_whichever_way_they_come) {
  House house;
  std::string large(Rest::body_bytes_max + 1, ' ');
  std::string refused = answer(house.over_unix(), request("POST", "/v1/jobs", json, large));
  EXPECT_EQ(status(refused), 413u);
  std::string chunked =
      "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n" + json + "Transfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 3; ++i) chunked += "80000\r\n" + std::string(0x80000, ' ') + "\r\n";
  EXPECT_EQ(status(answer(house.over_unix(), chunked + "0\r\n\r\n")), 413u);
  std::string small = "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n" + json +
                      "Transfer-Encoding: chunked\r\n\r\n22\r\n" + job_body + "\r\n0\r\n\r\n";
  EXPECT_EQ(status(answer(house.over_unix(), small)), 200u);
  EXPECT_EQ(status(answer(house.over_unix(), request("GET", "/v1/jobs", "", "x"))), 413u)
      << "no body is due";
  EXPECT_EQ(status(answer(house.over_unix(),
                          request("GET", "/healthz", "X: " + std::string(20'000, 'x') + "\r\n"))),
            431u);
}

TEST(Http, a_file_of_the_greatest_size_is_taken) {
  House house(60'000);
  std::string file(limits::file_bytes_max, 'x');
  std::string stored =
      answer(house.over_unix(), request("PUT", "/v1/files", "Expect: 100-continue\r\n", file));
  EXPECT_THAT(stored, StartsWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200"));
  EXPECT_TRUE(house.service.files.has(sha256(file)));
  std::string header = "PUT /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                       std::to_string(file.size() + 1) + "\r\n\r\n";
  EXPECT_EQ(status(answer(house.over_unix(), header)), 413u);
}

TEST(Http, only_so_many_large_bodies_are_taken_at_once) {
  House house;
  std::string header =
      "PUT /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n";
  std::vector<RawClient> uploads;
  for (int i = 0; i < HttpServer::large_bodies_max; ++i) {
    uploads.push_back(house.over_unix());
    uploads.back().send(header);
  }
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(status(answer(house.over_unix(), header)), 429u);
  EXPECT_EQ(status(answer(house.over_unix(), request("PUT", "/v1/files", "", "small"))), 200u);
  uploads.front().send(std::string(2'000'000, 'x'));
  EXPECT_EQ(status(uploads.front().read_answer()), 200u);
  std::string again =
      answer(house.over_unix(), request("PUT", "/v1/files", "", std::string(2'000'000, 'x')));
  EXPECT_EQ(status(again), 200u) << "the room was given back";
}

TEST(Http, what_is_no_http_is_closed_and_hurts_nobody) {
  House house;
  for (const std::string& bytes :
       {std::string("\0\1\2\3garbage\r\n\r\n", 15), std::string("GET\r\n\r\n"),
        std::string("GET / HTTP/9.9\r\n\r\n"), std::string("GET / HTTP/1.1\r\nHost\r\n\r\n"),
        std::string("GET http://evil/ HTTP/1.1\r\nHost: evil\r\n\r\n"),
        request("POST", "/v1/jobs", json + "Content-Length: 5\r\nContent-Length: 6\r\n", "12345"),
        request("POST", "/v1/jobs", json + "Transfer-Encoding: chunked\r\n", job_body),
        request("POST", "/v1/jobs", json + "Content-Length: -1\r\n")}) {
    RawClient client = house.over_unix();
    client.send(bytes);
    std::string refused = client.read_answer(milliseconds(3000));
    EXPECT_TRUE(status(refused) / 100 == 4 || refused.empty()) << bytes << "\n" << refused;
  }
  EXPECT_EQ(house.service.records.job_count(), 0u);
  EXPECT_EQ(status(answer(house.over_unix(), request("GET", "/healthz"))), 200u);
}

TEST(Http, whoever_sends_too_slowly_is_closed) {
  House house(300);
  RawClient header = house.over_unix(), whole = house.over_unix(), idle = house.over_unix();
  header.send("GET /healthz HT");
  whole.send(request("POST", "/v1/jobs", json + "Content-Length: 100\r\n") + "{");
  idle.send(request("GET", "/healthz"));
  EXPECT_EQ(status(idle.read_answer()), 200u);
  auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 20 && header.send("T"); ++i) std::this_thread::sleep_for(milliseconds(50));
  EXPECT_TRUE(header.is_closed_within(milliseconds(3000))) << "bytes now and then do not help";
  EXPECT_TRUE(whole.is_closed_within(milliseconds(3000)));
  EXPECT_TRUE(idle.is_closed_within(milliseconds(3000)));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(4));
}

TEST(Http, connections_are_bounded_and_a_place_becomes_free) {
  rlimit descriptors{};  // both ends are ours here
  getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  setrlimit(RLIMIT_NOFILE, &descriptors);
  House house;
  std::vector<RawClient> many;
  for (std::size_t i = 0; i < HttpServer::connections_max; ++i) {
    many.push_back(house.over_unix());
    many.back().send("GET /");
  }
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(status(answer(house.over_unix(), request("GET", "/healthz"))), 429u);
  many.clear();
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(status(answer(house.over_unix(), request("GET", "/healthz"))), 200u);
}

TEST(Http, a_connection_serves_request_after_request) {
  House house;
  RawClient client = house.over_unix();
  for (int i = 0; i < 3; ++i) {
    client.send(request("GET", "/v1/nodes"));
    EXPECT_EQ(status(client.read_answer()), 200u);
    client.send(request("GET", "/nowhere"));
    EXPECT_EQ(status(client.read_answer()), 404u) << "a refusal without a body ends no connection";
  }
  client.send(request("GET", "/healthz") + request("GET", "/healthz", "Connection: close\r\n"));
  EXPECT_EQ(status(client.read_answer()), 200u);
  EXPECT_EQ(status(client.read_answer()), 200u);
  EXPECT_TRUE(client.is_closed_within(milliseconds(3000)));
}

TEST(Http, a_long_poll_is_answered_by_the_change_and_by_the_end_of_the_server) {
  House house;
  std::string job = submit(house);
  std::string poll = request("GET", "/v1/jobs/" + job + "/events?after=1&wait_ms=30000");
  RawClient first = house.over_unix();
  first.send(poll);
  EXPECT_EQ(first.read_answer(milliseconds(100)), "") << "nothing has happened yet";
  house.service.turns.change(*parse_job_id(job), Admitted{});
  EXPECT_THAT(first.read_answer(), HasSubstr("admitted"));

  RawClient gone = house.over_unix();  // leaves while it waits
  gone.send(poll);
  gone = RawClient(-1);
  RawClient last = house.over_unix();
  last.send(request("GET", "/v1/jobs/" + job + "/events?after=2&wait_ms=30000"));
  EXPECT_EQ(last.read_answer(milliseconds(100)), "");
  house.service.inbox.close();
  house.service.feed.close();
  EXPECT_EQ(status(last.read_answer(milliseconds(3000))), 200u);
}

TEST(Http, when_too_many_wait_a_request_is_busy_and_may_come_again) {
  House house;
  house.service.turns.paused = true;
  std::this_thread::sleep_for(milliseconds(50));
  pb::SubmitRequest waiting;
  waiting.mutable_spec()->set_program("/bin/true");
  for (std::size_t i = 0; i < Inbox::requests_max; ++i) {
    house.service.front.submit({Caller::Door::local, 1, 1, false}, waiting, [](auto) {});
  }
  std::string refused = answer(house.over_unix(), request("POST", "/v1/jobs", json, job_body));
  EXPECT_EQ(status(refused), 429u);
  EXPECT_THAT(refused, HasSubstr("Retry-After: 1"));
  house.service.turns.paused = false;
}

}  // namespace
}  // namespace keel
