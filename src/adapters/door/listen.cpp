#include "adapters/door/listen.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace keel {
namespace {

constexpr int backlog = 1024;

std::string because(const std::string& what) { return what + ": " + std::strerror(errno); }

// sockaddr_* are told apart by their family, which is how the interface is meant to be used.
template <class Address>
const sockaddr* as_sockaddr(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

Result<sockaddr_un, std::string> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return "socket path " + path + ": must have 1 to " +
           std::to_string(sizeof(address.sun_path) - 1) + " bytes";
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// Removes what an earlier server left at `path`, unless somebody answers there.
Result<Done, std::string> clear(const std::string& path, const sockaddr_un& address) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return Done{};
    return because(path);
  }
  if (!S_ISSOCK(status.st_mode)) return path + ": there is a file that is no socket";
  Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.is_open()) return because("socket");
  if (connect(probe.get(), as_sockaddr(address), sizeof address) == 0 || errno != ECONNREFUSED) {
    return path + ": another server answers there";
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return because(path);
  return Done{};
}

struct Loopback {
  sockaddr_storage address{};
  socklen_t size{};
};

std::optional<Loopback> parse_loopback(std::string_view text) {
  constexpr std::string_view four = "127.0.0.1:", six = "[::1]:";
  bool is_four = text.starts_with(four);
  if (!is_four && !text.starts_with(six)) return std::nullopt;
  text.remove_prefix(is_four ? four.size() : six.size());
  std::uint16_t port{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;

  Loopback parsed;
  if (is_four) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    parsed.size = sizeof address;
    std::memcpy(&parsed.address, &address, sizeof address);
  } else {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    address.sin6_addr = in6addr_loopback;
    parsed.size = sizeof address;
    std::memcpy(&parsed.address, &address, sizeof address);
  }
  return parsed;
}

Result<std::uint16_t, std::string> port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return because("getsockname");
  }
  // The port stands at the same place in both families.
  sockaddr_in four{};
  std::memcpy(&four, &address, sizeof four);
  return static_cast<std::uint16_t>(ntohs(four.sin_port));
}

}  // namespace

Result<LocalListener, std::string> listen_locally(const std::string& path) {
  TRY(address, address_of(path));
  // Two servers that start at once would each find nobody and remove the other's socket.
  std::string lock_path = path + ".lock";
  Descriptor lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.is_open()) return because(lock_path);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return path + ": another server holds it";
  TRY(cleared, clear(path, address));

  Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.is_open()) return because("socket");
  if (bind(listener.get(), as_sockaddr(address), sizeof address) != 0) return because(path);
  if (chmod(path.c_str(), 0666) != 0) return because(path);
  if (listen(listener.get(), backlog) != 0) return because(path);
  return LocalListener{std::move(listener), std::move(lock)};
}

Result<TcpListener, std::string> listen_on_loopback(std::string_view text) {
  auto loopback = parse_loopback(text);
  if (!loopback) {
    return std::string(text) +
           ": must be 127.0.0.1:PORT or [::1]:PORT; without TLS nothing listens beyond loopback";
  }
  int family = loopback->address.ss_family;
  Descriptor listener(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.is_open()) return because("socket");
  int yes = 1;  // a restart need not wait for old connections to time out
  (void)setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listener.get(), as_sockaddr(loopback->address), loopback->size) != 0 ||
      listen(listener.get(), backlog) != 0) {
    return because(std::string(text));
  }
  TRY(port, port_of(listener.get()));
  return TcpListener{std::move(listener), port};
}

}  // namespace keel
