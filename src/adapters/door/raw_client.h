// For tests of the doors: bytes out, bytes in, as somebody.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "adapters/door/descriptor.h"

namespace keel::fake {

// A directory that everybody may pass through, gone at the end.
struct TemporaryDirectory {
  std::string path;

  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "keel-door-XXXXXX").string();
    path = mkdtemp(pattern.data());
    chmod(path.c_str(), 0755);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
};

inline int connect_here(const std::string& path) {
  int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (connect(connection, generic, sizeof address) == 0) return connection;
  close(connection);
  return -1;
}

// A connection to the Unix socket at `path`, made by a person with this uid (as root only). The
// system call changes one thread and not, as glibc's function, the whole program.
inline int connect_as(const std::string& path, std::optional<std::uint32_t> uid) {
  if (!uid) return connect_here(path);
  int connection = -1;
  std::thread person([&] {
    constexpr auto unchanged = static_cast<std::uint32_t>(-1);
    if (syscall(SYS_setresgid, unchanged, *uid, unchanged) != 0) return;
    if (syscall(SYS_setresuid, unchanged, *uid, unchanged) != 0) return;
    connection = connect_here(path);
  });
  person.join();
  return connection;
}

inline int connect_to_port(std::uint16_t port) {
  int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (connect(connection, generic, sizeof address) == 0) return connection;
  close(connection);
  return -1;
}

class RawClient {
 public:
  explicit RawClient(int connection) : connection_(connection) {}

  bool is_connected() const { return connection_.is_open(); }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t sent = ::send(connection_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // Everything until the other side closes, or until `within` has passed.
  std::string read_all(std::chrono::milliseconds within = std::chrono::seconds(10)) {
    while (read_some(within)) {
    }
    return std::exchange(received_, "");
  }

  // One HTTP answer, by its Content-Length; whatever came where there is none.
  std::string read_answer(std::chrono::milliseconds within = std::chrono::seconds(10)) {
    while (answer_size() > received_.size() && read_some(within)) {
    }
    std::size_t size = std::min(answer_size(), received_.size());
    std::string answer = received_.substr(0, size);
    received_.erase(0, size);
    return answer;
  }

  // Whether the other side has closed within that time.
  bool is_closed_within(std::chrono::milliseconds within) {
    auto end = std::chrono::steady_clock::now() + within;
    while (std::chrono::steady_clock::now() < end) {
      if (!read_some(within)) return closed_;
    }
    return closed_;
  }

 private:
  bool read_some(std::chrono::milliseconds within) {
    pollfd waiting{connection_.get(), POLLIN, 0};
    if (closed_ || poll(&waiting, 1, static_cast<int>(within.count())) <= 0) return false;
    char bytes[16384];
    ssize_t got = recv(connection_.get(), bytes, sizeof bytes, 0);
    closed_ = got <= 0;
    if (got > 0) received_.append(bytes, static_cast<std::size_t>(got));
    return got > 0;
  }

  std::size_t answer_size() const {
    constexpr std::string_view end = "\r\n\r\n", field = "Content-Length: ";
    auto header = received_.find(end);
    auto length = received_.find(field);
    if (header == received_.npos || length > header) return SIZE_MAX;
    return header + end.size() +
           std::strtoul(received_.c_str() + length + field.size(), nullptr, 10);
  }

  Descriptor connection_;
  std::string received_;
  bool closed_{};
};

}  // namespace keel::fake
