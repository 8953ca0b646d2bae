// The birth of a task's main process: from the shim's fork to the program's first instruction.
#pragma once

#include <string>

#include "adapters/processes/files.h"
#include "base/result.h"
#include "keel/v1/local.pb.h"

namespace keel {

struct Spawned {
  pid_t pid{};
  Descriptor out;  // what it writes, to be read without blocking
  Descriptor error;
  // Lines from the child before it becomes the program, then the end of the file. "N text": a limit
  // that is not in force. "E text": why there is no program; the child has ended.
  Descriptor report;
};

// Starts the child. What goes wrong in the child comes through `report`.
//
// The program gets: its control groups, uid, gid and groups; a session of its own; the environment
// as given; descriptors 0 (empty) to 2; default signals; no new privileges, no core files; SIGKILL
// when the calling thread ends, which therefore must live as long as the task.
Result<Spawned, std::string> spawn(const v1::Launch& launch);

}  // namespace keel
