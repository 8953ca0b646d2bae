#include "sim/faults.h"

#include "base/check.h"

namespace keel::sim {
namespace {

struct Kind {
  std::string_view name;
  std::uint32_t rate_max;  // in a million, of each opportunity
};

// In the order of the enumeration. Opportunities differ: a message, a write, a second of a host.
constexpr std::array<Kind, fault_count> kinds{{
    {"message_lost", 10'000},
    {"message_delayed", 20'000},
    {"message_duplicated", 50'000},
    {"message_reordered", 50'000},
    {"connection_cut", 5'000},
    {"half_open", 200'000},
    {"wrong_plane", 300'000},
    {"plane_killed", 3'000},
    {"plane_killed_before_commit", 10'000},
    {"plane_killed_after_commit", 10'000},
    {"plane_killed_while_speaking", 10'000},
    {"plane_paused", 3'000},
    {"takeover", 3'000},
    {"store_unavailable", 50'000},
    {"commit_unknown", 10'000},
    {"clock_jumps", 500'000},
    {"store_put_back", 2'000},
    {"agent_killed", 2'000},
    {"agent_killed_before_write", 20'000},
    {"agent_killed_after_write", 20'000},
    {"agent_frozen", 1'000},
    {"agent_disk_lost", 1'000},
    {"agent_disk_full", 50'000},
    {"host_restarted", 300},
    {"shim_killed", 2'000},
    {"kill_takes_long", 300'000},
    {"prepare_slow", 100'000},
    {"prepare_failed", 100'000},
    {"commit_failed", 100'000},
    {"request_repeated", 200'000},
    {"answer_lost", 200'000},
}};

}  // namespace

std::string_view name_of(Fault fault) { return kinds.at(static_cast<std::size_t>(fault)).name; }

Faults::Faults(Random& chance) : chance_(chance.split()) {
  // Worlds with few kinds of faults get further; those with many find what only meets rarely.
  const std::int64_t one_in = chance.between(1, 4);
  for (std::size_t i = 0; i < fault_count; ++i) {
    if (!chance.one_in(one_in)) continue;
    rates_.at(i) = static_cast<std::uint32_t>(chance.between(0, kinds.at(i).rate_max));
  }
}

bool Faults::strikes(Fault fault) {
  const auto i = static_cast<std::size_t>(fault);
  if (healed_ || !chance_.chance(rates_.at(i))) return false;
  ++counts_.at(i);
  return true;
}

}  // namespace keel::sim
