// A libnvidia-ml.so.1 without GPUs, for tests: it says what a text file says, which the variable
// NVML_DOUBLE names and which is read anew at each call. It proves our own logic, never NVIDIA's.
//
//   device UUID KEY=VALUE …       a device; the order of these lines is NVML's
//     name=NVIDIA_A100-SXM4-80GB  blanks as underscores
//     memory=BYTES used=BYTES busy=PERCENT temp=C power=MILLIWATTS ecc=COUNT throttle=BITS
//     pending=1 unmapped=1 mig=1 arch=7 pci=00000000:1B:00.0 proc=PID:BYTES
//     What is not given is "not supported".
//   count N                       what the count is said to be
//   fail FUNCTION[@UUID] CODE     the call returns this
//   hang FUNCTION[@UUID]          the call never returns
//   crash FUNCTION[@UUID]         the call ends the process
//   event UUID XID                happens once, when it is new; "ecc" in place of a number is an
//                                 uncorrectable error without an Xid
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "adapters/nvml/abi.h"

namespace keel::nvml {

// What a handle points to.
struct DeviceTag {
  std::string uuid;
};
struct EventSetTag {
  std::size_t seen{};
};

namespace {

struct Entry {
  std::string uuid;
  std::map<std::string, std::string> values;
};

struct Fault {
  std::string verb, place, code;
};

struct Event {
  std::string uuid, xid;
};

struct Steering {
  std::vector<Entry> devices;
  std::optional<std::uint32_t> count;
  std::vector<Fault> faults;
  std::vector<Event> events;
};

Steering read_steering() {
  Steering steering;
  const char* path = std::getenv("NVML_DOUBLE");
  std::ifstream file(path ? path : "");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string verb, first, second;
    words >> verb >> first;
    if (verb == "device") {
      Entry entry{first, {}};
      while (words >> second) {
        const std::size_t equals = second.find('=');
        entry.values[second.substr(0, equals)] = second.substr(equals + 1);
      }
      steering.devices.push_back(entry);
      continue;
    }
    words >> second;
    if (verb == "count") steering.count = static_cast<std::uint32_t>(std::stoul(first));
    if (verb == "event") steering.events.push_back({first, second});
    if (verb == "fail" || verb == "hang" || verb == "crash") {
      steering.faults.push_back({verb, first, second});
    }
  }
  return steering;
}

// What is to go wrong in this call, if anything.
Code fault(const Steering& steering, const std::string& function, const std::string& uuid = "") {
  for (const Fault& one : steering.faults) {
    if (one.place != function && one.place != function + "@" + uuid) continue;
    if (one.verb == "fail") return std::stoi(one.code);
    if (one.verb == "crash") std::abort();
    for (;;) ::pause();
  }
  return success;
}

// Each uuid has one handle, for ever.
DeviceHandle handle_of(const std::string& uuid) {
  static std::map<std::string, DeviceTag> handles;
  return &handles.try_emplace(uuid, DeviceTag{uuid}).first->second;
}

Code give(char* to, std::uint32_t size, const std::string& text) {
  if (text.size() >= size) return insufficient_size;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return success;
}

const Entry* find(const Steering& steering, DeviceHandle device) {
  for (const Entry& entry : steering.devices) {
    if (entry.uuid == device->uuid) return &entry;
  }
  return nullptr;
}

// The text of one value of a device, or why there is none.
Code value_of(DeviceHandle device, const char* function, const char* key, std::string& value) {
  const Steering steering = read_steering();
  const Code wrong = fault(steering, function, device->uuid);
  if (wrong != success) return wrong;
  const Entry* entry = find(steering, device);
  if (entry == nullptr) return gpu_is_lost;
  const auto found = entry->values.find(key);
  if (found == entry->values.end()) return not_supported;
  value = found->second;
  return success;
}

template <class Number>
Code number_of(DeviceHandle device, const char* function, const char* key, Number* number) {
  std::string text;
  const Code code = value_of(device, function, key, text);
  if (code == success) *number = static_cast<Number>(std::stoull(text));
  return code;
}

}  // namespace
}  // namespace keel::nvml

using namespace keel::nvml;

extern "C" {

Code nvmlInit_v2() { return fault(read_steering(), "nvmlInit_v2"); }

const char* nvmlErrorString(Code code) {
  switch (code) {
    case driver_not_loaded: return "Driver Not Loaded";
    case gpu_is_lost: return "GPU is lost";
    case reset_required: return "GPU requires reset";
    case lib_rm_version_mismatch: return "Driver/library version mismatch";
    default: return "Unknown Error";
  }
}

Code nvmlSystemGetDriverVersion(char* version, std::uint32_t size) {
  return give(version, size, "999.1");
}
Code nvmlSystemGetNVMLVersion(char* version, std::uint32_t size) {
  return give(version, size, "99.999.1");
}

Code nvmlDeviceGetCount_v2(std::uint32_t* count) {
  const Steering steering = read_steering();
  *count = steering.count.value_or(static_cast<std::uint32_t>(steering.devices.size()));
  return fault(steering, "nvmlDeviceGetCount_v2");
}

Code nvmlDeviceGetHandleByIndex_v2(std::uint32_t position, DeviceHandle* device) {
  const Steering steering = read_steering();
  if (position >= steering.devices.size()) return invalid_argument;
  const std::string& uuid = steering.devices[position].uuid;
  const Code wrong = fault(steering, "nvmlDeviceGetHandleByIndex_v2", uuid);
  if (wrong == success) *device = handle_of(uuid);
  return wrong;
}

Code nvmlDeviceGetUUID(DeviceHandle device, char* uuid, std::uint32_t size) {
  const Code wrong = fault(read_steering(), "nvmlDeviceGetUUID", device->uuid);
  return wrong == success ? give(uuid, size, device->uuid) : wrong;
}

Code nvmlDeviceGetName(DeviceHandle device, char* name, std::uint32_t size) {
  std::string text = "NVIDIA H100 80GB HBM3";
  const Code code = value_of(device, "nvmlDeviceGetName", "name", text);
  if (code != success && code != not_supported) return code;
  for (char& c : text) {
    if (c == '_') c = ' ';
  }
  return give(name, size, text);
}

Code nvmlDeviceGetMemoryInfo(DeviceHandle device, Memory* memory) {
  const Code code = number_of(device, "nvmlDeviceGetMemoryInfo", "memory", &memory->total);
  if (code != success) return code;
  memory->used = 0;
  (void)number_of(device, "nvmlDeviceGetMemoryInfo", "used", &memory->used);
  memory->free = memory->total - memory->used;
  return success;
}

Code nvmlDeviceGetPciInfo_v3(DeviceHandle device, PciPlace* pci) {
  std::string text;
  const Code code = value_of(device, "nvmlDeviceGetPciInfo_v3", "pci", text);
  return code == success ? give(pci->bus_id, sizeof pci->bus_id, text) : code;
}

Code nvmlDeviceGetArchitecture(DeviceHandle device, std::uint32_t* architecture) {
  return number_of(device, "nvmlDeviceGetArchitecture", "arch", architecture);
}

Code nvmlDeviceGetMigMode(DeviceHandle device, std::uint32_t* current, std::uint32_t* pending) {
  *pending = 0;
  return number_of(device, "nvmlDeviceGetMigMode", "mig", current);
}

Code nvmlDeviceGetUtilizationRates(DeviceHandle device, Utilization* busy) {
  busy->memory = 0;
  return number_of(device, "nvmlDeviceGetUtilizationRates", "busy", &busy->gpu);
}

Code nvmlDeviceGetTemperature(DeviceHandle device, int, std::uint32_t* celsius) {
  return number_of(device, "nvmlDeviceGetTemperature", "temp", celsius);
}

Code nvmlDeviceGetPowerUsage(DeviceHandle device, std::uint32_t* milliwatts) {
  return number_of(device, "nvmlDeviceGetPowerUsage", "power", milliwatts);
}

Code nvmlDeviceGetTotalEccErrors(DeviceHandle device, int, int, std::uint64_t* count) {
  return number_of(device, "nvmlDeviceGetTotalEccErrors", "ecc", count);
}

Code nvmlDeviceGetCurrentClocksThrottleReasons(DeviceHandle device, std::uint64_t* bits) {
  return number_of(device, "nvmlDeviceGetCurrentClocksThrottleReasons", "throttle", bits);
}

Code nvmlDeviceGetRemappedRows(DeviceHandle device, std::uint32_t* corrected,
                               std::uint32_t* uncorrected, std::uint32_t* pending,
                               std::uint32_t* failed) {
  *corrected = *uncorrected = *pending = *failed = 0;
  const Code first = number_of(device, "nvmlDeviceGetRemappedRows", "pending", pending);
  const Code second = number_of(device, "nvmlDeviceGetRemappedRows", "unmapped", failed);
  return first == success ? success : second;
}

Code nvmlDeviceGetComputeRunningProcesses_v3(DeviceHandle device, std::uint32_t* count,
                                             Holder* processes) {
  std::string text;
  const Code code = value_of(device, "nvmlDeviceGetComputeRunningProcesses_v3", "proc", text);
  if (code == not_supported) *count = 0;
  if (code != success) return code == not_supported ? success : code;
  if (*count == 0) return insufficient_size;
  const std::size_t colon = text.find(':');
  processes[0] = {
      .pid = static_cast<std::uint32_t>(std::stoul(text)),
      .used_memory = colon == text.npos ? not_available : std::stoull(text.substr(colon + 1)),
      .gpu_instance = UINT32_MAX,
      .compute_instance = UINT32_MAX};
  *count = 1;
  return success;
}

Code nvmlDeviceGetSupportedEventTypes(DeviceHandle, std::uint64_t* types) {
  *types = event_xid | event_double_bit_ecc | 1;
  return success;
}

Code nvmlEventSetCreate(EventSetHandle* events) {
  *events = new EventSetTag{read_steering().events.size()};
  return success;
}

Code nvmlDeviceRegisterEvents(DeviceHandle device, std::uint64_t, EventSetHandle) {
  return fault(read_steering(), "nvmlDeviceRegisterEvents", device->uuid);
}

Code nvmlEventSetWait_v2(EventSetHandle events, EventReading* reading, std::uint32_t wait_ms) {
  for (std::uint32_t waited = 0; waited <= wait_ms; waited += 10) {
    const Steering steering = read_steering();
    const Code wrong = fault(steering, "nvmlEventSetWait_v2");
    if (wrong != success) return wrong;
    if (events->seen < steering.events.size()) {
      const Event& event = steering.events[events->seen++];
      const bool ecc = event.xid == "ecc";
      *reading = {.device = handle_of(event.uuid),
                  .type = ecc ? event_double_bit_ecc : event_xid,
                  .payload = ecc ? 0 : std::stoull(event.xid),
                  .gpu_instance = UINT32_MAX,
                  .compute_instance = UINT32_MAX};
      return success;
    }
    ::usleep(10'000);
  }
  return timed_out;
}

}  // extern "C"
