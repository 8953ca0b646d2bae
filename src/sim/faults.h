// What can go wrong in the simulated world: each kind has a name, a rate that a seed draws, and a
// count of how often it struck.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/random.h"

namespace keel::sim {

enum class Fault : std::uint8_t {
  // Network. A connection is ordered and whole until it breaks, so a lost message breaks it later.
  message_lost,
  message_delayed,     // a minute, sometimes ten, and all behind it
  message_duplicated,  // the copy comes later
  message_reordered,   // overtakes those before it
  connection_cut,
  half_open,    // one side learns of a cut 20 minutes later
  wrong_plane,  // an agent or client dials one that does not lead

  // Control planes.
  plane_killed,  // between two turns
  plane_killed_before_commit,
  plane_killed_after_commit,    // stored, and nobody was told
  plane_killed_while_speaking,  // some were told
  plane_paused,                 // a second to ten minutes, then it goes on
  takeover,                     // another one leads, while this one does not know it
  store_unavailable,
  commit_unknown,  // written or not, the store does not say
  clock_jumps,     // the wall clock, seen by a new start
  store_put_back,  // from a copy made earlier, and marked as such

  // Hosts.
  agent_killed,
  agent_killed_before_write,
  agent_killed_after_write,
  agent_frozen,
  agent_disk_lost,
  agent_disk_full,
  host_restarted,
  shim_killed,
  kill_takes_long,  // a process in the kernel's hands: longer than the kill bound
  prepare_slow,
  prepare_failed,
  commit_failed,  // of outputs

  // People.
  request_repeated,  // by impatience, with the same key
  answer_lost,
};
inline constexpr std::size_t fault_count = 31;

std::string_view name_of(Fault fault);

class Faults {
 public:
  // Draws which kinds there are in this world, and how often each strikes.
  explicit Faults(Random& chance);

  // Whether it strikes now. Never again after heal().
  bool strikes(Fault fault);

  // Whether this world has it at all.
  bool has(Fault fault) const { return rates_.at(static_cast<std::size_t>(fault)) > 0; }

  // From now on the world is a good one.
  void heal() { healed_ = true; }
  bool healed() const { return healed_; }

  const std::array<std::uint64_t, fault_count>& counts() const { return counts_; }

 private:
  Random chance_;
  std::array<std::uint32_t, fault_count> rates_{};  // in a million, of each opportunity
  std::array<std::uint64_t, fault_count> counts_{};
  bool healed_{};
};

}  // namespace keel::sim
