#include "tests/e2e/http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace keel::e2e {
namespace {

constexpr timeval answer_within{.tv_sec = 60, .tv_usec = 0};

template <class Form>
bool connect_to(int fd, const Form& form) {
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&form), sizeof form) == 0;
}

// -1 where nobody listens.
int connection_to(const Address& address) {
  const int fd = ::socket(address.port ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool connected = false;
  if (address.port) {
    sockaddr_in form{};
    form.sin_family = AF_INET;
    form.sin_port = htons(static_cast<std::uint16_t>(address.port));
    form.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected = connect_to(fd, form);
  } else {
    sockaddr_un form{};
    form.sun_family = AF_UNIX;
    std::strncpy(form.sun_path, address.socket.c_str(), sizeof form.sun_path - 1);
    connected = connect_to(fd, form);
  }
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &answer_within, sizeof answer_within);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &answer_within, sizeof answer_within);
  if (connected) return fd;
  ::close(fd);
  return -1;
}

// A server that refuses a body does not read it to its end: what it answers is read all the same.
void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string read_all(int fd) {
  std::string bytes;
  std::array<char, 1 << 16> part;
  while (true) {
    const ssize_t count = ::read(fd, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return bytes;
    bytes.append(part.data(), static_cast<std::size_t>(count));
  }
}

std::optional<Answer> parse(const std::string& bytes) {
  const std::size_t head = bytes.find("\r\n\r\n");
  if (!bytes.starts_with("HTTP/1.1 ") || head == std::string::npos) return std::nullopt;
  return Answer{std::atoi(bytes.c_str() + 9), bytes.substr(head + 4)};
}

std::string text_of(const Request& request) {
  std::string text = request.method + " " + request.target + " HTTP/1.1\r\nConnection: close\r\n";
  if (request.says_host) text += "Host: localhost\r\n";
  for (const std::string& header : request.headers) text += header + "\r\n";
  if (!request.body.empty() || request.method != "GET") {
    text += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  }
  return text + "\r\n" + request.body;
}

std::string exchange(const Address& address, const Request& request) {
  const int fd = connection_to(address);
  if (fd < 0) return {};
  send_all(fd, text_of(request));
  std::string bytes = read_all(fd);
  ::close(fd);
  return bytes;
}

}  // namespace

std::optional<Answer> ask(const Address& address, const Request& request) {
  return parse(exchange(address, request));
}

std::optional<Answer> ask_as(const std::string& user, const Address& address,
                             const Request& request) {
  const passwd* person = ::getpwnam(user.c_str());
  std::array<int, 2> pipe{};
  if (person == nullptr || ::pipe2(pipe.data(), O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool changed = ::initgroups(user.c_str(), person->pw_gid) == 0 &&
                         ::setgid(person->pw_gid) == 0 && ::setuid(person->pw_uid) == 0;
    const std::string bytes = changed ? exchange(address, request) : "";
    const ssize_t written = ::write(pipe[1], bytes.data(), bytes.size());
    ::_exit(written < 0 ? 1 : 0);
  }
  ::close(pipe[1]);
  const std::string bytes = read_all(pipe[0]);
  ::close(pipe[0]);
  ::waitpid(child, nullptr, 0);
  return parse(bytes);
}

}  // namespace keel::e2e
