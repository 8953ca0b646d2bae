// Finds NVML on this host.
#pragma once

#include <string>

#include "adapters/nvml/abi.h"
#include "base/result.h"

namespace keel::nvml {

// Loads the library, for as long as the process lives. Entries that an older driver lacks are null.
//
// path   "libnvidia-ml.so.1" where the host's linker finds it, or the path of a file
// An error says what is missing: the library, or an entry without which nothing can be read.
Result<Functions, std::string> load(const std::string& path);

// "GPU is lost (15)". From the library, or in our words where it has none.
std::string words(const Functions& functions, Code code);

}  // namespace keel::nvml
