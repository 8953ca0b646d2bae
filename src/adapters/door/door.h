// Where connections come in: one Unix socket and, if asked for, one loopback TCP address. Each
// serves gRPC and HTTP/1.1 alike: the first bytes tell which.
//
//   accept ─▶ who is it (SO_PEERCRED) ─▶ peek ─┬─ "PRI * HTTP/2.0…" ─▶ Rooms::grpc
//                                              └─ anything else ─────▶ Rooms::http
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "adapters/door/peer.h"
#include "base/result.h"

namespace keel {

class Door {
 public:
  static constexpr int first_bytes_within_s = 10;  // a connection that says nothing is closed then
  static constexpr std::size_t undecided_max = 256;  // beyond that the one that waits longest goes

  struct Options {
    std::string socket_path;
    std::optional<std::string> tcp_address;  // "127.0.0.1:PORT" or "[::1]:PORT"
    std::uint32_t first_bytes_within_ms = first_bytes_within_s * 1000;
  };

  // Each takes over the descriptor, which is non-blocking and has nothing read from it yet. They
  // run on the door's thread and must not block.
  struct Rooms {
    std::function<void(int descriptor, const Peer& peer)> grpc;
    std::function<void(int descriptor, const Peer& peer)> http;
  };

  // Errors are for the operator and final: another server lives at the socket, the address is not
  // loopback, the port is taken.
  static Result<std::unique_ptr<Door>, std::string> open(const Options& options, Rooms rooms);

  // Closes: accepts nobody any more and removes the socket file. Rooms are not called afterwards.
  ~Door();

  std::uint16_t tcp_port() const;  // 0 where there is no TCP address

 private:
  struct Inside;
  explicit Door(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace keel
