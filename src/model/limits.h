// Every bound on what a person may say, with its unit in the name.
#pragma once

#include <cstdint>

#include "model/units.h"

namespace keel::limits {

inline constexpr std::uint32_t tasks_max = 4096;
inline constexpr std::uint32_t gpus_per_task_max = 1024;
inline constexpr Millicores cpu_per_task_max{1'000'000'000};  // a million cores
inline constexpr Bytes memory_per_task_max = gibibytes(1 << 20);
inline constexpr Duration time_limit_max = hours(24 * 366);
inline constexpr Duration grace_max = hours(1);
inline constexpr Duration start_deadline_max = hours(24 * 366);
inline constexpr std::uint32_t retries_max = 100;

inline constexpr std::size_t name_bytes_max = 253;
inline constexpr std::size_t exit_text_bytes_max = 256;
inline constexpr std::size_t key_bytes_max = 128;  // idempotency key
inline constexpr std::size_t labels_max = 64;
inline constexpr std::size_t label_bytes_max = 253;  // key and value alike
inline constexpr std::size_t args_max = 4096;
inline constexpr std::size_t arg_bytes_max = 128 << 10;  // Linux: MAX_ARG_STRLEN
inline constexpr std::size_t env_max = 1024;
inline constexpr std::size_t files_max = 256;
inline constexpr std::size_t path_bytes_max = 1024;
inline constexpr std::size_t spec_bytes_max = 256 << 10;  // the whole spec as it is sent
inline constexpr std::size_t file_bytes_max = 64 << 20;   // one file that is taken along

}  // namespace keel::limits
