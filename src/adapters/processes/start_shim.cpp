#include "adapters/processes/start_shim.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "adapters/posix/detached_spawn.h"
#include "adapters/processes/files.h"
#include "adapters/processes/identity.h"

namespace keel {
namespace {

constexpr Duration answer_within = seconds(10);
constexpr std::size_t answer_bytes_max = 4096;

Result<pid_t, std::string> spawn_shim(const std::string& program, const std::string& directory,
                                      int answer) {
  DetachedSpawn child;
  ::posix_spawn_file_actions_addopen(&child.actions, 0, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&child.actions, answer, 1);
  ::posix_spawn_file_actions_adddup2(&child.actions, 0, 2);
  char* const argv[] = {const_cast<char*>(program.c_str()), const_cast<char*>(directory.c_str()),
                        nullptr};
  char* const envp[] = {nullptr};
  return child.start(program, argv, envp);
}

// Its first line, or what came until the end of the file or of our patience.
std::string read_answer(int fd) {
  const Instant deadline = boot_now() + answer_within;
  std::string answer;
  while (answer.size() < answer_bytes_max && answer.find('\n') == std::string::npos) {
    const std::int64_t left_ms = std::max<std::int64_t>(0, (deadline - boot_now()).us / 1000);
    pollfd wait{fd, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(left_ms));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    char chunk[512];
    const ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    answer.append(chunk, static_cast<std::size_t>(n));
  }
  return answer.substr(0, answer.find('\n'));
}

}  // namespace

Result<Done, std::string> start_shim(const std::string& program,
                                     const std::string& task_directory) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failure("pipe");
  const Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  TRY(pid, spawn_shim(program, task_directory, write_end.get()));
  write_end = Descriptor();
  const std::string answer = read_answer(read_end.get());
  // What we started only forks the shim and ends. One that has not by now never will.
  if (answer.empty()) ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (answer == "ok") return Done{};
  return program + ": " + (answer.empty() ? "does not answer" : answer);
}

}  // namespace keel
