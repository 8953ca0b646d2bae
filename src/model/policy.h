// Every number of the declared policy, with its default.
#pragma once

#include <cstdint>

#include "model/limits.h"
#include "model/units.h"

namespace keel {

struct Policy {
  // What a spec means where it says nothing.
  Duration time_limit_default = hours(24);
  Duration grace_default = seconds(30);
  Duration grace_max = limits::grace_max;  // what is wished beyond it is cut

  // Reservations and launches.
  Duration claim_for = seconds(60);  // reserved, and not prepared by then: void
  std::uint16_t port_first = 29400;  // rendezvous ports: [port_first, port_last]
  std::uint16_t port_last = 31399;

  // Agents.
  Duration heartbeat = seconds(2);
  Duration silence = seconds(10);          // not heard for this long: unreachable
  Duration disconnect_stop = minutes(30);  // the shim stops its task after this without a word
  Duration kill_bound = seconds(30);       // a kill has taken effect by then

  // Retries. A failure of the platform is not the user's and has a bound of its own.
  std::uint32_t infrastructure_failures_max = 5;
  Duration backoff_first = seconds(1);  // doubles with each failure
  Duration backoff_max = minutes(5);

  // One turn.
  std::size_t inputs_per_turn_max = 256;
  std::size_t candidates_per_turn_max = 1000;
  std::size_t duties_per_turn_max = 1000;  // of the round-robin over everything live
};

}  // namespace keel
