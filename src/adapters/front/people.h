// Names of this host's people.
#pragma once

#include <cstdint>

#include "model/job.h"

namespace keel {

// The owner of what a person with this uid submits: their name from the password database, or
// "uid-N" where it has none. May read files. Any thread.
Owner person(std::uint32_t uid, std::uint32_t gid);

}  // namespace keel
