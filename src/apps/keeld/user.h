// A user of this host by name.
#pragma once

#include <optional>
#include <string>

#include "model/job.h"

namespace keel {

std::optional<Owner> find_user(const std::string& name);

}  // namespace keel
