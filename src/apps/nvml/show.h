// The GPUs of a host for people.
#pragma once

#include <string>

#include "keel/v1/nvml.pb.h"

namespace keel {

// A line for each GPU, "-" where NVML tells nothing; then what is the matter with any of them.
std::string show_gpus(const v1::NvmlReport& report);

}  // namespace keel
