// Reads a task's log while it is being written, rotated, or long after.
#pragma once

#include <cstdint>
#include <optional>

#include "ports/runtime.h"

namespace keel {

// Lines from `offset` on, about `limit` bytes of them but at least one if there is one. `end` says
// that nothing lies behind `next` now. Torn lines are left out.
LogPart read_log_lines(int directory, std::int64_t offset, std::int64_t limit);

}  // namespace keel
