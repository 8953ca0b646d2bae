// Who a running process is. A pid alone names nobody: it is given again. Pid, start time and boot
// together name one process for ever, and a pidfd holds it while it is looked at or signalled.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adapters/processes/files.h"
#include "model/units.h"

namespace keel {

Instant boot_now();  // since the host's boot, suspends included
Instant wall_now();  // since the Unix epoch, for people

// Of the running kernel: changes with each boot.
const std::string& boot_id();

struct Identity {
  pid_t pid{};
  std::uint64_t start_ticks{};  // since boot
  friend auto operator<=>(const Identity&, const Identity&) = default;
};

// What /proc says of one process now.
struct Living {
  Identity who;
  pid_t parent{};
  bool zombie{};  // it has ended; only its number is still taken
};

// Nothing where no such process is.
std::optional<Living> look_at(pid_t pid);

// Everything that /proc shows, in ascending order of pid.
std::vector<Living> everybody();

// What a process of this user was started with; empty where it is somebody else's, or none.
std::vector<std::string> command_line(pid_t pid, uid_t user);

// A pidfd of exactly this process: readable once it has ended. None where it is gone.
Descriptor hold(const Identity& who);

// Signals what is held; nobody where it has ended.
void signal_held(const Descriptor& held, int signal);

// Signals exactly this process, or nobody.
void signal_one(const Identity& who, int signal);

// True where the process has a function of its own for this signal.
bool catches(pid_t pid, int signal);

}  // namespace keel
