// Why bytes are not what they should be: for logs, and for the agent or store they came from.
#pragma once

#include <string>

namespace keel {

struct BadBytes {
  std::string what;  // "Job.state: 99 is no known state"
};

}  // namespace keel
