#include "adapters/client/users_client.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "keel/v1/api.grpc.pb.h"
#include "wire/tree.h"

namespace keel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Code = ClientError::Code;

class Service final : public v1::Users::Service {
 public:
  grpc::Status status;
  std::chrono::milliseconds delay{0};
  std::string authorization;
  int calls = 0;

  grpc::Status GetJob(grpc::ServerContext* call, const v1::GetJobRequest* request,
                      v1::JobView* answer) override {
    ++calls;
    const auto sent = call->client_metadata().find("authorization");
    if (sent != call->client_metadata().end()) {
      authorization = std::string(sent->second.data(), sent->second.size());
    }
    for (auto slept = delay; slept.count() > 0 && !call->IsCancelled();
         slept -= std::chrono::milliseconds(10)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    answer->mutable_job()->set_id(request->job());
    return status;
  }
};

class UsersClientTest : public testing::Test {
 protected:
  UsersClientTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "keel-client-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    start();
  }
  ~UsersClientTest() override {
    stop();
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
  }
  std::string address() const { return "unix:" + directory_ + "/s"; }
  void start() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address(), grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  void stop() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }
  static v1::GetJobRequest job(const std::string& id) {
    v1::GetJobRequest request;
    request.set_job(id);
    return request;
  }

  std::string directory_;
  Service service_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(UsersClientTest, an_answer_is_given_and_the_token_sent) {
  UsersClient client({.address = address(), .token = "secret"});
  const auto view = client.get_job(job("7"));
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->job().id(), "7");
  EXPECT_EQ(service_.authorization, "Bearer secret");
}

TEST_F(UsersClientTest, a_refusal_carries_the_servers_words) {
  v1::ApiError said;
  said.set_code("invalid");
  said.set_field("gang.tasks");
  said.add_also()->set_field("cpu");
  service_.status = {grpc::StatusCode::INVALID_ARGUMENT, "no", print_json(said)};
  UsersClient client({.address = address()});
  const auto view = client.get_job(job("7"));
  ASSERT_FALSE(view.has_value());
  EXPECT_EQ(view.error().code, Code::refused);
  EXPECT_EQ(view.error().error.field(), "gang.tasks");
  EXPECT_EQ(view.error().error.also(0).field(), "cpu");
  EXPECT_EQ(service_.authorization, "");
}

TEST_F(UsersClientTest, a_refusal_without_details_still_has_words) {
  service_.status = {grpc::StatusCode::UNIMPLEMENTED, "no such\x1b method", "not json"};
  UsersClient client({.address = address()});
  const auto view = client.get_job(job("7"));
  ASSERT_FALSE(view.has_value());
  EXPECT_EQ(view.error().code, Code::refused);
  EXPECT_THAT(view.error().error.help(), HasSubstr("no such\\x1b method"));
}

TEST_F(UsersClientTest, where_nobody_listens_nothing_was_sent) {
  stop();
  UsersClient client({.address = address()});
  const auto began = std::chrono::steady_clock::now();
  const auto view = client.get_job(job("7"));
  ASSERT_FALSE(view.has_value());
  EXPECT_EQ(view.error().code, Code::unreachable);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(4));
}

TEST_F(UsersClientTest, who_listens_and_is_slow_to_greet_is_not_called_absent) {
  const std::string path = directory_ + "/slow";
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  UsersClient client({.address = "unix:" + path, .connect_within = milliseconds(1500)});
  const auto view = client.get_job(job("7"));
  ::close(listener);
  ASSERT_FALSE(view.has_value());
  EXPECT_EQ(view.error().code, Code::cut);
}

TEST_F(UsersClientTest, a_connection_that_breaks_leaves_the_outcome_open) {
  service_.delay = std::chrono::seconds(10);
  UsersClient client({.address = address()});
  std::thread breaker([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    stop();
  });
  const auto view = client.get_job(job("7"));
  breaker.join();
  ASSERT_FALSE(view.has_value());
  EXPECT_EQ(view.error().code, Code::cut);
  EXPECT_EQ(service_.calls, 1);
}

TEST_F(UsersClientTest, an_answer_that_takes_too_long_leaves_the_outcome_open) {
  service_.delay = std::chrono::seconds(10);
  UsersClient client({.address = address(), .answer_within = milliseconds(200)});
  const auto view = client.get_job(job("7"));
  ASSERT_FALSE(view.has_value());
  EXPECT_EQ(view.error().code, Code::cut);
}

TEST_F(UsersClientTest, a_server_that_comes_back_is_found_again) {
  UsersClient client({.address = address()});
  ASSERT_TRUE(client.get_job(job("7")).has_value());
  stop();
  ASSERT_FALSE(client.get_job(job("7")).has_value());
  start();
  bool found = false;
  for (int i = 0; i < 50 && !found; ++i) {
    found = client.get_job(job("7")).has_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace keel
