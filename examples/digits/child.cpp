#include "child.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

namespace keel::digits {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds poll_delay{10};

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("test set-up failed: ") + what);
}

// Our variables without those that would make this run a part of another one.
std::vector<std::string> merged(const Variables& added) {
  static const std::set<std::string> read_by_program = {
      "MASTER_ADDR",  "MASTER_PORT",     "WORLD_SIZE",          "RANK",
      "LOCAL_RANK",   "NODE_RANK",       "LOCAL_WORLD_SIZE",    "KEEL_JOB_ID",
      "KEEL_ATTEMPT", "KEEL_OUTPUT_DIR", "KEEL_CHECKPOINT_DIR",
  };
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!read_by_program.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : added) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

TestFolder::TestFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "digits_test.XXXXXX").string();
  require(::mkdtemp(pattern.data()) != nullptr, "mkdtemp");
  path_ = pattern;
}

TestFolder::~TestFolder() {
  std::error_code ignored;  // A folder left behind does not make a test fail.
  std::filesystem::remove_all(path_, ignored);
}

HeldPort::HeldPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  require(fd_ >= 0, "socket");
  const int on = 1;
  require(::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0, "setsockopt");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  require(::bind(fd_, any, size) == 0, "bind");
  require(::getsockname(fd_, any, &size) == 0, "getsockname");
  number_ = ntohs(address.sin_port);
}

HeldPort::~HeldPort() { ::close(fd_); }

Child::Child(const Command& command, const std::string& log) : pid_(-1), log_(log) {
  std::vector<std::string> arguments = {DIGITS_PROGRAM, "--data", DIGITS_DATA};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> variables = merged(command.variables);
  posix_spawn_file_actions_t actions;
  require(::posix_spawn_file_actions_init(&actions) == 0, "file actions");
  (void)::posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                           0644);  // A failure shows in posix_spawn.
  (void)::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  const int error = ::posix_spawn(&pid_, DIGITS_PROGRAM, &actions, nullptr,
                                  pointers_to(arguments).data(), pointers_to(variables).data());
  (void)::posix_spawn_file_actions_destroy(&actions);
  require(error == 0, "posix_spawn " DIGITS_PROGRAM);
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), log_(std::move(other.log_)), code_(other.code_) {}

Child::~Child() {
  if (pid_ < 0 || code_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Child::signal(int number) const { ::kill(pid_, number); }

std::optional<int> Child::wait(milliseconds limit) {
  const auto end = steady_clock::now() + limit;
  while (!code_) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else if (steady_clock::now() > end) {
      break;
    } else {
      std::this_thread::sleep_for(poll_delay);
    }
  }
  return code_;
}

bool Child::says(const std::string& text, milliseconds limit) const {
  const auto end = steady_clock::now() + limit;
  while (output().find(text) == std::string::npos) {
    if (steady_clock::now() > end) return false;
    std::this_thread::sleep_for(poll_delay);
  }
  return true;
}

std::string Child::output() const { return contents(log_); }

std::string contents(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace keel::digits
