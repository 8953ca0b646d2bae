#include "adapters/door/gate.h"

#include <gtest/gtest.h>

namespace keel {
namespace {

const std::string token = "0123456789abcdef0123456789abcdef";
const Gate gate(token, 500);
constexpr Peer tcp{Peer::Kind::loopback_tcp, 0, 0, 8080};
constexpr Peer local{Peer::Kind::unix_socket, 1001, 1002, 0};

TEST(Gate, the_local_socket_tells_who_calls_whatever_they_say) {
  for (const std::string& said : {std::string(), "Bearer " + token, std::string("Bearer x")}) {
    auto caller = gate.admit(local, said);
    ASSERT_TRUE(caller);
    EXPECT_EQ(caller->door, Caller::Door::local);
    EXPECT_EQ(caller->uid, 1001u);
    EXPECT_EQ(caller->gid, 1002u);
    EXPECT_FALSE(caller->is_operator);
  }
}

TEST(Gate, root_and_the_servers_own_user_are_operators_and_may_be_agents) {
  struct Row {
    std::uint32_t uid;
    bool yes;
  };
  for (auto [uid, yes] : {Row{0, true}, Row{500, true}, Row{501, false}, Row{65534, false}}) {
    SCOPED_TRACE(uid);
    auto caller = gate.admit({Peer::Kind::unix_socket, uid, uid, 0}, "");
    ASSERT_TRUE(caller);
    EXPECT_EQ(caller->is_operator, yes);
    EXPECT_EQ(gate.may_be_agent(*caller), yes);
  }
}

TEST(Gate, tcp_takes_exactly_the_token) {
  auto caller = gate.admit(tcp, "Bearer " + token);
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->door, Caller::Door::token);
  EXPECT_TRUE(caller->is_operator);
  for (const std::string& said :
       {std::string(), token, "Basic " + token, std::string("Bearer"), std::string("Bearer "),
        "Bearer " + token + "0", "Bearer " + token.substr(1), "Bearer  " + token,
        "Bearer " + token + " ", "Bearer " + std::string(32, '\0'),
        std::string("Bearer 0123456789ABCDEF0123456789ABCDEF")}) {
    auto refused = gate.admit(tcp, said);
    ASSERT_FALSE(refused) << said;
    EXPECT_EQ(refused.error().code(), "unauthenticated");
    EXPECT_EQ(refused.error().ShortDebugString().find(token), std::string::npos);
  }
}

TEST(Gate, only_names_of_this_host_are_answered_to) {
  struct Row {
    const char* host;
    bool on_tcp;
    bool on_unix;
  };
  for (auto [host, on_tcp, on_unix] :
       {Row{"localhost", true, true}, Row{"LocalHost:8080", true, true},
        Row{"127.0.0.1", true, true}, Row{"127.0.0.1:1", true, true}, Row{"[::1]", true, true},
        Row{"[::1]:8080", true, true}, Row{"", false, true}, Row{"evil.example", false, false},
        Row{"localhost.evil.example", false, false},
        Row{"127.0.0.1.evil.example:8080", false, false}, Row{"localhost:", false, false},
        Row{"localhost:x", false, false}, Row{"localhost:99999", false, false},
        Row{"localhost@evil", false, false}, Row{"::1", false, false}, Row{"0.0.0.0", false, false},
        Row{"localhost:8080:1", false, false}, Row{" localhost", false, false}}) {
    SCOPED_TRACE(host);
    EXPECT_EQ(!Gate::wrong_host(tcp, host), on_tcp);
    EXPECT_EQ(!Gate::wrong_host(local, host), on_unix);
  }
}

TEST(Gate, only_this_servers_own_pages_may_call) {
  struct Row {
    const char* origin;
    bool ours;
  };
  for (auto [origin, ours] :
       {Row{"http://localhost:8080", true}, Row{"http://127.0.0.1:8080", true},
        Row{"http://[::1]:8080", true}, Row{"http://localhost", false},
        Row{"http://localhost:8081", false}, Row{"https://localhost:8080", false},
        Row{"null", false}, Row{"", false}, Row{"http://evil.example", false},
        Row{"http://evil.example:8080", false}, Row{"http://localhost:8080.evil.example", false},
        Row{"http://localhost:8080/", false}}) {
    SCOPED_TRACE(origin);
    EXPECT_EQ(!Gate::wrong_origin(tcp, origin), ours);
    EXPECT_TRUE(Gate::wrong_origin(local, origin)) << "no page reaches a Unix socket";
  }
}

TEST(Peers, a_peer_is_found_by_the_name_that_grpc_gives_it) {
  Peers peers;
  peers.note(7, local);
  ASSERT_TRUE(peers.find("fd:7"));
  EXPECT_EQ(peers.find("fd:7")->uid, 1001u);
  peers.note(7, {Peer::Kind::unix_socket, 2, 2, 0});
  EXPECT_EQ(peers.find("fd:7")->uid, 2u) << "the number went to another connection";
  for (const char* name :
       {"fd:8", "fd:", "fd:7x", "fd: 7", "7", "", "unix:7", "ipv4:127.0.0.1:7"}) {
    EXPECT_FALSE(peers.find(name)) << name;
  }
}

}  // namespace
}  // namespace keel
