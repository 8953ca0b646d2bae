// Where a task's outputs go when it is over.
//
//   STATE/outputs/JOB/task-N        committed: of one attempt, whole
//   STATE/outputs-aside/KEY         of an attempt that was not committed, or was replaced
#pragma once

#include <string>

#include "adapters/processes/files.h"
#include "base/result.h"
#include "model/ids.h"
#include "model/job.h"

namespace keel {

// Moves the staged outputs of `task` (its directory) into place, in one step, once all their bytes
// are safe. What an earlier attempt left there is set aside. Where there is nothing, neither staged
// nor in place, nothing is made. Repeating it is safe, also after a crash in any step.
Result<Done, std::string> commit_outputs(int state, int task, const TaskKey& key,
                                         const Owner& owner);

// Moves what was staged and not committed out of the way; nothing is done where there is nothing.
Result<Done, std::string> set_outputs_aside(int state, int task, const TaskKey& key);

}  // namespace keel
