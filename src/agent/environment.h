// What a task finds in its environment, as far as it does not depend on its host.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/duty.h"
#include "model/ids.h"
#include "model/spec.h"

namespace keel {

// NAME and value: the rendezvous that torchrun users know, the devices, KEEL_*, and what the spec
// says where the platform says nothing.
std::vector<std::pair<std::string, std::string>> environment(const TaskKey& key,
                                                             const Prepare& order,
                                                             const JobSpec& spec);

}  // namespace keel
