// What a GPU is called in this fleet.
#pragma once

#include <string>
#include <string_view>

namespace keel::nvml {

// "NVIDIA A100-SXM4-80GB" is an "a100-80gb": lower case, words joined by dashes, without maker,
// brand, memory technology and the usual form factor. What makes a device another one stays
// ("h100-pcie"). The same words always make the same name.
std::string model_name(std::string_view product);

}  // namespace keel::nvml
