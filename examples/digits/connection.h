// TCP with deadlines: nothing here waits longer than it was told.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace keel::digits {

using SteadyTime = std::chrono::steady_clock::time_point;

// A descriptor that is closed with its owner.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket();
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;

  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

struct Address {
  std::string host;
  std::uint16_t port;
};

// Throws Failure where the address does not exist here or is taken.
Socket listen_at(const Address& address);

// The next caller, or nothing before the deadline.
std::optional<Socket> accept_one(const Socket& listener, SteadyTime deadline);

// One attempt; nothing where it was refused or the deadline passed. Throws Failure for a name that
// is none.
std::optional<Socket> connect_once(const Address& address, SteadyTime deadline);

// Why a transfer did not end well.
enum class Broken {
  closed,  // The other end is gone.
  silent,  // The deadline passed.
};

// The whole span or an answer why not. Signals do not interrupt them.
std::optional<Broken> send_all(const Socket& socket, std::span<const std::byte> bytes,
                               SteadyTime deadline);
std::optional<Broken> receive_all(const Socket& socket, std::span<std::byte> bytes,
                                  SteadyTime deadline);

}  // namespace keel::digits
