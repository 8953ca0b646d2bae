#include "connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "failure.h"

namespace keel::digits {
namespace {

using Resolved = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

std::string written(const Address& address) {
  return address.host + ":" + std::to_string(address.port);
}

Resolved resolve(const Address& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0)
    throw Failure("cannot resolve " + written(address) + ": " + ::gai_strerror(error));
  return {found, &::freeaddrinfo};
}

Socket open_for(const addrinfo& resolved) {
  Socket socket(::socket(resolved.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0) throw Failure(std::string("cannot open a socket: ") + std::strerror(errno));
  return socket;
}

// Small messages go back and forth in lockstep, which Nagle's algorithm would delay.
void send_at_once(const Socket& socket) {
  const int on = 1;
  (void)::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // Only speed is lost.
}

// False when the deadline passed first.
bool wait_for(const Socket& socket, short events, SteadyTime deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd watched{.fd = socket.fd(), .events = events, .revents = 0};
    const int ready =
        ::poll(&watched, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) throw Failure(std::string("cannot poll: ") + std::strerror(errno));
  }
}

// Calls `transfer` on what is left of the span until nothing is.
template <typename Span, typename Transfer>
std::optional<Broken> transfer_all(const Socket& socket, Span bytes, short events,
                                   SteadyTime deadline, Transfer transfer) {
  while (!bytes.empty()) {
    if (!wait_for(socket, events, deadline)) return Broken::silent;
    const ssize_t moved = transfer(bytes);
    if (moved > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(moved));
    } else if (moved == 0 || (errno != EAGAIN && errno != EINTR)) {
      return Broken::closed;
    }
  }
  return std::nullopt;
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

Socket::Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Socket listen_at(const Address& address) {
  const Resolved resolved = resolve(address);
  Socket socket = open_for(*resolved);
  const int on = 1;
  // A port that a previous attempt used a moment ago is still ours.
  (void)::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.fd(), resolved->ai_addr, resolved->ai_addrlen) != 0 ||
      ::listen(socket.fd(), SOMAXCONN) != 0) {
    throw Failure("cannot listen at " + written(address) + ": " + std::strerror(errno));
  }
  return socket;
}

std::optional<Socket> accept_one(const Socket& listener, SteadyTime deadline) {
  if (!wait_for(listener, POLLIN, deadline)) return std::nullopt;
  Socket caller(::accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (caller.fd() < 0) return std::nullopt;  // It hung up meanwhile.
  send_at_once(caller);
  return caller;
}

std::optional<Socket> connect_once(const Address& address, SteadyTime deadline) {
  const Resolved resolved = resolve(address);
  Socket socket = open_for(*resolved);
  if (::connect(socket.fd(), resolved->ai_addr, resolved->ai_addrlen) != 0) {
    if (errno != EINPROGRESS || !wait_for(socket, POLLOUT, deadline)) return std::nullopt;
    int error = 0;
    socklen_t size = sizeof error;
    (void)::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return std::nullopt;
  }
  send_at_once(socket);
  return socket;
}

std::optional<Broken> send_all(const Socket& socket, std::span<const std::byte> bytes,
                               SteadyTime deadline) {
  return transfer_all(socket, bytes, POLLOUT, deadline, [&](std::span<const std::byte> rest) {
    return ::send(socket.fd(), rest.data(), rest.size(), MSG_NOSIGNAL);
  });
}

std::optional<Broken> receive_all(const Socket& socket, std::span<std::byte> bytes,
                                  SteadyTime deadline) {
  return transfer_all(socket, bytes, POLLIN, deadline, [&](std::span<std::byte> rest) {
    return ::recv(socket.fd(), rest.data(), rest.size(), 0);
  });
}

}  // namespace keel::digits
