// Quantities of the domain. The unit is in the type, the representation is exact.
#pragma once

#include <compare>
#include <cstdint>

namespace keel {

struct Duration {
  std::int64_t us{};  // microseconds, may be negative
  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.us + b.us}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.us - b.us}; }
};

constexpr Duration microseconds(std::int64_t n) { return {n}; }
constexpr Duration milliseconds(std::int64_t n) { return {n * 1'000}; }
constexpr Duration seconds(std::int64_t n) { return {n * 1'000'000}; }
constexpr Duration minutes(std::int64_t n) { return seconds(n * 60); }
constexpr Duration hours(std::int64_t n) { return minutes(n * 60); }

// A moment as one observer's clock told it. The control plane's clock counts microseconds since the
// Unix epoch and never goes back; an agent's and a shim's count since the host's boot, so that they
// agree with each other across restarts of either. The two are never compared.
struct Instant {
  std::int64_t us{};
  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant t, Duration d) { return {t.us + d.us}; }
  friend constexpr Instant operator-(Instant t, Duration d) { return {t.us - d.us}; }
  friend constexpr Duration operator-(Instant a, Instant b) { return {a.us - b.us}; }
};

inline constexpr Instant never{INT64_MAX};

struct Bytes {
  std::int64_t count{};
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
};

constexpr Bytes kibibytes(std::int64_t n) { return {n << 10}; }
constexpr Bytes mebibytes(std::int64_t n) { return {n << 20}; }
constexpr Bytes gibibytes(std::int64_t n) { return {n << 30}; }

// A thousandth of a CPU core.
struct Millicores {
  std::int64_t count{};
  friend constexpr auto operator<=>(Millicores, Millicores) = default;
};

// What was held: GPUs x microseconds. 10,000 GPUs for 29 years still fit.
struct GpuTime {
  std::int64_t gpu_us{};
  friend constexpr auto operator<=>(GpuTime, GpuTime) = default;
};

}  // namespace keel
