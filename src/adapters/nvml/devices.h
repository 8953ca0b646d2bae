// The GPUs that NVIDIA's library knows of. A thread of its own keeps keel-nvml processes at work
// and looks after them; nobody who asks here ever waits for NVML.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "adapters/nvml/child.h"
#include "adapters/nvml/overseer.h"
#include "ports/clock.h"
#include "ports/devices.h"

namespace keel {

class NvmlDevices final : public Devices {
 public:
  struct Options {
    std::string program{};                      // keel-nvml
    std::string library = "libnvidia-ml.so.1";  // as dlopen() takes it
    nvml::Overseer::Options times{};
  };

  // What is told may have changed: devices, or the words about them.
  struct State {
    std::vector<Device> devices{};        // sorted by id
    std::vector<std::string> warnings{};  // why there are none; what each lacks
    friend bool operator==(const State&, const State&) = default;
  };

  // `clock` must not stop while the host sleeps, and outlives this.
  NvmlDevices(Options options, nvml::XidCatalogue catalogue, Clock& clock);
  ~NvmlDevices() override;  // ends its processes; within a second or two
  NvmlDevices(const NvmlDevices&) = delete;
  NvmlDevices& operator=(const NvmlDevices&) = delete;

  // As they were last read. None until await_first() says true. Never blocks.
  std::vector<Device> list() override { return state().devices; }
  State state() const;
  v1::NvmlReport report() const;

  // Waits for the first survey, whatever it says. False: it takes longer.
  bool await_first(Duration at_most);

  // Readable from a change of state(), or news, until the next take_news().
  int wake_descriptor() const { return changed_; }

  // What happened to devices since the last call, one line each, for the log: maybe no line, where
  // state() alone has changed. Nothing: all is as it was.
  std::optional<std::vector<std::string>> take_news();

  // Which devices tasks of this node hold now. Until this is called for the first time, nobody is
  // suspected of holding one without leave.
  void hold(std::set<DeviceId> held);

 private:
  void work();
  void carry_out(nvml::Overseer& overseer);
  void listen(nvml::Overseer& overseer);
  void look_after_abandoned(nvml::Overseer& overseer);
  void wait(Instant until);
  void publish(nvml::Overseer& overseer);
  void end_all();

  const Options options_;
  const nvml::XidCatalogue catalogue_;
  Clock& clock_;
  int changed_ = -1;  // eventfd
  int poke_ = -1;     // eventfd: the thread should look

  // The thread's own.
  std::map<nvml::Line, nvml::Child> children_;
  std::vector<std::pair<nvml::Line, nvml::Child>> abandoned_;

  mutable std::mutex mutex_;  // for all that follows
  std::condition_variable first_;
  State state_;
  v1::NvmlReport report_;
  bool known_{};
  std::vector<std::string> news_;
  std::optional<std::set<DeviceId>> held_;
  bool stopped_{};
  std::thread thread_;  // last: it uses everything above
};

}  // namespace keel
