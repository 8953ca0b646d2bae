#include "tests/e2e/caretaker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "tests/e2e/program.h"

namespace keel::e2e {
namespace {

namespace files = std::filesystem;

constexpr int rounds_max = 100;
constexpr int round_ms = 100;

// The control groups of this platform's nodes, deepest first.
std::vector<std::string> groups_of(const Place& place) {
  std::vector<std::string> groups;
  std::error_code gone;
  for (const char* tree : {"", "/memory", "/cpu", "/pids", "/freezer", "/unified"}) {
    const std::string base = "/sys/fs/cgroup" + std::string(tree) + "/keel";
    for (const auto& node : files::directory_iterator(base, gone)) {
      if (!node.path().filename().string().starts_with(place.node)) continue;
      groups.push_back(node.path());
      for (const auto& below : files::recursive_directory_iterator(node.path(), gone)) {
        if (below.is_directory(gone)) groups.push_back(below.path());
      }
    }
  }
  std::ranges::sort(groups, std::ranges::greater());
  return groups;
}

std::vector<pid_t> members_of(const std::vector<std::string>& groups) {
  std::vector<pid_t> members;
  for (const std::string& group : groups) {
    std::ifstream file(group + "/cgroup.procs");
    for (pid_t pid{}; file >> pid;) members.push_back(pid);
  }
  return members;
}

// False where there was something to do, so that it is worth another look.
bool sweep_once(const Place& place) try {
  std::vector<pid_t> left = living(place.directory);
  const auto groups = groups_of(place);
  const auto members = members_of(groups);
  left.insert(left.end(), members.begin(), members.end());
  for (const pid_t pid : left) ::kill(pid, SIGKILL);
  bool removed = true;
  for (const std::string& group : groups) removed &= ::rmdir(group.c_str()) == 0;
  std::error_code busy;
  files::remove_all(place.directory, busy);
  return left.empty() && removed && !busy;
} catch (const files::filesystem_error&) {
  return false;  // What was looked at went away.
}

[[noreturn]] void wait_and_sweep(const Place& place, int test_ends) {
  ::setsid();
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_IGN);
  char nothing{};
  while (::read(test_ends, &nothing, 1) < 0) continue;  // interrupted
  for (int round = 0; round < rounds_max && !sweep_once(place); ++round) {
    ::usleep(round_ms * 1000);
  }
  ::_exit(0);
}

}  // namespace

Caretaker::Caretaker(const Place& place) {
  std::array<int, 2> lives{}, done{};
  if (::pipe2(lives.data(), O_CLOEXEC) != 0 || ::pipe2(done.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipes");
  }
  test_lives_ = lives[1];
  work_done_ = done[0];
  // Not our child: who kills a test that takes too long kills its children with it.
  const pid_t between = ::fork();
  if (between == 0) {
    if (::fork() != 0) ::_exit(0);
    const int null = ::open("/dev/null", O_RDWR);
    const int test_ends = ::dup2(lives[0], 3);
    const int keeps_open = ::dup2(done[1], 4);
    for (const int standard : {0, 1, 2}) ::dup2(null, standard);
    ::close_range(static_cast<unsigned>(keeps_open) + 1, ~0U, 0);
    wait_and_sweep(place, test_ends);
  }
  ::waitpid(between, nullptr, 0);
  ::close(lives[0]);
  ::close(done[1]);
}

Caretaker::~Caretaker() {
  ::close(test_lives_);
  char nothing{};
  while (::read(work_done_, &nothing, 1) < 0) continue;
  ::close(work_done_);
}

}  // namespace keel::e2e
