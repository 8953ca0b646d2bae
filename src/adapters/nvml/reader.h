// Calls NVML, inside keel-nvml, and tells what it says. Each call is named before it is made, so
// that the owner knows where a process hangs or dies.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "adapters/nvml/abi.h"
#include "keel/v1/nvml.pb.h"

namespace keel::nvml {

// What keel-nvml and its owner speak; both are of one build.
inline constexpr std::uint32_t protocol = 1;

// More devices than this in one host are not believed.
inline constexpr std::uint32_t devices_max = 1024;

class Reader {
 public:
  using Tell = std::function<void(const v1::NvmlAnswer&)>;

  // library   as nvml::load() takes it
  Reader(std::string library, Tell tell) : library_(std::move(library)), tell_(std::move(tell)) {}

  // Tells the driver and every device from this position on, then that it is done. False: a failure
  // was told, and a new process should try again.
  bool survey(std::uint32_t from);

  // Tells what happens to the devices until that is impossible, which is told too.
  //
  // wait_ms   after which a call for events comes back without one
  void watch(std::uint32_t wait_ms);

 private:
  struct Place {
    std::uint32_t position{};
    std::string uuid;
  };

  template <class... Formal, class... Actual>
  Code call(const char* name, Code (*function)(Formal...), const Place* place, Actual... actual);
  void announce(const char* name, const Place* place);
  void fail(const std::string& text);
  bool open();
  v1::NvmlDriver driver();
  void unreadable(const Place& place, const char* function, Code code);
  Code read_one(std::uint32_t position, bool listed);
  Code read_counters(DeviceHandle handle, const Place& place, v1::NvmlDevice& device);
  void read_faults(DeviceHandle handle, const Place& place, v1::NvmlDevice& device);
  void read_processes(DeviceHandle handle, const Place& place, v1::NvmlDevice& device);
  bool enlist(EventSetHandle events);
  void wait_for_events(EventSetHandle events, std::uint32_t wait_ms);

  std::string library_;
  Tell tell_;
  Functions f_{};
  bool open_{};
  std::map<DeviceHandle, std::string> watched_;  // uuids
};

}  // namespace keel::nvml
