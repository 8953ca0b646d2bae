// keel-shim TASK_DIRECTORY: owns one task, outlives the agent, and leaves when the task's end is on
// disk. Says "ok" on stdout once the task is its own, or why not.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "adapters/processes/guard.h"
#include "adapters/processes/keeper.h"
#include "agent/shim.h"

namespace {

using namespace keel;

constexpr const char* usage =
    "keel-shim runs one task of a job and is started by keel-agent: it is not for people.\n"
    "usage: keel-shim TASK_DIRECTORY\n";

ShimSeen look(Keeper& keeper, ShimPhase phase) {
  return {.now = boot_now(),
          .lease = keeper.lease(),
          .stop = keeper.stop(),
          .started = keeper.started(),
          .ended = keeper.ended(),
          .left = keeper.left(),
          .heeding = phase == ShimPhase::stopping && keeper.ended() && keeper.heeding()};
}

// True once the end is on disk for good.
bool obey(Keeper& keeper, const ShimOrders& orders) {
  if (orders.start) keeper.start();
  if (orders.notify) keeper.notify();
  if (orders.kill) keeper.kill();
  // A disk that is full now may have room later; until then the end is not known to anybody.
  while (orders.record && !keeper.record(*orders.record)) ::sleep(1);
  return orders.leave;
}

void keep(Keeper& keeper) {
  const v1::Launch& launch = keeper.launch();
  const ShimTerms terms{.time_limit = {launch.time_limit_us()}, .grace = {launch.grace_us()}};
  ShimState state;
  for (;;) {
    const ShimStep now = step(state, terms, look(keeper, state.phase));
    state = now.state;
    if (obey(keeper, now.orders)) return;
    keeper.wait(now.orders.wake_at);
  }
}

void say(const std::string& text) {
  (void)!::write(STDOUT_FILENO, text.data(), text.size());  // Whoever asked may be gone.
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= 2; ++fd) ::dup2(nothing, fd);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    const std::string_view said = argc == 2 ? argv[1] : "";
    const bool is_asked = said == "--help" || said == "-h";
    std::fputs(usage, is_asked ? stdout : stderr);
    return is_asked ? 0 : 2;
  }
  // Nobody's child: whoever started it need not reap it, and its death takes nobody along.
  const pid_t pid = ::fork();
  if (pid != 0) ::_exit(pid > 0 ? 0 : 1);
  Keeper::detach();
  const auto guarded = fork_guarded();
  if (!guarded) {
    say(guarded.error() + "\n");
    ::_exit(1);
  }
  Keeper::detach();
  auto keeper = Keeper::open(argv[1]);
  say(keeper ? "ok\n" : keeper.error() + "\n");
  if (!keeper) ::_exit(1);
  keep(*keeper);
  // Without the sanitizers' farewell, which takes longer than all the rest.
  ::_exit(0);
}
