#include "adapters/door/door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <fstream>
#include <mutex>

#include "adapters/door/listen.h"
#include "adapters/door/raw_client.h"

namespace keel {
namespace {

using fake::connect_as;
using fake::connect_here;
using fake::connect_to_port;
using fake::RawClient;
using fake::TemporaryDirectory;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// A door whose rooms write down who came, answer with their own name and close.
struct Hall {
  TemporaryDirectory directory;
  std::string path = directory.path + "/keel.sock";
  std::mutex mutex;
  std::vector<Peer> peers;
  std::unique_ptr<Door> door;

  explicit Hall(std::uint32_t within_ms = 5000) {
    Door::Options options{path, "127.0.0.1:0", within_ms};
    auto room = [this](const char* name) {
      return [this, name](int descriptor, const Peer& peer) {
        {
          std::lock_guard lock(mutex);
          peers.push_back(peer);
        }
        (void)!write(descriptor, name, std::strlen(name));
        close(descriptor);
      };
    };
    auto opened = Door::open(options, {room("grpc"), room("http")});
    if (opened) door = std::move(*opened);
  }
  Peer last_peer() {
    std::lock_guard lock(mutex);
    return peers.empty() ? Peer{} : peers.back();
  }
};

std::string told(RawClient client, const std::string& bytes) {
  client.send(bytes);
  return client.read_all();
}

TEST(Door, the_first_bytes_choose_the_protocol_on_both_sockets) {
  Hall hall;
  ASSERT_TRUE(hall.door);
  for (bool tcp : {false, true}) {
    SCOPED_TRACE(tcp ? "TCP" : "Unix");
    auto client = [&] {
      return RawClient(tcp ? connect_to_port(hall.door->tcp_port()) : connect_here(hall.path));
    };
    EXPECT_EQ(told(client(), preface), "grpc");
    EXPECT_EQ(told(client(), "GET / HTTP/1.1\r\n\r\n"), "http");
    EXPECT_EQ(told(client(), "PUT / HTTP/1.1\r\n\r\n"), "http") << "begins like the preface";
    EXPECT_EQ(told(client(), std::string("\0\1\2garbage", 10)), "http");
    EXPECT_EQ(told(client(), "PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n"), "http");
  }
}

TEST(Door, a_preface_in_pieces_is_put_together) {
  Hall hall;
  ASSERT_TRUE(hall.door);
  RawClient client(connect_here(hall.path));
  for (char c : preface) {
    client.send(std::string(1, c));
    std::this_thread::sleep_for(milliseconds(2));
  }
  EXPECT_EQ(client.read_all(), "grpc");
}

TEST(Door, the_kernel_says_who_is_there) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  Hall hall;
  ASSERT_TRUE(hall.door);
  for (std::uint32_t uid : {12345u, 0u, 54321u}) {
    RawClient client(connect_as(hall.path, uid));
    ASSERT_TRUE(client.is_connected()) << "everybody may connect";
    EXPECT_EQ(told(std::move(client), "GET"), "http");
    EXPECT_EQ(hall.last_peer().uid, uid);
    EXPECT_EQ(hall.last_peer().gid, uid);
    EXPECT_EQ(hall.last_peer().kind, Peer::Kind::unix_socket);
  }
  EXPECT_EQ(told(RawClient(connect_to_port(hall.door->tcp_port())), "GET"), "http");
  EXPECT_EQ(hall.last_peer().kind, Peer::Kind::loopback_tcp);
  EXPECT_EQ(hall.last_peer().port, hall.door->tcp_port());
}

TEST(Door, whoever_says_nothing_is_closed_and_holds_up_nobody) {
  Hall hall(200);
  ASSERT_TRUE(hall.door);
  RawClient silent(connect_here(hall.path)), half(connect_here(hall.path));
  half.send("PRI * HT");
  EXPECT_EQ(told(RawClient(connect_here(hall.path)), "GET"), "http");
  EXPECT_FALSE(silent.is_closed_within(milliseconds(20)));
  EXPECT_TRUE(silent.is_closed_within(milliseconds(3000)));
  EXPECT_TRUE(half.is_closed_within(milliseconds(3000)));
}

TEST(Door, a_crowd_that_says_nothing_cannot_keep_others_out) {
  Hall hall(60'000);
  ASSERT_TRUE(hall.door);
  std::vector<RawClient> crowd;
  for (std::size_t i = 0; i < Door::undecided_max + 50; ++i)
    crowd.emplace_back(connect_here(hall.path));
  EXPECT_EQ(told(RawClient(connect_here(hall.path)), "GET"), "http");
  EXPECT_TRUE(crowd.front().is_closed_within(milliseconds(3000))) << "the oldest goes first";
  EXPECT_FALSE(crowd.back().is_closed_within(milliseconds(20)));
}

TEST(Door, a_dead_servers_socket_is_replaced_and_a_living_ones_is_not) {
  TemporaryDirectory directory;
  std::string path = directory.path + "/s";
  Door::Rooms rooms{[](int fd, const Peer&) { close(fd); }, [](int fd, const Peer&) { close(fd); }};
  {
    Descriptor dead(socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    ASSERT_EQ(bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  auto first = Door::open({path, {}}, rooms);
  ASSERT_TRUE(first) << first.error();
  auto second = Door::open({path, {}}, rooms);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error(), HasSubstr("another server"));
  EXPECT_TRUE(RawClient(connect_here(path)).is_connected()) << "the first one was not disturbed";
  first->reset();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(Door::open({path, {}}, rooms));
}

TEST(Door, a_server_that_holds_no_lock_of_ours_is_still_not_replaced) {
  TemporaryDirectory directory;
  std::string path = directory.path + "/s";
  auto foreign = listen_locally(path);
  ASSERT_TRUE(foreign);
  foreign->lock.close();
  auto refused = listen_locally(path);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("answers"));
}

TEST(Door, a_file_that_is_no_socket_is_left_alone) {
  TemporaryDirectory directory;
  std::string path = directory.path + "/s";
  std::ofstream(path) << "precious";
  EXPECT_FALSE(listen_locally(path));
  EXPECT_EQ(std::filesystem::file_size(path), 8u);
  EXPECT_FALSE(listen_locally(directory.path + "/" + std::string(200, 'x'))) << "too long";
}

TEST(Door, nothing_listens_beyond_loopback) {
  for (const char* address : {"0.0.0.0:0", "[::]:0", "192.0.2.1:0", "localhost:0", ":0",
                              "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
                              "127.0.0.1:-1", "127.0.0.2:0", "[::1]", "::1:0", "[::1]:0 ", ""}) {
    auto refused = listen_on_loopback(address);
    ASSERT_FALSE(refused) << address;
    EXPECT_THAT(refused.error(), HasSubstr("loopback"));
  }
  auto open = listen_on_loopback("127.0.0.1:0");
  ASSERT_TRUE(open);
  EXPECT_GT(open->port, 0);
  EXPECT_FALSE(listen_on_loopback("127.0.0.1:" + std::to_string(open->port))) << "taken";
}

}  // namespace
}  // namespace keel
