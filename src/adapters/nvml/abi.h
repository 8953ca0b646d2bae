// The part of NVML that we call, as its documented binary interface has it. These are our own
// declarations: nothing of NVIDIA's is needed to build, and the library is looked for at run time.
// nvml_abi_test.cpp holds the layouts to the published sizes.
#pragma once

#include <cstdint>

namespace keel::nvml {

// nvmlReturn_t. Any other number may come.
using Code = int;
inline constexpr Code success = 0;
inline constexpr Code uninitialized = 1;
inline constexpr Code invalid_argument = 2;
inline constexpr Code not_supported = 3;
inline constexpr Code not_found = 6;
inline constexpr Code insufficient_size = 7;
inline constexpr Code driver_not_loaded = 9;
inline constexpr Code timed_out = 10;
inline constexpr Code function_not_found = 13;
inline constexpr Code gpu_is_lost = 15;
inline constexpr Code reset_required = 16;
inline constexpr Code lib_rm_version_mismatch = 18;
inline constexpr Code unknown_error = 999;

struct DeviceTag;
using DeviceHandle = DeviceTag*;
struct EventSetTag;
using EventSetHandle = EventSetTag*;

// nvmlPciInfo_t, of nvmlDeviceGetPciInfo_v3.
struct PciPlace {
  char bus_id_legacy[16];
  std::uint32_t domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

// nvmlMemory_t, bytes. `used` includes what the driver keeps for itself.
struct Memory {
  std::uint64_t total, free, used;
};

// nvmlUtilization_t, per cent.
struct Utilization {
  std::uint32_t gpu, memory;
};

// nvmlProcessInfo_t of the _v2 and _v3 calls.
struct Holder {
  std::uint32_t pid;
  std::uint64_t used_memory;  // not_available where the driver does not know
  std::uint32_t gpu_instance, compute_instance;
};
inline constexpr std::uint64_t not_available = UINT64_MAX;

// nvmlEventData_t, of nvmlEventSetWait_v2.
struct EventReading {
  DeviceHandle device;
  std::uint64_t type;
  std::uint64_t payload;  // the Xid
  std::uint32_t gpu_instance, compute_instance;
};
inline constexpr std::uint64_t event_double_bit_ecc = 2;
inline constexpr std::uint64_t event_xid = 8;

inline constexpr int temperature_of_gpu = 0;  // nvmlTemperatureSensors_t
inline constexpr int error_uncorrected = 1;   // nvmlMemoryErrorType_t
inline constexpr int since_driver_load = 0;   // nvmlEccCounterType_t
inline constexpr std::uint32_t feature_enabled = 1;

// nvmlClocksEventReason*: those that mean that the device is not as fast as it should be.
inline constexpr std::uint64_t hardware_slowdown = 0x08;
inline constexpr std::uint64_t software_thermal = 0x20;
inline constexpr std::uint64_t hardware_thermal = 0x40;
inline constexpr std::uint64_t power_brake = 0x80;

// The entries, by their exported names. The first five must be there; any other may be missing.
struct Functions {
  Code (*init)();                                                  // nvmlInit_v2
  Code (*count)(std::uint32_t*);                                   // nvmlDeviceGetCount_v2
  Code (*handle_by_index)(std::uint32_t, DeviceHandle*);           // …HandleByIndex_v2
  Code (*uuid)(DeviceHandle, char*, std::uint32_t);                // nvmlDeviceGetUUID
  Code (*name)(DeviceHandle, char*, std::uint32_t);                // nvmlDeviceGetName
  const char* (*error_string)(Code);                               // nvmlErrorString
  Code (*driver_version)(char*, std::uint32_t);                    // nvmlSystemGet…
  Code (*nvml_version)(char*, std::uint32_t);                      // nvmlSystemGet…
  Code (*memory)(DeviceHandle, Memory*);                           // …GetMemoryInfo
  Code (*pci)(DeviceHandle, PciPlace*);                            // …GetPciInfo_v3
  Code (*minor)(DeviceHandle, std::uint32_t*);                     // …GetMinorNumber
  Code (*architecture)(DeviceHandle, std::uint32_t*);              // …GetArchitecture
  Code (*mig_mode)(DeviceHandle, std::uint32_t*, std::uint32_t*);  // current, pending
  Code (*utilization)(DeviceHandle, Utilization*);                 // …GetUtilizationRates
  Code (*temperature)(DeviceHandle, int, std::uint32_t*);          // °C
  Code (*power)(DeviceHandle, std::uint32_t*);                     // milliwatts
  Code (*ecc_errors)(DeviceHandle, int, int, std::uint64_t*);      // …GetTotalEccErrors
  Code (*remapped_rows)(DeviceHandle, std::uint32_t*, std::uint32_t*, std::uint32_t*,
                        std::uint32_t*);                     // …, pending, failed
  Code (*retirement_pending)(DeviceHandle, std::uint32_t*);  // pages
  Code (*throttle)(DeviceHandle, std::uint64_t*);            // …EventReasons, bits
  Code (*processes)(DeviceHandle, std::uint32_t*, Holder*);  // that compute
  Code (*supported_events)(DeviceHandle, std::uint64_t*);
  Code (*event_set_create)(EventSetHandle*);
  Code (*register_events)(DeviceHandle, std::uint64_t, EventSetHandle);
  Code (*event_set_wait)(EventSetHandle, EventReading*, std::uint32_t);  // milliseconds
};

}  // namespace keel::nvml
