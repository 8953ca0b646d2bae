// The other end of a connection, as the kernel tells it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace keel {

struct Peer {
  enum class Kind : std::uint8_t { unix_socket, loopback_tcp };
  Kind kind{};
  std::uint32_t uid{};   // unix_socket: of the process that connected, when it did
  std::uint32_t gid{};   // likewise
  std::uint16_t port{};  // loopback_tcp: ours
};

// The peers of open connections by descriptor, for gRPC, which names a connection's peer "fd:N".
//
// A number is noted before gRPC gets the connection, and overwritten when the kernel gives the
// number to the next one. It cannot do so while a call of the old connection is alive: the call
// holds its stream, the stream the transport, and the transport the open descriptor. So a call that
// looks up its own connection finds the right peer. All calls: any thread.
class Peers {
 public:
  void note(int descriptor, const Peer& peer);

  // The peer of the connection that gRPC calls `name`; nothing for any that was never noted.
  std::optional<Peer> find(std::string_view name) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<int, Peer> peers_;
};

}  // namespace keel
