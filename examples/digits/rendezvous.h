// Where this task stands in its gang, from the environment that torchrun users know.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace keel::digits {

inline constexpr std::uint64_t world_max = 64;  // A star of one reader does not reach further.

struct Rendezvous {
  std::string address;  // MASTER_ADDR; empty for a gang of one.
  std::uint16_t port = 0;
  std::size_t world = 1;
  std::size_t rank = 0;
  std::size_t node_rank = 0;
  std::size_t local_rank = 0;
  std::size_t local_world = 1;
};

using Lookup = std::function<std::optional<std::string>(const char* name)>;

// Without WORLD_SIZE and RANK: one task. Throws Failure with exit_usage, naming the variable, where
// one is missing or makes no sense.
Rendezvous read_rendezvous(const Lookup& lookup);

// The variable of this process, absent where it is not set or empty.
std::optional<std::string> environment(const char* name);

}  // namespace keel::digits
