// The GPUs of one host.
#pragma once

#include <vector>

#include "model/node.h"

namespace keel {

class Devices {
 public:
  virtual ~Devices() = default;

  // Every device that can be seen now, in ascending order of id. May take a while: any thread.
  virtual std::vector<Device> list() = 0;
};

}  // namespace keel
