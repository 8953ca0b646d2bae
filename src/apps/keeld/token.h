// The operator's token, and the lock that keeps a data directory to one keeld.
#pragma once

#include <string>

#include "adapters/door/descriptor.h"
#include "base/result.h"

namespace keel {

// Makes the directory where it is not there (mode 0700) and locks it for the life of the result.
Result<Descriptor, std::string> hold_directory(const std::string& directory);

struct OperatorToken {
  std::string text;  // 64 hexadecimal digits
};

// What stands in DIRECTORY/operator.token (mode 0600), made from the kernel's randomness at first
// use.
Result<OperatorToken, std::string> operator_token(const std::string& directory);

}  // namespace keel
