#include "adapters/nvml/library.h"

#include <dlfcn.h>

#include <initializer_list>

namespace keel::nvml {
namespace {

// The first of `names` that the library has.
template <class Function>
void find(void* library, Function& function, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (function != nullptr) return;
  }
}

void find_counters(void* library, Functions& f) {
  find(library, f.memory, {"nvmlDeviceGetMemoryInfo"});
  find(library, f.pci, {"nvmlDeviceGetPciInfo_v3"});
  find(library, f.minor, {"nvmlDeviceGetMinorNumber"});
  find(library, f.architecture, {"nvmlDeviceGetArchitecture"});
  find(library, f.mig_mode, {"nvmlDeviceGetMigMode"});
  find(library, f.utilization, {"nvmlDeviceGetUtilizationRates"});
  find(library, f.temperature, {"nvmlDeviceGetTemperature"});
  find(library, f.power, {"nvmlDeviceGetPowerUsage"});
  find(library, f.ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
  find(library, f.remapped_rows, {"nvmlDeviceGetRemappedRows"});
  find(library, f.retirement_pending, {"nvmlDeviceGetRetiredPagesPendingStatus"});
  find(library, f.throttle,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  // The unversioned entry has a smaller record and is not used.
  find(library, f.processes,
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
}

}  // namespace

Result<Functions, std::string> load(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return std::string(why ? why : path + " cannot be loaded");
  }
  Functions f{};
  find(library, f.init, {"nvmlInit_v2"});
  find(library, f.count, {"nvmlDeviceGetCount_v2"});
  find(library, f.handle_by_index, {"nvmlDeviceGetHandleByIndex_v2"});
  find(library, f.uuid, {"nvmlDeviceGetUUID"});
  find(library, f.name, {"nvmlDeviceGetName"});
  const std::string lacks = path + " is no NVML that can be used: it lacks ";
  if (f.init == nullptr) return lacks + "nvmlInit_v2";
  if (f.count == nullptr) return lacks + "nvmlDeviceGetCount_v2";
  if (f.handle_by_index == nullptr) return lacks + "nvmlDeviceGetHandleByIndex_v2";
  if (f.uuid == nullptr) return lacks + "nvmlDeviceGetUUID";
  if (f.name == nullptr) return lacks + "nvmlDeviceGetName";
  find(library, f.error_string, {"nvmlErrorString"});
  find(library, f.driver_version, {"nvmlSystemGetDriverVersion"});
  find(library, f.nvml_version, {"nvmlSystemGetNVMLVersion"});
  find_counters(library, f);
  find(library, f.supported_events, {"nvmlDeviceGetSupportedEventTypes"});
  find(library, f.event_set_create, {"nvmlEventSetCreate"});
  find(library, f.register_events, {"nvmlDeviceRegisterEvents"});
  find(library, f.event_set_wait, {"nvmlEventSetWait_v2"});
  return f;
}

std::string words(const Functions& functions, Code code) {
  const char* text = functions.error_string ? functions.error_string(code) : nullptr;
  return std::string(text ? text : "NVML error") + " (" + std::to_string(code) + ")";
}

}  // namespace keel::nvml
