// Who lives of one task, wherever its processes went: in its control groups, below its shim, or,
// where neither tells, by the mark in their environment.
#pragma once

#include <string>
#include <vector>

#include "adapters/processes/cgroups.h"
#include "adapters/processes/identity.h"

namespace keel {

// In every task's environment: KEEL_TASK=JOB.ATTEMPT.TASK.
constexpr const char* task_mark = "KEEL_TASK";

struct Whereabouts {
  std::vector<std::string> groups{};  // control groups of this task alone
  pid_t ancestor{};    // shim or guard, a subreaper; 0: dead, and its orphans are others' now
  std::string mark{};  // looked for only where it is set, among processes of `uid`
  uid_t uid{};
};

// Everybody but the shim, zombies left out.
std::vector<Identity> find_living(const Whereabouts& where);

// Whether a shim of this task ("JOB.ATTEMPT.TASK") lives. Its command line tells, "keel-shim
// STATE/tasks/TASK", of a process of our own user; a guard, which has the same, is none.
bool has_shim(const std::string& task);

// SIGKILL to all of them. What forks meanwhile is caught by the next call; repeat until nobody is
// left.
void kill_living(const Whereabouts& where);

// `signal` to each that catches it, to `main` where none does.
void notify(const Whereabouts& where, const Identity& main, int signal);

}  // namespace keel
