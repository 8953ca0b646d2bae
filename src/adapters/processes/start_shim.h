// Starts a shim, which from then on is nobody's child.
#pragma once

#include <string>

#include "base/result.h"

namespace keel {

// Returns once the shim says that it owns the task, within milliseconds as a rule and 10 seconds at
// most. After an error it may still come to own it later: the task's lock tells.
Result<Done, std::string> start_shim(const std::string& program, const std::string& task_directory);

}  // namespace keel
