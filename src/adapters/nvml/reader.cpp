#include "adapters/nvml/reader.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <vector>

#include "adapters/nvml/library.h"
#include "wire/text.h"

namespace keel::nvml {
namespace {

constexpr std::uint32_t text_bytes = 96;  // NVML's longest are 96 with their end
constexpr std::uint32_t processes_max = 1024;
constexpr Code end_of_list = -1;               // none of NVML's
constexpr std::uint32_t positions_tried = 64;  // where the devices cannot be counted

// Above these, a reading is nonsense and counts as absent.
constexpr std::uint64_t memory_max = std::uint64_t{1} << 50;
constexpr std::uint32_t temperature_c_max = 300;
constexpr std::uint32_t power_mw_max = 100'000'000;

using Text = std::array<char, text_bytes>;

std::string text_of(const Text& text) {
  return as_utf8(std::string(text.begin(), std::find(text.begin(), text.end(), '\0')));
}

v1::NvmlAnswer answer() {
  v1::NvmlAnswer answer;
  answer.set_protocol(protocol);
  return answer;
}

// It goes into lists that commas part, and names the device for ever.
bool is_uuid(const std::string& text) {
  return text.size() >= 8 && text.size() <= 80 &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == text.npos;
}

// The device itself cannot be spoken to.
bool is_out(Code code) { return code == gpu_is_lost || code == reset_required; }

// Nothing more can come from this process.
bool is_fatal(Code code) {
  return code == uninitialized || code == driver_not_loaded || code == lib_rm_version_mismatch;
}

// The kernel's word on the device's place; NVML's "00000000:1B:00.0" is its "0000:1b:00.0".
std::optional<int> numa_node(std::string bus_id) {
  for (char& c : bus_id) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  if (bus_id.size() > 12) bus_id.erase(0, bus_id.size() - 12);
  std::ifstream file("/sys/bus/pci/devices/" + bus_id + "/numa_node");
  int node = -1;
  if (!(file >> node) || node < 0) return std::nullopt;
  return node;
}

}  // namespace

void Reader::announce(const char* name, const Place* place) {
  v1::NvmlAnswer next = answer();
  next.mutable_calling()->set_function(name);
  if (place != nullptr) {
    next.mutable_calling()->set_position(place->position);
    next.mutable_calling()->set_uuid(place->uuid);
  }
  tell_(next);
}

template <class... Formal, class... Actual>
Code Reader::call(const char* name, Code (*function)(Formal...), const Place* place,
                  Actual... actual) {
  if (function == nullptr) return function_not_found;
  announce(name, place);
  return function(actual...);
}

void Reader::fail(const std::string& text) {
  v1::NvmlAnswer next = answer();
  next.mutable_failure()->set_text(as_utf8(text));
  tell_(next);
}

bool Reader::open() {
  if (open_) return true;
  announce("dlopen", nullptr);
  const auto loaded = load(library_);
  if (!loaded) {
    fail(loaded.error());
    return false;
  }
  f_ = *loaded;
  const Code code = call("nvmlInit_v2", f_.init, nullptr);
  if (code != success) {
    fail("nvmlInit_v2: " + words(f_, code));
    return false;
  }
  open_ = true;
  return true;
}

v1::NvmlDriver Reader::driver() {
  v1::NvmlDriver driver;
  Text text{};
  if (call("nvmlSystemGetDriverVersion", f_.driver_version, nullptr, text.data(), text_bytes) ==
      success) {
    driver.set_driver_version(text_of(text));
  }
  text = {};
  if (call("nvmlSystemGetNVMLVersion", f_.nvml_version, nullptr, text.data(), text_bytes) ==
      success) {
    driver.set_nvml_version(text_of(text));
  }
  return driver;
}

bool Reader::survey(std::uint32_t from) {
  if (!open()) return false;
  v1::NvmlAnswer told = answer();
  *told.mutable_driver() = driver();
  std::uint32_t count = 0;
  const Code counted = call("nvmlDeviceGetCount_v2", f_.count, nullptr, &count);
  if (counted == success && count > devices_max) {
    fail("NVML tells of " + std::to_string(count) + " devices; more than " +
         std::to_string(devices_max) + " are not believed");
    return false;
  }
  if (counted != success && counted != gpu_is_lost) {
    fail("nvmlDeviceGetCount_v2: " + words(f_, counted));
    return false;
  }
  // One lost device must not hide the others, so they are tried one by one.
  if (counted == success) told.mutable_driver()->set_devices(count);
  if (counted != success) count = positions_tried;
  tell_(told);
  for (std::uint32_t position = from; position < count; ++position) {
    const Code code = read_one(position, counted == success);
    if (is_fatal(code)) {
      fail(words(f_, code));
      return false;
    }
    if (code == end_of_list) break;
  }
  v1::NvmlAnswer end = answer();
  end.mutable_done();
  tell_(end);
  return true;
}

void Reader::unreadable(const Place& place, const char* function, Code code) {
  v1::NvmlAnswer next = answer();
  v1::NvmlUnreadable& device = *next.mutable_unreadable();
  device.set_position(place.position);
  device.set_uuid(place.uuid);
  device.set_function(function);
  device.set_code(code);
  device.set_text(as_utf8(words(f_, code)));
  tell_(next);
}

// What went wrong with this device, or success.
//
// listed   there must be one here: NVML has counted them
Code Reader::read_one(std::uint32_t position, bool listed) {
  Place place{.position = position, .uuid = {}};
  const char* step = "nvmlDeviceGetHandleByIndex_v2";
  DeviceHandle handle{};
  Code code = call(step, f_.handle_by_index, &place, position, &handle);
  if (!listed && code == invalid_argument) return end_of_list;
  v1::NvmlAnswer next = answer();
  v1::NvmlDevice& device = *next.mutable_device();
  Text text{};
  if (code == success) {
    step = "nvmlDeviceGetUUID";
    code = call(step, f_.uuid, &place, handle, text.data(), text_bytes);
    // What has no name of its own cannot be handed out.
    if (code == success && !is_uuid(text_of(text))) code = unknown_error;
  }
  if (code == success) {
    place.uuid = text_of(text);
    device.set_uuid(place.uuid);
    step = "nvmlDeviceGetName";
    text = {};
    code = call(step, f_.name, &place, handle, text.data(), text_bytes);
    device.set_name(text_of(text));
  }
  if (code == success) {
    step = "nvmlDeviceGetMemoryInfo";
    code = read_counters(handle, place, device);
  }
  if (code != success) {
    unreadable(place, step, code);
    return code;
  }
  tell_(next);
  return success;
}

// Only what says that the device is out comes back; any other reading is left out by itself.
Code Reader::read_counters(DeviceHandle handle, const Place& place, v1::NvmlDevice& device) {
  Memory memory{};
  const Code code = call("nvmlDeviceGetMemoryInfo", f_.memory, &place, handle, &memory);
  if (is_out(code) || is_fatal(code)) return code;
  if (code == success && memory.total > 0 && memory.total <= memory_max) {
    device.set_memory_total_bytes(static_cast<std::int64_t>(memory.total));
    if (memory.used <= memory.total) {
      device.set_memory_used_bytes(static_cast<std::int64_t>(memory.used));
    }
  }
  PciPlace pci{};
  if (call("nvmlDeviceGetPciInfo_v3", f_.pci, &place, handle, &pci) == success) {
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    device.set_pci_bus_id(as_utf8(pci.bus_id));
    if (const auto node = numa_node(pci.bus_id)) device.set_numa_node(*node);
  }
  std::uint32_t number = 0, pending = 0;
  if (call("nvmlDeviceGetMinorNumber", f_.minor, &place, handle, &number) == success) {
    device.set_minor(number);
  }
  if (call("nvmlDeviceGetArchitecture", f_.architecture, &place, handle, &number) == success &&
      number < UINT32_MAX) {
    device.set_architecture(number);
  }
  if (call("nvmlDeviceGetMigMode", f_.mig_mode, &place, handle, &number, &pending) == success) {
    device.set_mig_enabled(number == feature_enabled);
  }
  Utilization busy{};
  if (call("nvmlDeviceGetUtilizationRates", f_.utilization, &place, handle, &busy) == success) {
    if (busy.gpu <= 100) device.set_gpu_busy_percent(busy.gpu);
    if (busy.memory <= 100) device.set_memory_busy_percent(busy.memory);
  }
  if (call("nvmlDeviceGetTemperature", f_.temperature, &place, handle, temperature_of_gpu,
           &number) == success &&
      number <= temperature_c_max) {
    device.set_temperature_c(number);
  }
  if (call("nvmlDeviceGetPowerUsage", f_.power, &place, handle, &number) == success &&
      number <= power_mw_max) {
    device.set_power_mw(number);
  }
  read_faults(handle, place, device);
  read_processes(handle, place, device);
  return success;
}

void Reader::read_faults(DeviceHandle handle, const Place& place, v1::NvmlDevice& device) {
  std::uint64_t wide = 0;
  if (call("nvmlDeviceGetTotalEccErrors", f_.ecc_errors, &place, handle, error_uncorrected,
           since_driver_load, &wide) == success) {
    device.set_ecc_uncorrected(wide);
  }
  wide = 0;
  if (call("nvmlDeviceGetCurrentClocksEventReasons", f_.throttle, &place, handle, &wide) ==
      success) {
    device.set_throttle_bits(wide);
  }
  std::uint32_t corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (call("nvmlDeviceGetRemappedRows", f_.remapped_rows, &place, handle, &corrected, &uncorrected,
           &pending, &failed) == success) {
    device.set_remap_pending(pending != 0);
    device.set_remap_failed(failed != 0);
  }
  if (call("nvmlDeviceGetRetiredPagesPendingStatus", f_.retirement_pending, &place, handle,
           &pending) == success) {
    device.set_retirement_pending(pending == feature_enabled);
  }
}

void Reader::read_processes(DeviceHandle handle, const Place& place, v1::NvmlDevice& device) {
  std::vector<Holder> processes(processes_max);
  std::uint32_t count = processes_max;
  const Code code = call("nvmlDeviceGetComputeRunningProcesses", f_.processes, &place, handle,
                         &count, processes.data());
  if (code != success && code != insufficient_size) return;
  device.set_processes_read(true);
  // Where there was not room for all, `count` is how many there are.
  if (code == success) processes.resize(std::min(count, processes_max));
  for (const Holder& one : processes) {
    if (one.pid == 0) continue;
    v1::NvmlProcess& process = *device.add_processes();
    process.set_pid(one.pid);
    if (one.used_memory <= memory_max) {
      process.set_memory_bytes(static_cast<std::int64_t>(one.used_memory));
    }
  }
}

void Reader::watch(std::uint32_t wait_ms) {
  if (!open()) return;
  EventSetHandle events{};
  const Code code = call("nvmlEventSetCreate", f_.event_set_create, nullptr, &events);
  if (code != success || f_.event_set_wait == nullptr) {
    fail("nvmlEventSetCreate: " + words(f_, code != success ? code : function_not_found));
    return;
  }
  if (enlist(events)) wait_for_events(events, wait_ms);
}

// Registers every device that can be read. False: a failure was told.
bool Reader::enlist(EventSetHandle events) {
  std::uint32_t count = 0;
  const Code counted = call("nvmlDeviceGetCount_v2", f_.count, nullptr, &count);
  if (counted != success) count = positions_tried;
  v1::NvmlAnswer told = answer();
  told.mutable_watching();
  for (std::uint32_t position = 0; position < std::min(count, devices_max); ++position) {
    Place place{.position = position, .uuid = {}};
    DeviceHandle handle{};
    const Code code =
        call("nvmlDeviceGetHandleByIndex_v2", f_.handle_by_index, &place, position, &handle);
    if (counted != success && code == invalid_argument) break;
    if (code != success) continue;
    Text text{};
    if (call("nvmlDeviceGetUUID", f_.uuid, &place, handle, text.data(), text_bytes) != success) {
      continue;
    }
    place.uuid = text_of(text);
    std::uint64_t types = event_xid | event_double_bit_ecc;
    std::uint64_t known = 0;
    if (call("nvmlDeviceGetSupportedEventTypes", f_.supported_events, &place, handle, &known) ==
        success) {
      types &= known;
    }
    if (types == 0 || call("nvmlDeviceRegisterEvents", f_.register_events, &place, handle, types,
                           events) != success) {
      continue;
    }
    watched_[handle] = place.uuid;
    told.mutable_watching()->add_uuids(place.uuid);
  }
  if (watched_.empty()) {
    fail("no device tells of events");
    return false;
  }
  tell_(told);
  return true;
}

void Reader::wait_for_events(EventSetHandle events, std::uint32_t wait_ms) {
  for (;;) {
    EventReading reading{};
    const Code code =
        call("nvmlEventSetWait_v2", f_.event_set_wait, nullptr, events, &reading, wait_ms);
    if (code == timed_out) continue;
    if (code != success) {
      fail("nvmlEventSetWait_v2: " + words(f_, code));
      return;
    }
    const auto device = watched_.find(reading.device);
    if (device == watched_.end()) continue;
    v1::NvmlAnswer next = answer();
    next.mutable_event()->set_uuid(device->second);
    if (reading.type == event_xid) {
      next.mutable_event()->set_xid(static_cast<std::uint32_t>(reading.payload));
    } else if (reading.type != event_double_bit_ecc) {
      continue;
    }
    tell_(next);
  }
}

}  // namespace keel::nvml
