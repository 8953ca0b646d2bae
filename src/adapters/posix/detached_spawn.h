// How an agent starts another of our programs: what all of these want alike.
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace keel {

// A child with a session of its own, since what a terminal sends to its owner is not meant for it,
// and with no signal blocked or ignored. Which descriptors it gets is said by way of `actions`;
// all others of its owner that are not closed on exec it has too.
class DetachedSpawn {
 public:
  DetachedSpawn();
  ~DetachedSpawn();
  DetachedSpawn(const DetachedSpawn&) = delete;
  DetachedSpawn& operator=(const DetachedSpawn&) = delete;

  // `argv` and `environment` end with null. An error names the program.
  Result<pid_t, std::string> start(const std::string& program, char* const* argv,
                                   char* const* environment);

  posix_spawn_file_actions_t actions{};

 private:
  posix_spawnattr_t attributes_{};
};

}  // namespace keel
