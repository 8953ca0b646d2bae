// keel-nvml's side of its conversation with its owner; proto/keel/v1/nvml.proto shows it.
#pragma once

#include <string>

namespace keel::nvml {

// Answers the questions that come as packets through `socket` until the owner is gone, or until
// nothing more can be told. Ends with its owner's thread. The exit code of the process.
int serve(int socket, const std::string& library);

}  // namespace keel::nvml
