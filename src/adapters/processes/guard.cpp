#include "adapters/processes/guard.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "adapters/processes/files.h"
#include "adapters/processes/remains.h"

namespace keel {
namespace {

// Returns once `shim` has ended. While it lives its orphans are its own, as it is a subreaper.
void await_end(pid_t shim) {
  while (::waitpid(shim, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// Takes in those that have ended; true where others have not.
bool reap() {
  pid_t pid{};
  do {
    pid = ::waitpid(-1, nullptr, WNOHANG);
  } while (pid > 0);
  return pid == 0;
}

[[noreturn]] void guard(pid_t shim) {
  ::prctl(PR_SET_NAME, guard_name);  // so that who kills shims by name spares it
  ::close_range(0, ~0U, 0);
  await_end(shim);
  // One that the kernel does not let go of may take hours.
  constexpr useconds_t pause_max = 1'000'000;
  for (useconds_t pause = 1'000; reap(); pause = std::min(2 * pause, pause_max)) {
    kill_living({.ancestor = ::getpid()});
    ::usleep(pause);
  }
  ::_exit(0);
}

}  // namespace

Result<Done, std::string> fork_guarded() {
  const pid_t shim = ::fork();
  if (shim < 0) return failure("fork");
  if (shim > 0) guard(shim);
  return Done{};
}

}  // namespace keel
