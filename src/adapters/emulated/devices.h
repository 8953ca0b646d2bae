// GPUs that are not there, for hosts without any. They can be placed on, reserved and handed out
// like real ones; each says that it is emulated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ports/devices.h"

namespace keel {

class EmulatedDevices final : public Devices {
 public:
  // description  "8xH100-80GB": how many (1 to 1024), which model, how much memory in decimal GB
  // node         their uuids are made from it, so that they are the same after a restart and
  //              differ from those of other nodes
  // An error says what is wrong with the description.
  static Result<EmulatedDevices, std::string> parse(std::string_view description,
                                                    const std::string& node);

  std::vector<Device> list() override { return devices_; }

 private:
  explicit EmulatedDevices(std::vector<Device> devices) : devices_(std::move(devices)) {}

  std::vector<Device> devices_;
};

}  // namespace keel
