// The GPUs of this host, as the command line wants them: NVML's, emulated ones, or none.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "adapters/nvml/devices.h"
#include "apps/agent/options.h"
#include "base/result.h"
#include "ports/clock.h"

namespace keel {

class Gpus {
 public:
  // An error says what is wrong with the options.
  static Result<std::unique_ptr<Gpus>, std::string> open(const AgentOptions& options, Clock& clock);

  // Gives NVML some time to tell of its devices for the first time.
  void await_first();

  std::vector<Device> devices() const;
  std::vector<std::string> warnings() const;  // why there are none; what each lacks

  int wake_descriptor() const { return nvml_ ? nvml_->wake_descriptor() : -1; }

  // Lines for the log. Nothing: devices and warnings are as they were at the last call.
  std::optional<std::vector<std::string>> take_news();
  void hold(std::set<DeviceId> held);

 private:
  std::vector<Device> emulated_{};
  std::unique_ptr<NvmlDevices> nvml_{};
};

// The catalogue in a file, or the built-in one where `path` is empty.
Result<nvml::XidCatalogue, std::string> read_xid_catalogue(const std::string& path);

}  // namespace keel
