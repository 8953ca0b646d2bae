// A library that is no NVML at all.
extern "C" int nvml_hollow() { return 0; }
