// The one name for what the API speaks.
#pragma once

#include <nlohmann/json.hpp>

namespace keel::e2e {

using Json = nlohmann::json;

}  // namespace keel::e2e
