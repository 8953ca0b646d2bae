#include "adapters/posix/detached_spawn.h"

#include <csignal>
#include <cstring>

namespace keel {

DetachedSpawn::DetachedSpawn() {
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes_);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes_, &none);
  ::posix_spawnattr_setsigdefault(&attributes_, &all);
  const int flags = POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
}

DetachedSpawn::~DetachedSpawn() {
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes_);
}

Result<pid_t, std::string> DetachedSpawn::start(const std::string& program, char* const* argv,
                                                char* const* environment) {
  pid_t pid{};
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes_, argv, environment);
  if (error != 0) return program + ": " + std::strerror(error);
  return pid;
}

}  // namespace keel
