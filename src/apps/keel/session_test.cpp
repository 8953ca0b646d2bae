#include "apps/keel/session.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace keel::cli {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    std::string pattern = (fs::temp_directory_path() / "keel-session-XXXXXX").string();
    home_ = ::mkdtemp(pattern.data());
  }
  ~SessionTest() override {
    std::error_code error;
    fs::remove_all(home_, error);
  }
  std::string file(const std::string& name, const std::string& content) {
    fs::create_directories((home_ / name).parent_path());
    std::ofstream(home_ / name) << content;
    return (home_ / name).string();
  }
  fs::path home_;
};

TEST_F(SessionTest, the_socket_is_the_one_named_most_closely) {
  EXPECT_EQ(target_of({}, {})->address, "unix:/run/keel/keeld.sock");
  EXPECT_EQ(target_of({}, {.runtime = home_.string()})->address, "unix:/run/keel/keeld.sock");
  const std::string own = file("keel/keeld.sock", "");
  EXPECT_EQ(target_of({}, {.runtime = home_.string()})->address, "unix:" + own);
  EXPECT_EQ(target_of({}, {.socket = "/e", .runtime = home_.string()})->address, "unix:/e");
  EXPECT_EQ(target_of({.socket = "/s"}, {.socket = "/e"})->address, "unix:/s");
  EXPECT_EQ(target_of({.server = "unix:/t"}, {.socket = "/e"})->address, "unix:/t");
}

TEST_F(SessionTest, a_path_that_no_socket_can_have_is_refused_at_once) {
  EXPECT_TRUE(target_of({.socket = "/" + std::string(106, 'x')}, {}).has_value());
  EXPECT_THAT(target_of({.socket = "/" + std::string(107, 'x')}, {}).error(),
              HasSubstr("1 to 107 bytes"));
  EXPECT_THAT(target_of({.server = "unix:" + std::string(108, 'x')}, {}).error(),
              HasSubstr("has 108"));
  EXPECT_THAT(target_of({.server = "unix:"}, {}).error(), HasSubstr("has 0"));
}

TEST_F(SessionTest, a_server_by_tcp_needs_a_token_and_is_on_this_host) {
  const std::string token = file("token", "secret-1\n");
  EXPECT_EQ(target_of({.server = "127.0.0.1:80", .token_file = token}, {})->token, "secret-1");
  EXPECT_EQ(target_of({.server = "localhost:80"}, {.token_file = token})->token, "secret-1");
  EXPECT_THAT(target_of({.server = "127.0.0.1:80"}, {}).error(), HasSubstr("--token-file"));
  for (const char* server : {"10.0.0.1:80", "example.org:80", "127.0.0.1", "127.0.0.1:", "x"}) {
    EXPECT_FALSE(target_of({.server = server, .token_file = token}, {}).has_value()) << server;
  }
  for (const char* content : {"", "\n", "two words", "a\nb\n"}) {
    const std::string bad = file("bad", content);
    EXPECT_FALSE(target_of({.server = "[::1]:80", .token_file = bad}, {}).has_value()) << content;
  }
  EXPECT_THAT(target_of({.server = "[::1]:80", .token_file = "/no/such"}, {}).error(),
              HasSubstr("/no/such"));
}

}  // namespace
}  // namespace keel::cli
