#include "tests/e2e/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "tests/e2e/await.h"

namespace keel::e2e {
namespace {

// Not readable ones are gone, or somebody else's.
bool holds(const std::string& path, const std::string& word) {
  return contents(path).find(word) != std::string::npos;
}

}  // namespace

Program::~Program() { kill9(); }

void Program::start(const std::vector<std::string>& command, const std::string& log,
                    const std::vector<std::string>& env) {
  kill9();
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::setsid();
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const int in = ::open("/dev/null", O_RDONLY);
  if (::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(out, 2) < 0) ::_exit(126);
  ::close_range(3, ~0U, 0);
  for (const std::string& one : env) ::putenv(const_cast<char*>(one.c_str()));
  ::execv(arguments.front(), arguments.data());
  ::_exit(127);
}

bool Program::reap(bool block) {
  if (pid_ <= 0 || ::waitpid(pid_, &status_, block ? 0 : WNOHANG) != pid_) return false;
  pid_ = 0;
  return true;
}

bool Program::is_running() {
  reap(false);
  return pid_ > 0;
}

void Program::kill9() {
  if (!is_running()) return;
  ::kill(pid_, SIGKILL);
  reap(true);
}

void Program::freeze() const { ::kill(pid_, SIGSTOP); }
void Program::thaw() const { ::kill(pid_, SIGCONT); }

int Program::await_end() {
  await("the end of a program", [this] { return !is_running(); });
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

int Program::terminate() {
  if (is_running()) ::kill(pid_, SIGTERM);
  return await_end();
}

Ran run(const std::vector<std::string>& command, const std::string& log) {
  std::filesystem::remove(log);
  Program program;
  program.start(command, log);
  const int code = program.await_end();
  return {code, contents(log)};
}

std::vector<pid_t> living(const std::string& word) {
  std::vector<pid_t> found;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0 || pid == ::getpid()) continue;
    const std::string directory = entry.path().string();
    if (holds(directory + "/cmdline", word) || holds(directory + "/environ", word)) {
      found.push_back(pid);
    }
  }
  return found;
}

std::string contents(const std::string& path) {
  std::string bytes;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return bytes;
  // What is told of a process ends with an error once the process has.
  std::array<char, 1 << 16> part;
  for (ssize_t n = 0; (n = ::read(fd, part.data(), part.size())) > 0;) {
    bytes.append(part.data(), static_cast<std::size_t>(n));
  }
  ::close(fd);
  return bytes;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::istringstream text(contents(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

}  // namespace keel::e2e
