// What is left of a task when its shim is killed ends at once, whether or not an agent looks: the
// shim's parent sees to it. So a host whose agent is frozen or gone keeps no process of a task
// longer than the control plane waits for a proof of loss.
#pragma once

#include <string>

#include "base/result.h"

namespace keel {

// Its name in a list of processes; the command line is the shim's.
constexpr const char* guard_name = "keel-guard";

// Forks the shim: returns in the new process. The calling process does not return: it stays as the
// guard, waits for the shim's end, kills all that the shim left, wherever those processes went to,
// and ends when nobody is left. An error means that there is no new process.
//
// `Keeper::detach` comes before: the guard must be a subreaper, and no signal but SIGKILL may end
// it.
Result<Done, std::string> fork_guarded();

}  // namespace keel
