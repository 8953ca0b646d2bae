// Sockets that listen: the local one, and at most one on loopback.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "adapters/door/descriptor.h"
#include "base/result.h"

namespace keel {

struct LocalListener {
  Descriptor socket;
  Descriptor lock;  // held as long as the socket is ours
};

// Listens at `path`, open to everybody on the host (who they are, the kernel tells). A socket file
// that nobody answers on is replaced. Refused, in words for the operator: another server that
// lives, a file that is no socket, a path too long for a socket.
Result<LocalListener, std::string> listen_locally(const std::string& path);

struct TcpListener {
  Descriptor socket;
  std::uint16_t port{};
};

// Listens at "127.0.0.1:PORT" or "[::1]:PORT"; port 0 lets the kernel choose. Any other address is
// refused: without TLS nothing listens beyond loopback.
Result<TcpListener, std::string> listen_on_loopback(std::string_view address);

}  // namespace keel
