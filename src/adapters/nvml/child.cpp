#include "adapters/nvml/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "adapters/posix/detached_spawn.h"

namespace keel::nvml {
namespace {

constexpr std::size_t packet_bytes_max = 128 << 10;

std::string failure(const std::string& what, int error) {
  return what + ": " + std::strerror(error);
}

Result<pid_t, std::string> spawn(const std::string& program, const std::string& library,
                                 int socket) {
  DetachedSpawn child;
  ::posix_spawn_file_actions_adddup2(&child.actions, socket, 0);
  ::posix_spawn_file_actions_addopen(&child.actions, 1, "/dev/null", O_WRONLY, 0);
  std::vector<std::string> words{program, "--serve", "--library", library};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return child.start(program, argv.data(), environ);
}

}  // namespace

Result<Child, std::string> Child::start(const std::string& program, const std::string& library) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return failure("socketpair", errno);
  }
  const auto pid = spawn(program, library, ends[1]);
  ::close(ends[1]);
  if (!pid) {
    ::close(ends[0]);
    return pid.error();
  }
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0));
  if (pidfd < 0) {
    const int error = errno;
    ::close(ends[0]);
    ::kill(*pid, SIGKILL);
    while (::waitpid(*pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return failure("pidfd_open", error);
  }
  return Child(*pid, pidfd, ends[0]);
}

Child::~Child() {
  hang_up();
  if (pidfd_ >= 0) ::close(pidfd_);
}

void Child::hang_up() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void Child::ask(const v1::NvmlQuestion& question) {
  const std::string bytes = question.SerializeAsString();
  // Where this fails the process has ended, or hangs; both are noticed anyhow.
  (void)::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::optional<v1::NvmlAnswer> Child::hear() {
  if (socket_ < 0) return std::nullopt;
  std::string bytes(packet_bytes_max, '\0');
  ssize_t length{};
  do {
    length = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
  } while (length < 0 && errno == EINTR);
  if (length < 0 && errno == EAGAIN) return std::nullopt;
  if (length <= 0) {
    hang_up();  // its end: pidfd() tells of the rest
    return std::nullopt;
  }
  v1::NvmlAnswer answer;
  if (!answer.ParseFromArray(bytes.data(), static_cast<int>(length))) answer.Clear();
  return answer;
}

void Child::kill() { ::syscall(SYS_pidfd_send_signal, pidfd_, SIGKILL, nullptr, 0); }

std::optional<std::string> Child::reap() {
  int status{};
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return std::nullopt;
  if (ended < 0) return "was reaped by somebody else";
  if (WIFSIGNALED(status)) return "was killed by signal " + std::to_string(WTERMSIG(status));
  return "ended with code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace keel::nvml
